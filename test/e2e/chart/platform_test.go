package chart

import (
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
)

// TestBadPlatformSettingsAreRejected checks that the chart rejects every setting of defaults, policy and logs with
// which the operator would not start, with a message that has the field and says what is wrong. The message of a
// setting must not be also that of a setting with another message, or the test would accept the wrong one.
func TestBadPlatformSettingsAreRejected(t *testing.T) {
	text, err := os.ReadFile("../../../internal/settings/testdata/refused.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var sections map[string][]struct{ Setting, Error, Chart string }
	if err := kyaml.UnmarshalStrict(text, &sections); err != nil {
		t.Fatal(err)
	}

	named := regexp.MustCompile(`^(at '/(defaults|policy/rules|logs)/\d[^']*'|(defaults|policy\.rules|logs)\[\d\]\.\S+).* .`)

	got, wanted := map[string]string{}, map[string]string{}
	for section, settings := range sections {
		for _, s := range settings {
			values := section + ": " + s.Setting

			_, err := render(t, install{values: values})
			if err == nil || !strings.Contains(err.Error(), s.Chart) || !named.MatchString(s.Chart) {
				t.Errorf("%s: %v, want a field and a phrase: %s", values, err, s.Chart)
				continue
			}

			got[values], wanted[values] = err.Error(), s.Chart
		}
	}

	for values, want := range wanted {
		for other, message := range got {
			if wanted[other] != want && strings.Contains(message, want) {
				t.Errorf("%s has a message that %s has as well: %s", values, other, want)
			}
		}
	}

	for _, values := range []string{
		"defaults: [{sparkConf: {spark.a: '" + strings.Repeat("x", 64<<10) + "'}}]",
		"defaults: [" + strings.Repeat("{},", 101) + "]", "logs: [" + strings.Repeat("{},", 101) + "]",
		"{historyServer: {enable: true, logDirectory: s3a://a, sparkConf: {spark.eventLog.dir: s3a://b}}}",
		"policy: {rules: [{name: a, imagess: {allowed: [b]}}]}", "defaults: [{driver: {securityContext: {runAsUzer: 1}}}]",
		"defaults: [{driver: {env: [{nme: X}]}}]",
	} {
		if _, err := render(t, install{values: values}); err == nil {
			t.Errorf("%.100s: the chart accepts it", values)
		}
	}
}

// TestGoodPlatformSettingsAreAccepted checks settings that look like those that are rejected.
func TestGoodPlatformSettingsAreAccepted(t *testing.T) {
	c := configOf(t, mustRender(t, install{values: `
defaults:
  - namespaceSelector: "tier in (a, b),!c, d notin (e) ,f=,1>2"
    sparkDefaults: |
      # spark.master is the operator's, not that of C:\users
      spark.driver.extraJavaOptions -Da=1 \
        spark.master=2
      spark.a=1
      spark.b : \u0041
    sparkConf: {spark.a: "1"}
    historyServer: http://[::1]:18080/a%20b/
    driver:
      labels: {example.com/team: a, spark-role-of: b}
      annotations: {Example.com/Team: "any text"}
      tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationSeconds: 3}, {key: c, tolerationSeconds: null}]
      securityContext: {runAsNonRoot: false, runAsUser: 0, privileged: true}
      env: [{name: .a-b, value: ""}, {name: POD, value: "", valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
policy:
  rules:
    - name: all
      sparkConf: {denied: ["spark.a.?", "regexp:spark\\.(b|c)"], required: {spark.a: "*"}}
      limits: {cores: 0.5, memory: 1e3, hard: {requests.nvidia.com/gpu: 0, limits.ephemeral-storage: 1Ti, hugepages-2Mi: 1Gi}}
      ingress: {annotations: {allowed: ["nginx.ingress.kubernetes.io/*", "*-snippet"]}}
    - {name: some, selector: a=b, limits: null, ingress: null, sparkConf: {denied: [spark.d]}}
    - {name: others, selector: a!=b, sparkConf: {required: {spark.d: "*"}}}
logs:
  - {store: "azblob://logs/a?c=d", retention: 90m, streamInterval: 5m, wait: 60s, maxBytes: 64Mi, executorMaxBytes: "1024", maxExecutors: 1000}
  - {maxExecutors: 100, wait: 500ms, streamInterval: 0s, maxBytes: "1e6", executorMaxBytes: "16.Ki"}
`}))
	if len(c.Defaults) != 1 || len(c.Policy.Rules) != 3 || len(c.Logs) != 2 {
		t.Errorf("%+v", c)
	}
}

// TestSelectorsAreThoseOfTheOperator checks that the schema accepts a selector if and only if the operator does.
func TestSelectorsAreThoseOfTheOperator(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}

	var schema struct {
		Definitions map[string]struct{ Pattern string } `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}

	pattern := regexp.MustCompile(schema.Definitions["selector"].Pattern)
	parts := []string{"a", "a.b/c", "1", " ", "=", "==", "!=", "!", "in", "notin", "(", ")", "b,c", ",", ">", "-", strings.Repeat("x", 64)}

	var all func(selector string, length int)
	all = func(selector string, length int) {
		parsed, err := labels.Parse(selector)
		if valid := err == nil && (selector == "" || !parsed.Empty()); valid != pattern.MatchString(selector) {
			t.Errorf("%q: the operator: %v, the chart accepts it: %t", selector, err, !valid)
		}

		for _, part := range parts {
			if length > 0 {
				all(selector+part, length-1)
			}
		}
	}
	all("", 4)

	for _, set := range []string{"a in (", "a notin (", "x=y,a in ("} {
		all(set, 3)
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

	all := mustRender(t, install{users: true, values: `
controller: {rbac: {labels: {team: platform}}, kueue: {enable: true, rbac: {create: true}}}
spark: {jobNamespaces: ["", jobs], rbac: {labels: {team: platform}}}
prometheus: {metrics: {authentication: true}}
console: {enable: true, proxy: {enable: true, from: [10.0.0.1/32]}}
`})
	for _, o := range all.objects {
		if o.GetObjectKind().GroupVersionKind().Group == rbacv1.GroupName && o.GetLabels()["team"] != "platform" {
			t.Errorf("%s %s has no label", o.GetObjectKind().GroupVersionKind().Kind, o.GetName())
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

		if told, want := strings.Contains(r.notes, "this release does not install it"), test.serves && !test.install && !slices.Contains(test.apis, apache); told != want {
			t.Errorf("%q in a cluster with %v: notes\n%s", test.values, test.apis, r.notes)
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

// TestOneControllerWithoutLeaderElection checks that an upgrade never runs two controllers if no lease keeps them
// apart.
func TestOneControllerWithoutLeaderElection(t *testing.T) {
	for values, want := range map[string]appsv1.DeploymentStrategyType{
		"{}": "",
		"controller: {leaderElection: {enable: false}}":                                  appsv1.RecreateDeploymentStrategyType,
		"controller: {leaderElection: {enable: false}, strategy: {type: RollingUpdate}}": appsv1.RollingUpdateDeploymentStrategyType,
	} {
		if got := objectOf[*appsv1.Deployment](t, mustRender(t, install{values: values})).Spec.Strategy; got.Type != want || got.RollingUpdate != nil {
			t.Errorf("%s: strategy %v, want %q", values, got, want)
		}
	}
}

// TestHelmTest checks that the hooks of helm test use the service account of drivers, and wait with the image of
// sparkctl beside the operator's.
func TestHelmTest(t *testing.T) {
	r := mustRender(t, install{users: true, values: "{spark: {jobNamespaces: [jobs, more]}, image: {registry: registry.example.com}}"})
	pod := objectOf[*corev1.Pod](t, r)

	if pod.Namespace != "spark-operator" || pod.Annotations["helm.sh/hook"] != "test" || pod.Spec.Containers[0].Image != "registry.example.com/sparkoperator/sparkctl:v0.1.0" {
		t.Errorf("pod %+v", pod)
	}

	for _, o := range r.objects {
		if o.GetObjectKind().GroupVersionKind().Kind == "SparkApplication" && o.GetNamespace() == "jobs" {
			return
		}
	}

	t.Error("there is no application")
}

// TestHelmTestRunsBesideItsPullSecrets checks that the pod of helm test is in the release's namespace, which has the
// secrets of image.pullSecrets, and that its account has its rights in the namespace of the application.
func TestHelmTestRunsBesideItsPullSecrets(t *testing.T) {
	r := mustRender(t, install{users: true, values: "{spark: {jobNamespaces: [jobs]}, image: {pullSecrets: [{name: regcred}]}}"})

	pod := objectOf[*corev1.Pod](t, r)
	if pod.Namespace != "spark-operator" || len(pod.Spec.ImagePullSecrets) != 1 {
		t.Errorf("pod in %s with the secrets %v", pod.Namespace, pod.Spec.ImagePullSecrets)
	}

	for _, o := range r.objects {
		if o.GetName() != pod.Name {
			continue
		}

		want := "jobs"
		switch o := o.(type) {
		case *corev1.Pod, *corev1.ServiceAccount:
			want = "spark-operator"
		case *rbacv1.RoleBinding:
			if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Name: pod.Spec.ServiceAccountName, Namespace: "spark-operator"}}, o.Subjects); diff != "" {
				t.Errorf("subjects (-want +got):\n%s", diff)
			}
		}

		if o.GetNamespace() != want {
			t.Errorf("%T is in %s, want %s", o, o.GetNamespace(), want)
		}
	}
}
