package dialect

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestOwnAccountIsRejectedInItsNamespaceOnly checks every way in which a pod can get a service account: by the field
// serviceAccountName, by its old name serviceAccount, and by naming none, which means the account "default".
func TestOwnAccountIsRejectedInItsNamespaceOnly(t *testing.T) {
	own := ServiceAccount{Namespace: "spark", Name: "operator"}
	for name, c := range map[string]struct {
		account   ServiceAccount
		namespace string
		pod       corev1.PodSpec
		rejected  bool
	}{
		"the operator's own account": {own, "spark",
			corev1.PodSpec{ServiceAccountName: "operator"}, true},
		"the operator's own account by the old field": {own, "spark",
			corev1.PodSpec{DeprecatedServiceAccount: "operator"}, true},
		"the new field overrides the old field": {own, "spark",
			corev1.PodSpec{ServiceAccountName: "mine", DeprecatedServiceAccount: "operator"}, false},
		"an account of the same name in another namespace": {own, "default",
			corev1.PodSpec{ServiceAccountName: "operator"}, false},
		"another account": {own, "spark",
			corev1.PodSpec{ServiceAccountName: "operator2"}, false},
		"no account": {own, "spark", corev1.PodSpec{}, false},
		"no account, and the operator uses default": {ServiceAccount{"spark", "default"}, "spark",
			corev1.PodSpec{}, true},
		"an operator that runs outside the cluster": {ServiceAccount{}, "spark",
			corev1.PodSpec{ServiceAccountName: "operator"}, false},
		"an operator without an account, no namespace": {ServiceAccount{}, "", corev1.PodSpec{}, false},
		"no account in another namespace, default is taken": {ServiceAccount{"spark", "default"}, "other",
			corev1.PodSpec{}, false},
	} {
		err := c.account.Reject("spec.driver.serviceAccount", c.namespace, &c.pod)
		if (err != nil) != c.rejected {
			t.Errorf("%s: %v, want rejected %v", name, err, c.rejected)
		}

		if err == nil {
			continue
		}

		fault, ok := errors.AsType[*FieldError](err)
		if !ok || fault.Field != "spec.driver.serviceAccount" ||
			!strings.Contains(fault.Message, `"`+c.account.Name+`"`) ||
			!strings.HasSuffix(fault.Message, "; name another") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestNameIn(t *testing.T) {
	own := ServiceAccount{Namespace: "spark", Name: "operator"}
	if got := own.NameIn("spark"); got != "operator" {
		t.Errorf("in its own namespace: %q", got)
	}

	if got := own.NameIn("spark2"); got != "" {
		t.Errorf("in another namespace: %q", got)
	}
}
