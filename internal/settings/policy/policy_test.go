package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// prepared parses a policy and compiles it.
func prepared(t *testing.T, text string) Policy {
	t.Helper()

	var p Policy
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}

	if errs := p.Prepare(field.NewPath("policy")); len(errs) > 0 {
		t.Fatalf("%v in\n%s", errs, text)
	}
	return p
}

func podFrom(t *testing.T, text string) (spec corev1.PodSpec) {
	t.Helper()

	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return spec
}

// subject returns an application with a driver and three executors.
func subject(t *testing.T, driver string, settings ...dialect.Setting) *dialect.Subject {
	t.Helper()
	spec := podFrom(t, driver)
	return &dialect.Subject{
		Labels:   map[string]string{"team": "a"},
		Settings: func() []dialect.Setting { return settings },
		Pods: func() ([]dialect.Pod, []*dialect.FieldError) {
			pod := dialect.PodOf("driver", "spec.driver", &metav1.ObjectMeta{}, &spec)
			executor := dialect.PodOf("executor", "spec.executor", &metav1.ObjectMeta{}, &spec)
			executor.Worker = true
			return []dialect.Pod{pod, executor}, nil
		},
		Workers: func() dialect.Workers { return dialect.Workers{Field: "spec.executor.instances", Max: 3} },
	}
}

const plainPod = `{containers: [{name: spark, image: "spark:4", resources: {requests: {cpu: "1", memory: 1Gi}}}]}`

func texts(faults []*dialect.FieldError) (all []string) {
	for _, fault := range faults {
		all = append(all, fault.Error())
	}
	return all
}

