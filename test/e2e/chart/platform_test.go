package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
)

// TestBadPlatformSettingsAreRejected checks that the chart rejects defaults and rules with which the operator would not
// start, and names the path. Each of them must indeed be invalid for the operator.
func TestBadPlatformSettingsAreRejected(t *testing.T) {
	for _, test := range []struct{ values, want string }{
		{"defaults: [{namespaceSelector: 'a in b'}]", "/defaults/0/namespaceSelector"},
		{"defaults: [{sparkConf: {spark.a: b}}, {sparkConf: {executor.memory: 1g}}]", "/defaults/1/sparkConf"},
		{"defaults: [{images: {'4': spark}}]", "/defaults/0/images"},
		{"defaults: [{name: No Name}]", "/defaults/0/name"},
		{"defaults: [{historyServer: history.example.com}]", "/defaults/0/historyServer"},
		{"defaults: [{imagePullSecrets: ['A b']}]", "/defaults/0/imagePullSecrets/0"},
		{"defaults: [{timeToLiveSeconds: -1}]", "/defaults/0/timeToLiveSeconds"},
		{"defaults: [{name: a}, {name: a}]", `defaults[1].name: "a" names two entries`},
		{"defaults: [{sparkConf: {spark.master: k8s}}]", "defaults[0]: spark.master cannot have a default"},
		{"defaults: [{sparkDefaults: \"spark.a  b\\nspark.app.name  mine\\n\"}]", "defaults[0]: spark.app.name cannot have a default"},
		{"policy: {rules: [{level: baseline}]}", "/policy/rules/0"},
		{"policy: {rules: [{name: a, level: strict}]}", "/policy/rules/0/level"},
		{"policy: {rules: [{name: a, selector: 'tier in tenant'}]}", "/policy/rules/0/selector"},
		{"policy: {rules: [{name: a, images: {allowed: ['']}}]}", "/policy/rules/0/images/allowed/0"},
		{"policy: {rules: [{name: a, images: {allowed: []}}]}", "policy.rules[0].images.allowed is empty"},
		{"policy: {rules: [{name: a, limits: {cores: many}}]}", "/policy/rules/0/limits/cores"},
		{"policy: {rules: [{name: a, limits: {memory: 0}}]}", "policy.rules[0].limits.memory must be more than 0"},
		{"policy: {rules: [{name: a, limits: {executors: -1}}]}", "/policy/rules/0/limits/executors"},
		{"policy: {rules: [{name: a}, {name: a}]}", `policy.rules[1].name: "a" names two sets`},
		{"policy: {rules: [{name: a, imagess: {allowed: [b]}}]}", "imagess"},
	} {
		if _, err := render(t, install{values: test.values}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.values, err, test.want)
		}

		if c, err := config.Parse([]byte("apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\n" + test.values)); err == nil {
			t.Errorf("%s: the operator accepts it: %+v %+v", test.values, c.Defaults, c.Policy)
		}
	}
}

// TestDeniedDefaultsAreRejected checks that the chart and the operator agree on the keys that cannot have a default.
func TestDeniedDefaultsAreRejected(t *testing.T) {
	for _, key := range []string{
		"spark.master", "spark.submit.deployMode", "spark.app.id", "spark.app.name", "spark.kubernetes.namespace",
		"spark.kubernetes.driver.pod.name", "spark.kubernetes.executor.podNamePrefix", "spark.kubernetes.driver.master",
		"spark.kubernetes.driver.container.image", "spark.kubernetes.executor.container.image",
		"spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile",
		"spark.kubernetes.driver.podTemplateContainerName", "spark.kubernetes.executor.podTemplateContainerName",
		"spark.kubernetes.authenticate.driver.serviceAccountName", "SPARK.master",
		"spark.executor.memory", "spark.kubernetes.driver.podTemplateFiles", "spark.kubernetes.node.selector.a",
	} {
		denied := platformdefaults.DeniedKey(key) != ""
		if _, err := render(t, install{values: "defaults: [{sparkConf: {" + key + ": a}}]"}); (err != nil) != denied {
			t.Errorf("%s: the operator denies it: %t, the chart: %v", key, denied, err)
		}
	}
}

