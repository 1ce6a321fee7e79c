package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestPolicyReachesTheConfiguration checks that the rules in config.policy get into the configuration file, and that
// the operator may read the labels of namespaces only if a rule selects namespaces.
func TestPolicyReachesTheConfiguration(t *testing.T) {
	for values, rights := range map[string]map[string]string{
		"{rules: [{name: all, level: baseline}]}":                                                      nil,
		"{rules: [{name: all, level: baseline}, {name: tenants, selector: tier=tenant, level: open}]}": {"/namespaces": "list watch"},
	} {
		r := mustRender(t, install{values: "config: {policy: " + values + "}"})

		c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}

		if len(c.Policy.Rules) == 0 || c.Policy.Rules[0].Level != "baseline" {
			t.Errorf("%s: the rules are %v", values, c.Policy.Rules)
		}

		var got map[string]string
		for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
			if strings.HasSuffix(role.Name, "-controller-namespaces") {
				got = granted(role.Rules)
			}
		}

		if diff := cmp.Diff(rights, got); diff != "" {
			t.Errorf("%s: rights (-want +got):\n%s", values, diff)
		}
	}
}