// TestRules checks each rule with a value that it allows and a value that it refuses. The refusal begins with the field
// and the value, and names the rule, the policy and the owner.
func TestRules(t *testing.T) {
	t.Parallel()

	const by = " of the policy tenants (owner: data team, #spark); "
	for _, c := range []struct {
		rule     string
		pod      string
		settings []dialect.Setting
		want     []string // nothing if the rule allows it
	}{
		{rule: `images: {allowed: ["docker.io/library/spark:*"]}`},
		{rule: `images: {allowed: ["spark:*"]}`},
		{rule: `images: {allowed: ["regexp:spark:[0-9]"]}`},
		{rule: `images: {allowed: ["regexp:spark"]}`, want: []string{
			`spec.driver: the image "spark:4" is not allowed by the rule images` + by + `allowed are: regexp:spark`,
			`spec.executor: the image "spark:4" is not allowed by the rule images` + by + `allowed are: regexp:spark`,
		}},
		{rule: `images: {allowed: ["spark:*"]}`,
			pod: `{initContainers: [{name: init, image: evil}], containers: [{name: spark, image: "spark:4"}], volumes: [{name: v, image: {reference: evil/data}}]}`, want: []string{
				`spec.driver: the image of the container init, "evil" is not allowed by the rule images` + by +
					`allowed are: spark:*`,
				`spec.driver: the image of the volume v, "evil/data" is not allowed by the rule images` + by +
					`allowed are: spark:*`,
				`spec.executor: the image of the container init, "evil" is not allowed by the rule images` + by +
					`allowed are: spark:*`,
				`spec.executor: the image of the volume v, "evil/data" is not allowed by the rule images` + by +
					`allowed are: spark:*`,
			}},
		{rule: `serviceAccounts: {allowed: [default]}`},
		{rule: `serviceAccounts: {allowed: [spark]}`, pod: `{serviceAccountName: admin, containers: []}`,
			want: []string{
				`spec.driver: the service account "admin" is not allowed by the rule serviceAccounts` + by +
					`allowed are: spark`,
				`spec.executor: the service account "admin" is not allowed by the rule serviceAccounts` + by +
					`allowed are: spark`,
			}},
		{rule: `sparkConf: {denied: ["spark.hadoop.*"]}`,
			settings: []dialect.Setting{{Key: "spark.hadoop.fs", Value: "x"}}},
		{rule: `sparkConf: {denied: ["spark.hadoop.*"]}`,
			settings: []dialect.Setting{{Key: "spark.hadoop.fs", Value: "x", Field: "spec.hadoopConf[fs]"}},
			want: []string{
				`spec.hadoopConf[fs]: the key "spark.hadoop.fs" is not allowed by the rule sparkConf.denied` + by +
					`remove the setting`,
			}},
		{rule: `sparkConf: {denied: ["spark.ui.*"]}`,
			settings: []dialect.Setting{{Key: "spark.driver.extraJavaOptions", Value: "-Xss1m -Dspark.ui.port=1",
				Field: "spec.driver.javaOptions"}}, want: []string{
				`spec.driver.javaOptions: the key "spark.ui.port" is not allowed by the rule sparkConf.denied` + by +
					`remove the setting`,
			}},
		{rule: `sparkConf: {required: {spark.eventLog.enabled: "true"}}`,
			settings: []dialect.Setting{{Key: "spark.eventLog.enabled", Value: "true"}}},
		{rule: `sparkConf: {required: {spark.eventLog.enabled: "true"}}`, want: []string{
			`spec.sparkConf: a Spark configuration without spark.eventLog.enabled is not allowed by the rule sparkConf.required` + by + `set it to a value that matches true`,
		}},
		{rule: `sparkConf: {required: {spark.eventLog.enabled: "true"}}`,
			settings: []dialect.Setting{{Key: "spark.eventLog.enabled", Value: "false",
				Field: "spec.sparkConf[spark.eventLog.enabled]"}}, want: []string{
				`spec.sparkConf[spark.eventLog.enabled]: the value "false" of spark.eventLog.enabled is not allowed by the rule sparkConf.required` + by + `set it to a value that matches true`,
			}},
		{rule: `limits: {cores: 4, memory: 4Gi, executors: 3}`},
		{rule: `limits: {cores: 3500m, memory: 2Gi, executors: 2}`, want: []string{
			`spec.executor.instances: the number 3 is not allowed by the rule limits.executors` + by + `use at most 2`,
			`spec: the sum 4 of the pods' requests for cpu is not allowed by the rule limits.cores` + by +
				`use at most 3500m, with fewer or smaller executors`,
			`spec: the sum 4Gi of the pods' requests for memory is not allowed by the rule limits.memory` + by +
				`use at most 2Gi, with fewer or smaller executors`,
		}},
		{rule: `nodeSelectors: {allowed: ["pool=spark*"]}`, pod: `{nodeSelector: {pool: spark-a}, containers: []}`},
		{rule: `nodeSelectors: {allowed: ["pool=spark*"]}`,
			pod: `{nodeName: a, nodeSelector: {pool: system}, containers: [], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: pool, operator: In, values: [spark-a, other]}, {key: gpu, operator: Exists}]}]}}}}`, want: []string{
				`spec.driver: the node name "nodeName=a" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
				`spec.driver: the node selector "pool=system" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
				`spec.driver: the node affinity "pool=other" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
				`spec.driver: the node affinity "gpu=*" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
				`spec.executor: the node name "nodeName=a" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
				`spec.executor: the node selector "pool=system" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
				`spec.executor: the node affinity "pool=other" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
				`spec.executor: the node affinity "gpu=*" is not allowed by the rule nodeSelectors` + by +
					`allowed are: pool=spark*`,
			}},
		{rule: `tolerations: {allowed: ["spark=*:NoSchedule"]}`,
			pod: `{tolerations: [{key: spark, value: "yes", effect: NoSchedule}], containers: []}`},
		{rule: `tolerations: {allowed: []}`,
			pod: `{tolerations: [{operator: Exists}, {key: a, operator: Exists, effect: NoExecute}], containers: []}`,
			want: []string{
				`spec.driver: the toleration "*" is not allowed by the rule tolerations` + by + `remove it`,
				`spec.driver: the toleration "a:NoExecute" is not allowed by the rule tolerations` + by + `remove it`,
				`spec.executor: the toleration "*" is not allowed by the rule tolerations` + by + `remove it`,
				`spec.executor: the toleration "a:NoExecute" is not allowed by the rule tolerations` + by + `remove it`,
			}},
		{rule: `priorityClasses: {allowed: [batch]}`, pod: `{priorityClassName: batch, containers: []}`},
		{rule: `priorityClasses: {allowed: [batch]}`, pod: `{priorityClassName: system, containers: []}`,
			want: []string{
				`spec.driver: the priority class "system" is not allowed by the rule priorityClasses` + by +
					`allowed are: batch`,
				`spec.executor: the priority class "system" is not allowed by the rule priorityClasses` + by +
					`allowed are: batch`,
			}},
		{rule: `podSecurity: baseline`},
		{rule: `level: baseline`, pod: `{hostNetwork: true, hostPID: true, hostIPC: true, volumes: [{name: v, hostPath: {path: /}}],
			containers: [{name: spark, image: spark, securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN]}}}]}`, want: []string{
			`spec.driver: the pod of the driver, with non-default capabilities (container "spark" must not include "SYS_ADMIN" in securityContext.capabilities.add), host namespaces (hostNetwork=true, hostPID=true, hostIPC=true), hostPath volumes (volume "v"), privileged (container "spark" must not set securityContext.privileged=true), is not allowed by the rule podSecurity: baseline` + by + `change these settings`,
			`spec.executor: the pod of the executor, with non-default capabilities (container "spark" must not include "SYS_ADMIN" in securityContext.capabilities.add), host namespaces (hostNetwork=true, hostPID=true, hostIPC=true), hostPath volumes (volume "v"), privileged (container "spark" must not set securityContext.privileged=true), is not allowed by the rule podSecurity: baseline` + by + `change these settings`,
		}},
		{rule: `{level: restricted, podSecurity: "off"}`},
		{rule: `podSecurity: restricted`,
			pod: `{securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: spark, image: spark, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}`},
		{rule: `podSecurity: baseline`,
			settings: []dialect.Setting{{Key: "spark.kubernetes.driver.podTemplateFile", Value: "s3a://b/t",
				Field: "spec.sparkConf[x]"}}, want: []string{
				`spec.sparkConf[x]: the key spark.kubernetes.driver.podTemplateFile, with which the operator cannot check the pods, is not allowed by the rule podSecurity` + by + `remove it, and use a pod template of the custom resource`,
			}},
		{rule: `labels: {required: {team: "*"}}`},
		{rule: `labels: {required: {team: "b", cost: "*"}}`, want: []string{
			`metadata.labels: a custom resource without the label cost is not allowed by the rule labels.required` +
				by + `set it to a value that matches *`,
			`metadata.labels[team]: the value "a" is not allowed by the rule labels.required` + by +
				`set it to a value that matches b`,
		}},
		{rule: `packages: {allowed: ["org.apache.*"]}`,
			settings: []dialect.Setting{{Key: "spark.jars.packages", Value: "org.apache.spark:a:1, com.evil:b:2",
				Field: "spec.deps.packages"}}, want: []string{
				`spec.deps.packages: the package "com.evil:b:2" is not allowed by the rule packages` + by +
					`allowed are: org.apache.*`,
			}},
		{rule: `{packages: {allowed: ["org.apache.*"]}, repositories: {allowed: ["https://maven.example.com"]}}`,
			settings: []dialect.Setting{
				{Key: "spark.jars", Value: "local:///a.jar,ivy://com.evil:b:2?transitive=true&repos=https://evil.example.com", Field: "spec.deps.jars"},
				{Key: "spark.jars.repositories", Value: "https://maven.example.com/", Field: "spec.deps.repositories"},
				{Key: "spark.jars.ivySettings", Value: "/ivy.xml", Field: "spec.sparkConf[spark.jars.ivySettings]"},
			}, want: []string{
				`spec.deps.jars: the package "com.evil:b:2" is not allowed by the rule packages` + by +
					`allowed are: org.apache.*`,
				`spec.deps.jars: the repository "https://evil.example.com" is not allowed by the rule repositories` + by +
					`allowed are: https://maven.example.com`,
				`spec.sparkConf[spark.jars.ivySettings]: the key spark.jars.ivySettings, whose file may name any repository, is not allowed by the rule repositories` + by + `remove the key`,
			}},
	} {
		rules := map[string]any{}
		if err := yaml.Unmarshal([]byte(c.rule), &rules); err != nil {
			t.Fatal(err)
		}

		rules["name"], rules["owner"] = "tenants", "data team, #spark"

		text, err := yaml.Marshal(map[string]any{"rules": []any{rules}})
		if err != nil {
			t.Fatal(err)
		}

		pod := c.pod
		if pod == "" {
			pod = plainPod
		}

		if diff := cmp.Diff(c.want, texts(prepared(t,
			string(text)).For(nil).Faults(subject(t, pod, c.settings...)))); diff != "" {
			t.Errorf("%s with %s %v (-want +got):\n%s", c.rule, c.pod, c.settings, diff)
		}
	}
}

