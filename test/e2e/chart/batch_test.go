package chart

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestBatchSchedulersGetTheirRights checks that the batch scheduler values of the kubeflow chart have the same meaning
// in this chart. The controller gets rights on the pod groups of the configured schedulers, and on no other pod groups.
func TestBatchSchedulersGetTheirRights(t *testing.T) {
	const all = "create delete get list watch"
	for _, test := range []struct {
		values string
		want   config.BatchScheduler
		rights map[string]string // in addition to controllerRights
	}{
		{"{}", config.BatchScheduler{}, map[string]string{}},
		{"{kubeSchedulerNames: [tuned], default: tuned}",
			config.BatchScheduler{Default: "tuned", KubeSchedulerNames: []string{"tuned"}}, map[string]string{}},
		{"{enable: true}", config.BatchScheduler{Enabled: true},
			map[string]string{"scheduling.volcano.sh/podgroups": all}},
		{"{enable: true, kubeSchedulerNames: [tuned], default: volcano}",
			config.BatchScheduler{Enabled: true, Default: "volcano", KubeSchedulerNames: []string{"tuned"}},
			map[string]string{"scheduling.volcano.sh/podgroups": all, "scheduling.x-k8s.io/podgroups": all}},
	} {
		t.Run(test.values, func(t *testing.T) {
			r := mustRender(t, install{values: "controller: {batchScheduler: " + test.values + "}"})

			c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, c.BatchScheduler); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}

			got := map[string]string{}
			for _, role := range objectsOf[*rbacv1.Role](r) {
				if role.Name == "spark-operator-controller" {
					got = granted(role.Rules)
				}
			}

			maps.DeleteFunc(got, func(key, verbs string) bool { return controllerRights[key] == verbs })

			if diff := cmp.Diff(test.rights, got); diff != "" {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidBatchSchedulersAreRejected(t *testing.T) {
	for values, want := range map[string]string{
		"controller: {batchScheduler: {enabled: true}}":               "enabled",
		"controller: {batchScheduler: {enable: 1}}":                   "/controller/batchScheduler/enable",
		"controller: {batchScheduler: {kubeSchedulerNames: tuned}}":   "/controller/batchScheduler/kubeSchedulerNames",
		"config: {batchScheduler: {enabled: true, default: volcano}}": "/config/batchScheduler",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to name %s", values, err, want)
		}
	}
}
