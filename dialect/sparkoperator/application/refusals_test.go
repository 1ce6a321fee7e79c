package application

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const validationDocument = "../../../docs/validation.md"

// refusals lists specs that are rejected when the operator first reads them: the field that the error names, the rule,
// and a piece of such an application's YAML.
var refusals = []struct{ field, when, piece string }{
	{"metadata.name", "is not a DNS label that begins with a letter (RFC 1035): Services are named after it", `metadata: {name: 1pi}`},
	{"spec.sparkConf[KEY]", "is one of the keys below", `spec: {sparkConf: {spark.master: local}}`},
	{"spec.nodeSelector", "is set together with `driver.nodeSelector` or `executor.nodeSelector`", `spec: {nodeSelector: {a: b}, driver: {nodeSelector: {a: b}}}`},
	{"spec.driver.template", "is not a pod template", `spec: {driver: {template: {spec: {containers: none}}}}`},
	{"spec.executor.template", "is not a pod template", `spec: {executor: {template: {spec: {containers: none}}}}`},
	{"spec.driver.memory", "is not a size that Spark and Java read, such as `512m` or `4g`. Java takes a number without a unit for bytes, so it is refused too", `spec: {driver: {memory: "4096"}}`},
	{"spec.executor.memory", "is not a size that Spark reads", `spec: {executor: {memory: 4Gi}}`},
	{"spec.driver.memoryLimit", "is not a size, or is below the memory that the driver requests", `spec: {driver: {memoryLimit: 512m}}`},
	{"spec.executor.memoryLimit", "is not a size", `spec: {executor: {memoryLimit: much}}`},
	{"spec.driver.coreRequest", "is not an amount of CPU", `spec: {driver: {coreRequest: a few}}`},
	{"spec.executor.coreRequest", "is not an amount of CPU", `spec: {executor: {coreRequest: a few}}`},
	{"spec.driver.coreLimit", "is not an amount of CPU, or is below the request", `spec: {driver: {cores: 2, coreLimit: "1"}}`},
	{"spec.executor.coreLimit", "is not an amount of CPU, or is below the request", `spec: {executor: {cores: 2, coreLimit: "1"}}`},
	{"spec.memoryOverheadFactor", "is not a positive number", `spec: {memoryOverheadFactor: 20%}`},
	{"spec.driver.volumeMounts[0].name", "names a volume that is neither in `volumes` nor in the template", `spec: {driver: {volumeMounts: [{name: a, mountPath: /a}]}}`},
	{"spec.executor.volumeMounts[0].name", "names such a volume, or a volume named `spark-local-dir-...` of another type than emptyDir, hostPath, nfs or persistentVolumeClaim",
		`spec: {volumes: [{name: spark-local-dir-1, secret: {secretName: s}}], executor: {volumeMounts: [{name: spark-local-dir-1, mountPath: /a}]}}`},
	{"spec.executor.volumeMounts[0].mountPath", "is also the mount path of something else", `spec: {sparkConfigMap: c, volumes: [{name: a}], executor: {volumeMounts: [{name: a, mountPath: /etc/spark/conf}]}}`},
	{"spec.executor.secrets[0].path", "the same", `spec: {executor: {configMaps: [{name: c, path: /a}], secrets: [{name: s, path: /a, secretType: Generic}]}}`},
	{"spec.executor.configMaps[1].path", "the same", `spec: {executor: {configMaps: [{name: c, path: /a}, {name: d, path: /a}]}}`},
	{"spec.driver.volumeMounts", "mounts two volumes at one path", `spec: {volumes: [{name: a}, {name: b}], driver: {volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /a}]}}`},
	{"spec.volumes", "has the name of another volume of the pod", `spec: {volumes: [{name: a, emptyDir: {}}], driver: {volumeMounts: [{name: a, mountPath: /a}], template: {spec: {containers: [{name: x}], volumes: [{name: a, secret: {secretName: s}}]}}}}`},
	{"spec.driver.ports", "has a name that another port has", `spec: {driver: {ports: [{name: spark-ui, protocol: TCP, containerPort: 1}]}}`},
	{"spec.driver.sidecars", "has the name of another container of the pod, with another image", `spec: {driver: {sidecars: [{name: spark-kubernetes-driver, image: i}]}}`},
	{"spec.executor.initContainers", "the same", `spec: {executor: {initContainers: [{name: a, image: i}, {name: a, image: j}]}}`},
	{"spec.driver.labels[spark-role]", "is set: the label is Spark's own, like `spark-version`, `spark-app-selector` and `spark-app-name`", `spec: {driver: {labels: {spark-role: a}}}`},
	{"metadata.labels[spark-role]", "is set, because labels of the application reach its pods", `metadata: {labels: {spark-role: a}}`},
	{"metadata.labels[sparkoperator.dev/content]", "is set: labels that begin with `sparkoperator.dev/` are the operator's own", `metadata: {labels: {sparkoperator.dev/content: a}}`},
	{"spec.driver.labels[sparkoperator.dev/a]", "the same", `spec: {driver: {labels: {sparkoperator.dev/a: b}}}`},
	{"spec.driver.serviceLabels[sparkoperator.dev/content]", "the same", `spec: {driver: {serviceLabels: {sparkoperator.dev/content: a}}}`},
	{"spec.executor.labels[sparkoperator.dev/attempt]", "the same", `spec: {executor: {labels: {sparkoperator.dev/attempt: "9"}}}`},
	{"spec.driver.template.metadata.labels[sparkoperator.dev/a]", "the same", `spec: {driver: {template: {metadata: {labels: {sparkoperator.dev/a: b}}}}}`},
	{"spec.executor.template.metadata.labels[sparkoperator.dev/a]", "the same", `spec: {executor: {template: {metadata: {labels: {sparkoperator.dev/a: b}}}}}`},
	{"spec.sparkConf[spark.kubernetes.driver.service.label.sparkoperator.dev/content]", "the same, as are all keys that set such labels of pods, Services or claims",
		`spec: {sparkConf: {spark.kubernetes.driver.service.label.sparkoperator.dev/content: a}}`},
	{"spec.mode", "is neither `cluster` nor `client`; the API server already refuses such a value", `spec: {mode: in-cluster-client}`},
	{"spec.driver.kubernetesMaster", "is not an address of an API server, such as `https://...` or `k8s://https://...`, and not `local[...]`", `spec: {driver: {kubernetesMaster: "spark://a:7077"}}`},
	{"spec.monitoring.prometheus.jmxExporterJar", "is empty, a URI, or has a blank, a quote or an equals sign",
		`spec: {monitoring: {prometheus: {jmxExporterJar: ""}}}`},
	{"spec.monitoring.prometheus.configFile", "is a URI, or has a blank, a quote or an equals sign", `spec: {monitoring: {prometheus: {jmxExporterJar: /j, configFile: s3a://b/c}}}`},
	{"spec.monitoring.metricsPropertiesFile", "the same", `spec: {monitoring: {metricsPropertiesFile: https://b/c}}`},
	{"spec.monitoring.prometheus.port", "is below 1024 or above 49151; the API server already refuses such a value", `spec: {monitoring: {prometheus: {jmxExporterJar: /j, port: 80}}}`},
	{"spec.monitoring.prometheus.portName", "is not a name of a port, or is the name of a port of Spark or of `executor.ports`", `spec: {monitoring: {prometheus: {jmxExporterJar: /j, portName: spark-ui}}}`},
	{"spec.mainClass", "is missing for a jar", `spec: {mainClass: null}`},
	{"spec.image", "is missing, together with `driver.image` or `executor.image`", `spec: {image: null}`},
	{"spec.batchScheduler", "is not `volcano`, `yunikorn` or one of the operator's `batchScheduler.kubeSchedulerNames`; checked only if `batchScheduler.enabled` is set", `spec: {batchScheduler: whoever}`},
	{"spec.batchSchedulerOptions.queue", "is not a name of a queue of Volcano, or not a label value, which YuniKorn reads", `spec: {batchScheduler: volcano, batchSchedulerOptions: {queue: A B}}`},
	{"spec.batchSchedulerOptions.priorityClassName", "is not a name of a priority class", `spec: {batchScheduler: volcano, batchSchedulerOptions: {priorityClassName: High}}`},
	{"spec.batchSchedulerOptions.resources[cpu]", "is negative; the same holds for any other resource", `spec: {batchScheduler: volcano, batchSchedulerOptions: {resources: {cpu: -1}}}`},
}