// TestUnlimitedExecutors checks that a limit refuses a custom resource that has no maximum number of executors.
func TestUnlimitedExecutors(t *testing.T) {
	t.Parallel()
	s := subject(t, plainPod)
	s.Workers = func() dialect.Workers {
		return dialect.Workers{Field: "spec.dynamicAllocation.maxExecutors", Unlimited: true}
	}
	got := texts(prepared(t, `rules: [{name: a, limits: {cores: 100}}]`).For(nil).Faults(s))

	want := []string{"spec.dynamicAllocation.maxExecutors: an unlimited or unreadable number of executors is not allowed by the rule limits of the policy a; set a maximum as a plain number"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExposure checks the rules about Ingresses and routes, and that snippet annotations are denied without any rule.
func TestExposure(t *testing.T) {
	t.Parallel()

	asked := func(annotation, class string, hosts ...string) *dialect.Exposing {
		e := &dialect.Exposing{Kind: "Ingress", Annotations: map[string]string{}, AnnotationsField: "a"}
		if annotation != "" {
			e.Annotations[annotation] = "x"
		}

		e.Class = dialect.FieldValue{Field: "c", Value: class}
		for _, host := range hosts {
			e.Hosts = append(e.Hosts, dialect.FieldValue{Field: "h", Value: host})
		}
		return e
	}
	const snippet = "nginx.ingress.kubernetes.io/configuration-snippet"

	const denied = "]: a snippet, which can read the credentials of the ingress controller, is not allowed by the operator's setting policy.allowSnippetAnnotations" +
		" (owner: us); remove the annotation, or ask for policy.allowSnippetAnnotations: true in the operator's configuration"
	for _, c := range []struct {
		policy string
		asked  *dialect.Exposing
		want   []string
	}{
		{`{owner: us}`, asked("nginx.ingress.kubernetes.io/proxy-body-size", ""), nil},
		{`{owner: us}`, asked(snippet, ""), []string{"a[" + snippet + denied}},
		{`{owner: us}`, asked("nginx.org/location-snippets", ""), []string{"a[nginx.org/location-snippets" + denied}},
		{`{owner: us}`, asked("other.example.com/server-snippet", ""),
			[]string{"a[other.example.com/server-snippet" + denied}},
		{`{allowSnippetAnnotations: true, rules: [{name: p}]}`, asked(snippet, ""), nil},
		{`{rules: [{name: p, ingress: {hosts: {allowed: ["*.a.example.com"]}}}]}`,
			asked("", "", "x.a.example.com"), nil},
		{`{rules: [{name: p, ingress: {hosts: {allowed: ["*.a.example.com"]}}}]}`, asked("", "", "", "b.example.com"),
			[]string{
				`h: the Ingress for all hosts is not allowed by the rule ingress.hosts of the policy p; allowed are: *.a.example.com`,
				`h: the host "b.example.com" is not allowed by the rule ingress.hosts of the policy p; allowed are: *.a.example.com`,
			}},
		{`{rules: [{name: p, ingress: {classes: {allowed: [public]}}}]}`, asked("", ""), nil},
		{`{rules: [{name: p, ingress: {classes: {allowed: [public]}}}]}`, asked(classAnnotation, "other"), []string{
			`a[kubernetes.io/ingress.class]: the Ingress class "x" is not allowed by the rule ingress.classes of the policy p; allowed are: public`,
			`c: the Ingress class "other" is not allowed by the rule ingress.classes of the policy p; allowed are: public`,
		}},
		{`{rules: [{name: p, level: restricted}]}`, asked("a/b", ""),
			[]string{`a[a/b]: the annotation is not allowed by the rule ingress.annotations of the policy p; remove it`}},
	} {
		if diff := cmp.Diff(c.want, texts(prepared(t, c.policy).For(nil).ExposureFaults(c.asked))); diff != "" {
			t.Errorf("%s with %+v (-want +got):\n%s", c.policy, c.asked, diff)
		}
	}

	if prepared(t, `{allowSnippetAnnotations: true}`).For(nil) != nil {
		t.Error("a policy that allows everything has rules")
	}
}

// TestSelection checks that a set of rules applies to the namespaces whose labels match its selector, and that unknown
// labels match no selector.
func TestSelection(t *testing.T) {
	t.Parallel()

	p := prepared(t, `rules:
- {name: all, labels: {required: {a: "*"}}}
- {name: tenants, selector: "tier=tenant", labels: {required: {b: "*"}}}
- {name: others, selector: "tier!=tenant", labels: {required: {c: "*"}}}
`)
	for _, c := range []struct {
		labels map[string]string
		want   string
	}{
		{nil, "all"}, {map[string]string{}, "all others"}, {map[string]string{"tier": "tenant"}, "all tenants"},
	} {
		var names []string
		for _, s := range p.For(c.labels).(*namespace).sets {
			names = append(names, s.name)
		}

		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.labels, got, c.want)
		}
	}

	if !p.NeedsNamespaceLabels() || (Policy{}).NeedsNamespaceLabels() {
		t.Error("it is not known whether labels are needed")
	}

	unprepared := Policy{Rules: p.Rules}
	if n := len(unprepared.For(map[string]string{}).(*namespace).sets); n != 2 {
		t.Errorf("a policy that was not prepared has %d sets", n)
	}
}

