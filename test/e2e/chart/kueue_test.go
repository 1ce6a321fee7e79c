package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestKueueGetsRightsInServedNamespaces checks that Kueue's manager gets rights only if the values enable them, and
// only in the served namespaces.
func TestKueueGetsRightsInServedNamespaces(t *testing.T) {
	const create = "controller: {kueue: {rbac: {create: true}}}"
	for _, test := range []struct {
		name, values string
		want         []string // namespace/role: subject
	}{
		{"off by default", "", nil},
		{"off if the API is disabled",
			"controller: {sparkOperator: {enable: false}, kueue: {rbac: {create: true}}}", nil},
		{"one namespace", create, []string{"Role default: kueue-system/kueue-controller-manager"}},
		{"the chart does not create the operator's own rights",
			"controller: {rbac: {create: false}, kueue: {rbac: {create: true}}}",
			[]string{"Role default: kueue-system/kueue-controller-manager"}},
		{"two namespaces, another account",
			"{spark: {jobNamespaces: [a, b]}, controller: {kueue: {rbac: {create: true}, serviceAccount: {name: queue, namespace: ops}}}}",
			[]string{"Role a: ops/queue", "Role b: ops/queue"}},
		{"every namespace", "{spark: {jobNamespaces: []}, " + create + "}",
			[]string{"ClusterRole : kueue-system/kueue-controller-manager"}},
		{"namespaces by label", "{spark: {jobNamespaceSelector: spark=enabled}, " + create + "}",
			[]string{"ClusterRole : kueue-system/kueue-controller-manager"}},
		{"dynamic namespaces", "controller: {dynamicConfig: {enable: true}, kueue: {rbac: {create: true}}}",
			[]string{"ClusterRole : kueue-system/kueue-controller-manager"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := mustRender(t, install{values: test.values})
			if diff := cmp.Diff(test.want, kueueGrants(t, r)); diff != "" {
				t.Errorf("grants (-want +got):\n%s", diff)
			}
		})
	}
}

// kueueGrants checks the rules of every role that the chart creates for Kueue, and returns the subjects to which the
// roles are bound. Each entry has the form "KIND NAMESPACE: SUBJECT", where KIND and NAMESPACE are those of the role.
func kueueGrants(t *testing.T, r rendered) (grants []string) {
	t.Helper()
	const name = "spark-operator-kueue"

	rules := map[string][]rbacv1.PolicyRule{} // keyed by kind and namespace
	for _, role := range objectsOf[*rbacv1.Role](r) {
		if role.Name == name {
			rules["Role "+role.Namespace] = role.Rules
		}
	}

	for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
		if role.Name == name {
			rules["ClusterRole "] = role.Rules
		}
	}

	add := func(where string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if ref.Name != name {
			return
		}

		want := map[string]string{"sparkoperator.k8s.io/sparkapplications/finalizers": "update"}
		if diff := cmp.Diff(want, granted(rules[where])); diff != "" {
			t.Errorf("%q grants (-want +got):\n%s", where, diff)
		}

		for _, s := range subjects {
			grants = append(grants, where+": "+s.Namespace+"/"+s.Name)
		}
	}
	for _, b := range objectsOf[*rbacv1.RoleBinding](r) {
		add(b.RoleRef.Kind+" "+b.Namespace, b.RoleRef, b.Subjects)
	}

	for _, b := range objectsOf[*rbacv1.ClusterRoleBinding](r) {
		add(b.RoleRef.Kind+" ", b.RoleRef, b.Subjects)
	}
	return grants
}

func TestInvalidKueueValuesAreRejected(t *testing.T) {
	for values, want := range map[string]string{
		"controller: {kueue: {enable: 1}}":                    "/controller/kueue/enable",
		"controller: {kueue: {enabled: true}}":                "enabled",
		"config: {kueue: {enabled: true}}":                    "/config/kueue",
		"controller: {kueue: {rbac: {create: yes please}}}":   "/controller/kueue/rbac/create",
		"controller: {kueue: {serviceAccount: {name: ''}}}":   "/controller/kueue/serviceAccount/name",
		"controller: {kueue: {serviceAccount: {create: no}}}": "create",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to name %s", values, err, want)
		}
	}
}

// TestQueuesOfKueue checks what the value kueue.enable switches on: the setting, the rights on Kueue's objects, and the
// policy for the label.
func TestQueuesOfKueue(t *testing.T) {
	off := mustRender(t, install{})
	if got := queueObjects(t, off); got != "" {
		t.Errorf("off by default, but there is %s", got)
	}

	for _, test := range []struct{ values, want string }{
		{"controller: {kueue: {enable: true}}", "Role default: workloads, workloads/status; ClusterRole: resourceflavors, workloadpriorityclasses, priorityclasses; policy in [default]"},
		{"{spark: {jobNamespaces: []}, controller: {kueue: {enable: true}}}",
			"ClusterRole: workloads, workloads/status; ClusterRole: resourceflavors, workloadpriorityclasses, priorityclasses; policy"},
		{"controller: {rbac: {create: false}, kueue: {enable: true}}", "policy in [default]"},
	} {
		r := mustRender(t, install{values: test.values})
		if got := queueObjects(t, r); got != test.want {
			t.Errorf("%s: there is %s; want %s", test.values, got, test.want)
		}

		c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
		if err != nil || !c.Kueue.Enabled {
			t.Errorf("%s: the configuration has %+v: %v", test.values, c.Kueue, err)
		}
	}
}

// queueObjects returns the controller's rights on objects of Kueue and on priority classes, and the policy.
func queueObjects(t *testing.T, r rendered) string {
	t.Helper()

	var found []string

	add := func(name string, rules []rbacv1.PolicyRule) {
		var resources []string
		for _, rule := range rules {
			if slices.Contains(rule.APIGroups, "kueue.x-k8s.io") || slices.Contains(rule.Resources, "priorityclasses") {
				resources = append(resources, rule.Resources...)
			}
		}

		if len(resources) > 0 {
			found = append(found, name+": "+strings.Join(resources, ", "))
		}
	}
	for _, role := range objectsOf[*rbacv1.Role](r) {
		add("Role "+role.Namespace, role.Rules)
	}

	for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
		add("ClusterRole", role.Rules)
	}

	for _, b := range objectsOf[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](r) {
		if b.Name != "spark-operator-spark-kueue-queue-name" {
			continue
		}

		text := "policy"
		if b.Spec.MatchResources != nil {
			text += fmt.Sprintf(" in %v", b.Spec.MatchResources.NamespaceSelector.MatchExpressions[0].Values)
		}

		found = append(found, text)
	}
	return strings.Join(found, "; ")
}
