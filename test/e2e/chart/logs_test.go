package chart

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// TestLogsReachTheConfiguration renders the chart with the values of docs/logs.md. The controller must have the rights
// that the kept logs need, and none of them if no logs are kept.
func TestLogsReachTheConfiguration(t *testing.T) {
	page, err := os.ReadFile("../../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile("(?s)```yaml\n# values.yaml\n(.*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("the page has no values")
	}

	for _, test := range []struct {
		values string
		want   map[string]string // the rights on pods/log and the update of ConfigMaps
	}{
		{block[1], map[string]string{"/pods/log": "get", "/configmaps": "update"}},
		{"logs: [{store: 's3://bucket'}]", map[string]string{"/pods/log": "get"}},
		{"logs: [{}]", map[string]string{"/pods/log": "get", "/configmaps": "update"}},
		{"", map[string]string{}},
	} {
		r := mustRender(t, install{values: test.values})

		c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}

		if test.values == block[1] && (len(c.Logs) != 2 || c.Logs[0].Retention.Duration != 30*24*time.Hour || c.Logs[1].Executors != keptlogs.ExecutorsNone || c.Logs[1].Store != "") {
			t.Errorf("the logs are %+v", c.Logs)
		}

		got := map[string]string{}
		for _, role := range objectsOf[*rbacv1.Role](r) {
			for _, rule := range role.Rules {
				verbs := strings.Join(rule.Verbs, " ")
				if len(rule.Resources) == 1 && (rule.Resources[0] == "pods/log" || rule.Resources[0] == "configmaps" && verbs == "update") {
					got["/"+rule.Resources[0]] = verbs
				}
			}
		}

		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: rights (-want +got):\n%s", test.values, diff)
		}
	}
}

func TestInvalidLogsAreRejected(t *testing.T) {
	for values, want := range map[string]string{
		"logs: [{store: 'http://bucket'}]": "/logs/0/store",
		"logs: [{executors: Some}]":        "/logs/0/executors",
		"logs: [{maxExecutors: 0}]":        "/logs/0/maxExecutors",
		"logs: [{retention: never}]":       "/logs/0/retention",
		"logs: [{bucket: b}]":              "bucket",
		"logs: {store: 's3://bucket'}":     "/logs",
		"config: {logs: [{}]}":             "logs",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}