// TestContradictionsNeedCommonNamespaces checks that a set may require what a set for other namespaces denies.
func TestContradictionsNeedCommonNamespaces(t *testing.T) {
	t.Parallel()

	prepared(t, `rules: [{name: a, selector: "x=y", sparkConf: {denied: [spark.a]}}, {name: b, selector: "x=z", sparkConf: {required: {spark.a: "*"}}}]`)
}

// TestCanonicalImages checks that an image matches by its short name and by its full name.
func TestCanonicalImages(t *testing.T) {
	t.Parallel()

	for image, want := range map[string]string{
		"spark":                     "docker.io/library/spark",
		"spark:4":                   "docker.io/library/spark:4",
		"apache/spark":              "docker.io/apache/spark",
		"index.docker.io/a/b":       "docker.io/a/b",
		"registry.example.com/a":    "registry.example.com/a",
		"localhost/a":               "localhost/a",
		"EVIL/a":                    "EVIL/a",
		"registry:5000/a@sha256:00": "registry:5000/a@sha256:00",
	} {
		if got := canonicalImage(image); got != want {
			t.Errorf("%s is %s, want %s", image, got, want)
		}
	}
}

// TestUnpredictableKeys checks the keys whose effect on pods is unknown. A value is harmless only for its own key: the
// allocator "direct" was once also accepted as the file of a pod template and as a feature step.
func TestUnpredictableKeys(t *testing.T) {
	t.Parallel()

	const volcano = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
	rules := prepared(t, `rules: [{name: p, podSecurity: baseline}]`).For(nil)
	values := []string{"", " ", "direct", " direct", "statefulset", volcano, volcano + "\u00a0", "/opt/t.yaml"}

	for key, want := range map[string][]string{
		"spark.kubernetes.driver.podTemplateFile":            {""},
		"spark.kubernetes.executor.podTemplateFile":          {""},
		"spark.kubernetes.driver.pod.featureSteps":           {"", volcano},
		"spark.kubernetes.executor.pod.featureSteps":         {"", volcano},
		"spark.kubernetes.allocation.pods.allocator":         {"", "direct"},
		"spark.kubernetes.executor.pod.excludedFeatureSteps": {""},
		"spark.kubernetes.allocation.batch.size":             values,
	} {
		var got []string

		for _, value := range values {
			if len(rules.Faults(subject(t, plainPod, dialect.Setting{Key: key, Value: value, Field: "f"}))) == 0 {
				got = append(got, value)
			}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: allowed values (-want +got):\n%s", key, diff)
		}
	}
}
