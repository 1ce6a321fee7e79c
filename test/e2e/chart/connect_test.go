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

// TestConnectSwitchControlsRights checks that the operator serves Spark Connect servers by default. If the values
// disable Spark Connect, the operator must have no right on Connect servers.
func TestConnectSwitchControlsRights(t *testing.T) {
	for values, enabled := range map[string]bool{"": true, "controller: {connect: {enable: true}}": true,
		"controller: {connect: {enable: false}}": false} {
		r := mustRender(t, install{values: values})

		c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}

		if *c.Connect.Enabled != enabled {
			t.Errorf("%q: connect.enabled is %t", values, *c.Connect.Enabled)
		}

		want := maps.Clone(controllerRights)
		if !enabled {
			maps.DeleteFunc(want, func(key, _ string) bool { return strings.Contains(key, "sparkconnects") })
		}

		for _, role := range objectsOf[*rbacv1.Role](r) {
			if role.Name != "spark-operator-controller" {
				continue
			}

			if diff := cmp.Diff(want, granted(role.Rules)); diff != "" {
				t.Errorf("%q: rights (-want +got):\n%s", values, diff)
			}
		}
	}

	for values, want := range map[string]string{
		"controller: {connect: {enable: 1}}":  "/controller/connect/enable",
		"controller: {connect: {enabled: 1}}": "enabled",
		"config: {connect: {enabled: false}}": "/config/connect",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want it to name %s", values, err, want)
		}
	}
}
