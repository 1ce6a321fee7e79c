package chart

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// namespaceRights maps the name of each ClusterRole that grants verbs on namespaces to these verbs.
func namespaceRights(r rendered) map[string]string {
	rights := map[string]string{}
	for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
		if verbs := granted(role.Rules)["/namespaces"]; verbs != "" {
			rights[role.Name] = verbs
		}
	}
	return rights
}

// TestDefaultsReachTheConfiguration renders the chart with the values of docs/defaults.md. It checks that they become
// the defaults of the configuration. The controller must have the right to read the labels of namespaces only if the
// values contain a namespace selector.
func TestDefaultsReachTheConfiguration(t *testing.T) {
	page, err := os.ReadFile("../../../docs/defaults.md")
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile("(?s)```yaml\n# values.yaml\n(.*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("the page has no values")
	}

	read := func(values string) (rendered, config.Configuration) {
		t.Helper()
		r := mustRender(t, install{values: values})

		c, err := config.Parse([]byte(objectOf[*corev1.ConfigMap](t, r).Data["config.yaml"]))
		if err != nil {
			t.Fatal(err)
		}
		return r, c
	}

	r, c := read(block[1])
	if len(c.Defaults) != 2 || c.Defaults[0].Images["4.1"] != "registry.example.org/spark:4.1.4" ||
		!strings.Contains(c.Defaults[0].SparkDefaults, "spark.eventLog.compress        true\n") ||
		c.Defaults[1].NamespaceSelector != "tier=batch" || c.Defaults[1].Executor.Tolerations[0].Key != "spot" ||
		*c.Defaults[1].Timeouts.RunSeconds != 86400 {
		t.Errorf("the defaults are %+v", c.Defaults)
	}

	const named = "spark-operator-controller-namespaces"
	if diff := cmp.Diff(map[string]string{named: "list watch"}, namespaceRights(r)); diff != "" {
		t.Errorf("rights of named namespaces (-want +got):\n%s", diff)
	}

	bound := false
	for _, binding := range objectsOf[*rbacv1.ClusterRoleBinding](r) {
		bound = bound || binding.RoleRef.Name == named && binding.Subjects[0].Name == "spark-operator-controller"
	}

	if !bound {
		t.Error("the role is not bound to the controller")
	}

	all, _ := read(block[1] + "\nspark: {jobNamespaces: []}")
	if diff := cmp.Diff(map[string]string{"spark-operator-controller": "list watch"},
		namespaceRights(all)); diff != "" {
		t.Errorf("rights of all namespaces (-want +got):\n%s", diff)
	}

	for _, values := range []string{"", "defaults: [{sparkConf: {spark.a: b}}]",
		"defaults: [{sparkConf: {spark.a: b}}]\nspark: {jobNamespaces: []}"} {
		if r, _ := read(values); len(namespaceRights(r)) > 0 {
			t.Errorf("%q: rights %v", values, namespaceRights(r))
		}
	}
}

func TestInvalidDefaultsAreRejected(t *testing.T) {
	for values, want := range map[string]string{
		"defaults: [{sparkconf: {a: b}}]":                    "sparkconf",
		"defaults: [{driver: {label: {a: b}}}]":              "label",
		"defaults: [{timeouts: {runSeconds: never}}]":        "runSeconds",
		"config: {defaults: [{sparkConf: {spark.a: b}}]}":    "defaults",
		"defaults: {sparkConf: {spark.a: b}}":                "defaults",
		"defaults: [{images: {\"4.1\": [a]}}]":               "images",
		"defaults: [{imagePullSecrets: [{name: registry}]}]": "imagePullSecrets",
	} {
		if _, err := render(t, install{values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}
