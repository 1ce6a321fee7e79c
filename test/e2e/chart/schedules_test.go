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

// TestScheduleSwitchControlsRights checks that ScheduledSparkApplications are enabled by default. If a value disables
// them, the chart must not grant the right to create applications. The test also checks the value for the precision of
// the timestamps in run names. This value has the same name as in the kubeflow chart.
func TestScheduleSwitchControlsRights(t *testing.T) {
	for values, want := range map[string]config.ScheduledApplications{
		"": {Enabled: new(true), TimestampPrecision: "nanos"},
		"controller: {scheduledApplications: {enable: false}}": {Enabled: new(false),
			TimestampPrecision: "nanos"},
		"controller: {scheduledSparkApplicationTimestampPrecision: minutes}": {Enabled: new(true),
			TimestampPrecision: "minutes"},
	} {
		r := mustRender(t, install{values: values})

		c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, c.ScheduledApplications); diff != "" {
			t.Errorf("%q (-want +got):\n%s", values, diff)
		}

		rights := maps.Clone(controllerRights)
		if !*want.Enabled {
			maps.DeleteFunc(rights, func(key,
				_ string) bool {
				return strings.Contains(key, "scheduledsparkapplications")
			})
			rights["sparkoperator.k8s.io/sparkapplications"] = "delete get list watch"
		}

		for _, role := range objectsOf[*rbacv1.Role](r) {
			if role.Name != "spark-operator-controller" {
				continue
			}

			if diff := cmp.Diff(rights, granted(role.Rules)); diff != "" {
				t.Errorf("%q: rights (-want +got):\n%s", values, diff)
			}
		}
	}

	for values, want := range map[string]string{
		"controller: {scheduledApplications: {enable: 1}}":                "/controller/scheduledApplications/enable",
		"controller: {scheduledSparkApplicationTimestampPrecision: days}": "/controller/scheduledSparkApplicationTimestampPrecision",
		"config: {scheduledApplications: {enabled: false}}":               "/config/scheduledApplications",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to name %s", values, err, want)
		}
	}
}
