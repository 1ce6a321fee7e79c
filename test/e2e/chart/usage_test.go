package chart

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestUsageGrantsWhatItNeeds renders the chart with the prices of docs/usage.md and with samples. The controller must
// have the right to list nodes or metrics of pods only if these settings need it.
func TestUsageGrantsWhatItNeeds(t *testing.T) {
	page, err := os.ReadFile("../../../docs/usage.md")
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile("(?s)```yaml\n(config:\n  prices:.*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("the page has no prices")
	}

	for _, test := range []struct {
		values string
		prices int
		want   []string // rights to list
	}{
		{block[1], 2, []string{"/nodes"}},
		{"config: {prices: [{cpuHour: 1}]}", 1, nil},
		{"config: {usage: {samples: true}}", 0, []string{"metrics.k8s.io/pods"}},
		{"", 0, nil},
	} {
		r := mustRender(t, install{values: test.values})

		c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}

		if len(c.Prices) != test.prices {
			t.Errorf("%q: the prices are %+v", test.values, c.Prices)
		}

		var got []string

		note := func(rules []rbacv1.PolicyRule) {
			for _, rule := range rules {
				if right := rule.APIGroups[0] + "/" + rule.Resources[0]; right == "/nodes" || right == "metrics.k8s.io/pods" {
					got = append(got, right)
				}
			}
		}
		for _, role := range objectsOf[*rbacv1.Role](r) {
			note(role.Rules)
		}

		for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
			note(role.Rules)
		}

		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: rights (-want +got):\n%s", test.values, diff)
		}
	}
}