// TestRefusalsDocument compares the part of docs/validation.md about applications that are rejected when the operator
// first reads them, or writes it with -update. It also checks that each application in the table is rejected.
func TestRefusalsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	fired := make([]bool, len(rules))
	line("| field | refused when it |")
	line("|---|---|")
	for _, r := range refusals {
		line("| `%s` | %s |", r.field, r.when)
		app := appOf(t, r.piece)
		for i, rule := range rules {
			fired[i] = fired[i] || len(rule(app)) > 0
		}
		want := strings.ReplaceAll(r.field, "KEY", "spark.master")
		if got := refusedField(app); got != want {
			t.Errorf("%s: refused for %q, want %q", r.piece, got, want)
		}
	}
	for i, count := range fired {
		if !count {
			t.Errorf("rule %d of Validate refuses none of these", i)
		}
	}
	line("")
	line("Keys of `sparkConf`, whatever their case:")
	line("")
	line("| key | instead |")
	line("|---|---|")
	for _, key := range slices.Sorted(maps.Keys(denied)) {
		line("| `%s` | %s |", key, strings.TrimPrefix(denied[key], "use "))
	}
	line("| `%s*`, except `%s*` and `%s` | the service accounts of `driver.serviceAccount` and `executor.serviceAccount` |", sparkoperator.CredentialPrefix, mountedPrefix, submit.RunnerAccountKey)
	line("| `spark.kubernetes.namespace` of another namespace | the application's own |")
	compareSection(t, validationDocument, "looked at", text.String())
}

// refusedField returns the field that the rejection of an application names.
func refusedField(app *v1beta2.SparkApplication) string {
	if wrong := Validate(app); len(wrong) > 0 {
		return wrong[0].Field
	}
	_, err := usual.Render(app, createAttempt(1), t0)
	if wrong, ok := errors.AsType[*sparkoperator.FieldError](err); ok {
		return wrong.Field
	}
	return fmt.Sprint(err)
}

// compareSection compares the text between two marks of a document with the wanted text, or writes it with -update.
func compareSection(t *testing.T, file, mark, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- begin "+mark+" -->\n", "<!-- end "+mark+" -->"
	before, rest, ok := strings.Cut(string(text), begin)
	documented, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks %q and %q", file, begin, end)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(documented, want); diff != "" {
		t.Errorf("%s is out of date; run with -update (-written +now):\n%s", file, diff)
	}
}