// TestPolicyIsAValue checks that the value policy is the section of the configuration, that config.policy still takes
// precedence, and that its selectors grant the right to read namespaces.
func TestPolicyIsAValue(t *testing.T) {
	r := mustRender(t, install{values: "{policy: {owner: a, rules: [{name: tenants, selector: tier=tenant, level: restricted}]}, config: {policy: {owner: b}}}"})

	c := configOf(t, r)
	if c.Policy.Owner != "b" || len(c.Policy.Rules) != 1 || c.Policy.Rules[0].Level != "restricted" {
		t.Errorf("policy %+v", c.Policy)
	}

	if len(namespaceRights(r)) != 1 {
		t.Errorf("rights %v", namespaceRights(r))
	}

	mustRender(t, install{values: "policy: " + commented(t, "policy:") + "\ndefaults: " + commented(t, "defaults:")})
}

// commented returns the example in a comment of values.yaml, below its first line.
func commented(t *testing.T, first string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile(`(?m)^#   ` + first + `\n((?:#     .*\n)+)`).FindStringSubmatch(string(text))
	if block == nil {
		t.Fatalf("no example of %s", first)
	}
	return "\n" + regexp.MustCompile(`(?m)^#     `).ReplaceAllString(block[1], "  ")
}

// TestValuesOfEarlierChartsRender renders the chart with the defaults of earlier versions, which helm upgrade
// --reuse-values keeps in place of the chart's own.
func TestValuesOfEarlierChartsRender(t *testing.T) {
	files, err := filepath.Glob("testdata/earlier/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		earlier := map[string]any{}
		if err := kyaml.Unmarshal(text, &earlier); err != nil {
			t.Fatal(err)
		}

		r, err := render(t, install{defaults: earlier, values: "console: {enable: true}", users: true, apis: []string{"spark.apache.org/v1"}})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}

		configOf(t, r)
	}
}

// TestDetailsOfTheInstallation checks the values for the pod, the rights and the accounts that administrators adapt.
func TestDetailsOfTheInstallation(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	r := mustRender(t, install{values: `
image: {registry: registry.example.com, tag: v1.2.3, digest: ` + digest + `}
namespaces: {create: true}
controller:
  strategy: {type: Recreate}
  dnsPolicy: None
  dnsConfig: {nameservers: [10.0.0.10]}
  probes: {liveness: {periodSeconds: 30}, startup: {failureThreshold: 600}}
  serviceAccount: {automountServiceAccountToken: false}
  rbac: {labels: {team: platform}}
spark:
  jobNamespaces: [jobs]
  rbac: {labels: {team: platform}}
  serviceAccount: {keep: true}
`})
	deployment := objectOf[*appsv1.Deployment](t, r)
	pod := deployment.Spec.Template.Spec

	c := pod.Containers[0]
	if want := "registry.example.com/sparkoperator/spark-operator:v1.2.3@" + digest; c.Image != want {
		t.Errorf("image %s, want %s", c.Image, want)
	}

	if deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || pod.DNSPolicy != corev1.DNSNone ||
		pod.DNSConfig.Nameservers[0] != "10.0.0.10" || *pod.AutomountServiceAccountToken ||
		c.LivenessProbe.PeriodSeconds != 30 || c.LivenessProbe.FailureThreshold != 3 || c.StartupProbe.FailureThreshold != 600 || c.StartupProbe.PeriodSeconds != 1 {
		t.Errorf("deployment %+v", deployment.Spec)
	}

	if !strings.Contains(r.notes, "mount a token at /var/run/secrets/kubernetes.io/serviceaccount") {
		t.Errorf("notes %s", r.notes)
	}

	if namespace := objectOf[*corev1.Namespace](t, r); namespace.Name != "jobs" || namespace.Annotations["helm.sh/resource-policy"] != "keep" {
		t.Errorf("namespace %+v", namespace)
	}

	for _, role := range objectsOf[*rbacv1.Role](r) {
		if role.Labels["team"] != "platform" && !strings.HasSuffix(role.Name, "-admission") {
			t.Errorf("role %s has no label", role.Name)
		}

		if kept := role.Annotations["helm.sh/resource-policy"] == "keep"; kept != (role.Name == "spark-operator-spark") {
			t.Errorf("role %s is kept: %t", role.Name, kept)
		}
	}

	for _, account := range objectsOf[*corev1.ServiceAccount](r) {
		if kept := account.Annotations["helm.sh/resource-policy"] == "keep"; kept != (account.Name == "spark-operator-spark") {
			t.Errorf("account %s is kept: %t", account.Name, kept)
		}
	}
}

