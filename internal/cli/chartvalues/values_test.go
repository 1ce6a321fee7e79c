package chartvalues

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everywhere is the comment on a file of chart 1.x that names no namespaces.
const everywhere = "# spark.jobNamespaces: chart 1.x serves every namespace by default, and this chart serves only default; to serve every namespace, set an empty list\n"

// TestConvert checks whole results: values that move alone, with a comment of the user, into a map that exists, and
// with a further value; values that are removed; and values that the chart does not have.
func TestConvert(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"values of this chart", "controller:\n  replicas: 2 # for the weekend\n", "controller:\n  replicas: 2 # for the weekend\n"},
		{"nothing", "", "{}\n"},
		{"moved", "replicaCount: 2\n", "controller:\n  # was replicaCount\n  replicas: 2\n"},
		{"a comment of the user", "# two, for the weekend\nreplicaCount: 2\n", "controller:\n  # two, for the weekend\n  # was replicaCount\n  replicas: 2\n"},
		{"merged", "prometheus: {metrics: {enable: true}}\nmetrics: {port: 10254}\n", "prometheus:\n  # was metrics\n  metrics: {enable: true, port: 10254}\n"},
		{"a list of one", "sparkJobNamespace: jobs\n", "spark:\n  # was sparkJobNamespace\n  jobNamespaces:\n    - jobs\n"},
		{"a further value", "ingressUrlFormat: a.b\n", "controller:\n  uiIngress:\n    # was ingressUrlFormat\n    urlFormat: a.b\n    # because of ingressUrlFormat\n    enable: true\n"},
		{"a harmless value", "labelSelectorFilter: \"\"\nreplicaCount: 1\n", "controller:\n  # was replicaCount\n  replicas: 1\n"},
		{"removed", "resyncInterval: 30\n", "# removed resyncInterval: the operator acts on events, and reads again only what it waits for\n\n{}\n"},
		{"a name with a dot", "operatorConfiguration: {spark-operator.properties: a=b}\n",
			"controller:\n  apache:\n    # was operatorConfiguration.spark-operator.properties\n    properties: a=b\n"},
		{"an alias", "nodeSelector: &pool {a: b}\ncontroller: {labels: *pool}\n", "controller:\n  labels: {a: b}\n  # was nodeSelector\n  nodeSelector: {a: b}\n"},
		{"a setting of the user", "sparkJobNamespace: old\nspark: {jobNamespaces: [a]}\n",
			"# removed sparkJobNamespace: no effect, because spark.jobNamespaces is set\n\nspark: {jobNamespaces: [a]}\n"},
		{"a part of a map", "resources: {limits: {cpu: 1, memory: 1Gi}}\ncontroller: {resources: {limits: {memory: 4Gi}}}\n",
			"# removed resources.limits.memory: no effect, because controller.resources.limits.memory is set\n\n" +
				"controller:\n  # was resources\n  resources: {limits: {memory: 4Gi, cpu: 1}}\n"},
		{"the same setting", "replicaCount: 2\ncontroller: {replicas: 2}\n", "controller:\n  # was replicaCount\n  replicas: 2\n"},
		{"a null", "replicaCount: 2\ncontroller: {replicas: null}\n", "controller:\n  # was replicaCount\n  replicas: 2\n"},
		{"two lists", "workloadResources: {sparkApplicationSentinel: {sentinelNamespaces: {data: [a, b]}}, sparkClusterSentinel: {sentinelNamespaces: {data: [b, c]}}}\n",
			"controller:\n  apache:\n    sentinels:\n      # was workloadResources.sparkApplicationSentinel.sentinelNamespaces.data\n" +
				"      # was workloadResources.sparkClusterSentinel.sentinelNamespaces.data\n      namespaces: [a, b, c]\n"},
		{"misspelt", "contoller: {}\n", "# The chart does not have this value, and refuses the file. Did you mean controller?\ncontoller: {}\n"},
		{"misplaced", "controller: {webhook: {}}\n", "controller:\n  # The chart does not have this value here; write webhook.\n  webhook: {}\n"},
	} {
		out, err := Convert([]byte(test.in))
		if diff := cmp.Diff(test.want, strings.TrimPrefix(strings.TrimPrefix(string(out), everywhere), "\n")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
	}
}

// TestConvertNamespacesAndPorts checks what is said about two defaults of chart 1.x that differ.
func TestConvertNamespacesAndPorts(t *testing.T) {
	const port = "# removed webhook.port: 8080 is prometheus.metrics.port; the chart uses 9443\n"

	for in, want := range map[string]string{
		"controllerThreads: 2\nwebhook: {port: 8080}\n":                        everywhere + port + "\ncontroller:\n  # was controllerThreads\n  workers: 2\n",
		"sparkJobNamespaces: [a]\nwebhook: {port: 8080}\nmetrics: {port: 1}\n": "webhook: {port: 8080}\nspark:\n  # was sparkJobNamespaces\n  jobNamespaces: [a]\nprometheus:\n  # was metrics\n  metrics: {port: 1}\n",
		"webhook: {port: 8080}\n":                                              "webhook: {port: 8080}\n",
	} {
		out, err := Convert([]byte(in))
		if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}

// TestConvertGatesAndImages checks the values that are compared by more than their names.
func TestConvertGatesAndImages(t *testing.T) {
	out, err := Convert([]byte("controller: {featureGates: [{name: LoadSparkDefaults, enabled: true}, {name: RestSubmitter, enabled: false}]}\n" +
		"image: {registry: mirror.example.com, repository: kubeflow/spark-operator/controller, tag: 2.4.0, pullPolicy: Always}\n"))
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"# removed controller.featureGates.LoadSparkDefaults: write the content", "image: {pullPolicy: Always}",
		"# removed image: mirror.example.com/kubeflow/spark-operator/controller:2.4.0 is the image of another operator"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}

	if strings.Contains(string(out), "RestSubmitter") {
		t.Errorf("a gate that is off is named:\n%s", out)
	}
}

func TestConvertRefuses(t *testing.T) {
	for in, want := range map[string]string{"[a]": "line 1: a values file is a map", "a: {": "yaml", "a: 1\na: 2": "already"} {
		if out, err := Convert([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v", in, out, err)
		}
	}
}
