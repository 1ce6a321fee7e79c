package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
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
		{"off if the API is disabled", "controller: {sparkOperator: {enable: false}, kueue: {rbac: {create: true}}}", nil},
		{"one namespace", create, []string{"Role default: kueue-system/kueue-controller-manager"}},
		{"the chart does not create the operator's own rights", "controller: {rbac: {create: false}, kueue: {rbac: {create: true}}}",
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
		"controller: {kueue: {enable: true}}":                 "enable",
		"controller: {kueue: {rbac: {create: yes please}}}":   "/controller/kueue/rbac/create",
		"controller: {kueue: {serviceAccount: {name: ''}}}":   "/controller/kueue/serviceAccount/name",
		"controller: {kueue: {serviceAccount: {create: no}}}": "create",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to name %s", values, err, want)
		}
	}
}