// TestRolesOfUsers checks that the roles contain the kinds that are served, and are added to Kubernetes' own.
func TestRolesOfUsers(t *testing.T) {
	r := mustRender(t, install{users: true, values: "controller: {apache: {enable: false}, connect: {enable: false}}"})
	found := map[string]map[string]string{}

	for _, role := range objectsOf[*rbacv1.ClusterRole](r) {
		for _, name := range []string{"view", "edit", "admin"} {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] == "true" && role.Name == "spark-operator-"+name {
				found[name] = granted(role.Rules)
			}
		}
	}

	const read, all = "get list watch", "create delete deletecollection get list patch update watch"
	if diff := cmp.Diff(map[string]map[string]string{
		"view": {"sparkoperator.k8s.io/sparkapplications": read, "sparkoperator.k8s.io/sparkapplications/status": "get",
			"sparkoperator.k8s.io/scheduledsparkapplications": read, "sparkoperator.k8s.io/scheduledsparkapplications/status": "get"},
		"edit": {"sparkoperator.k8s.io/sparkapplications": all, "sparkoperator.k8s.io/scheduledsparkapplications": all},
		"admin": {"sparkoperator.k8s.io/sparkapplications": all, "sparkoperator.k8s.io/sparkapplications/status": "get",
			"sparkoperator.k8s.io/scheduledsparkapplications": all, "sparkoperator.k8s.io/scheduledsparkapplications/status": "get"},
	}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFamiliesKeepTheirNames checks that the definitions of spark.apache.org are left out by default where a cluster
// serves only the other API, and that the API is then not served either.
func TestFamiliesKeepTheirNames(t *testing.T) {
	const kubeflow, apache = "sparkoperator.k8s.io/v1beta2", "spark.apache.org/v1"

	for _, test := range []struct {
		values  string
		apis    []string
		install bool
		serves  bool
	}{
		{"", nil, true, true},
		{"", []string{kubeflow}, false, false},
		{"", []string{kubeflow, apache}, true, true},
		{"crds: {apache: {enable: true}}", []string{kubeflow}, true, true},
		{"crds: {apache: {enable: false}}", nil, false, true},
		{"crds: {install: false}", []string{kubeflow}, false, true},
	} {
		r := mustRender(t, install{values: test.values, apis: test.apis, definitions: true})

		installs := slices.ContainsFunc(r.objects, func(o client.Object) bool { return o.GetName() == "sparkapplications.spark.apache.org" })
		if c := configOf(t, r); installs != test.install || c.ApacheApplications() != test.serves {
			t.Errorf("%q in a cluster with %v: definitions %t, served %t", test.values, test.apis, installs, c.ApacheApplications())
		}

		if told := strings.Contains(r.notes, "set crds.apache.enable to true"); told == test.serves {
			t.Errorf("%q in a cluster with %v: notes\n%s", test.values, test.apis, r.notes)
		}
	}
}

// TestTwoReplicasAsDocumented renders the values of the chart's page for two replicas.
func TestTwoReplicasAsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile("(?s)```yaml\n# two-replicas.yaml\n(.*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("the page has no values")
	}

	r := mustRender(t, install{values: block[1]})
	if deployment := objectOf[*appsv1.Deployment](t, r); *deployment.Spec.Replicas != 2 || len(deployment.Spec.Template.Spec.TopologySpreadConstraints) != 1 {
		t.Errorf("deployment %+v", deployment.Spec)
	}

	if budget := objectOf[*policyv1.PodDisruptionBudget](t, r); budget.Spec.MinAvailable.IntVal != 1 {
		t.Errorf("budget %+v", budget.Spec)
	}
}

// TestHelmTest checks that the hooks of helm test use the service account of drivers, and wait with the image of
// sparkctl beside the operator's.
func TestHelmTest(t *testing.T) {
	r := mustRender(t, install{users: true, values: "{spark: {jobNamespaces: [jobs, more]}, image: {registry: registry.example.com}}"})
	pod := objectOf[*corev1.Pod](t, r)

	if pod.Namespace != "jobs" || pod.Annotations["helm.sh/hook"] != "test" || pod.Spec.Containers[0].Image != "registry.example.com/sparkoperator/sparkctl:v0.1.0" {
		t.Errorf("pod %+v", pod)
	}

	for _, o := range r.objects {
		if o.GetObjectKind().GroupVersionKind().Kind == "SparkApplication" && o.GetNamespace() == "jobs" {
			return
		}
	}

	t.Error("there is no application")
}
