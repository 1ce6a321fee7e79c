package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
)

// inputs maps manifests with mistakes that users make to what lint says about them, without the name of the file. A
// manifest that begins with "spec." is such a field of a valid manifest.
var inputs = []struct {
	manifest string
	says     []string
}{
	// Values without quotes.
	{"sparkConf: {spark.eventLog.enabled: false, spark.sql.shuffle.partitions: 200}", []string{
		"error: spec.sparkConf[spark.eventLog.enabled]: is the boolean false, not text; put it in quotes",
		"error: spec.sparkConf[spark.sql.shuffle.partitions]: is the number 200, not text; put it in quotes",
	}},
	{"sparkConf: {spark.hadoop.fs.s3a.secret.key: 12345}",
		[]string{"error: spec.sparkConf[spark.hadoop.fs.s3a.secret.key]: is a number, not text; put it in quotes"}},
	{"hadoopConf: {fs.s3a.path.style.access: yes}",
		[]string{`error: spec.hadoopConf[fs.s3a.path.style.access]: is the boolean true, not text; put it in quotes: "yes"`}},
	{"nodeSelector: {pool: on, disk: null}",
		[]string{`error: spec.nodeSelector[pool]: is the boolean true, not text; put it in quotes: "on"`}},
	{"arguments: [10, true, --fast]", []string{
		"error: spec.arguments[0]: is the number 10, not text; put it in quotes",
		"error: spec.arguments[1]: is the boolean true, not text; put it in quotes",
	}},
	{"arguments: '10'", []string{`error: spec.arguments: is the text "10", not a list; write it as an item, behind a hyphen`}},
	{"sparkVersion: 4.1", []string{"error: spec.sparkVersion: is the number 4.1, not text; put it in quotes"}},
	{"executor: {env: [{name: PORT, value: 8080}, {name: DEBUG, value: true}]}", []string{
		"error: spec.executor.env[0].value: is a number, not text; put it in quotes",
		"error: spec.executor.env[1].value: is the boolean true, not text; put it in quotes",
	}},
	{"driver: {labels: {prod: true}, annotations: {build: 7}, envVars: {COUNT: 1}}", []string{
		"error: spec.driver.labels[prod]: is the boolean true, not text; put it in quotes",
		"error: spec.driver.annotations[build]: is the number 7, not text; put it in quotes",
		"error: spec.driver.envVars[COUNT]: is the number 1, not text; put it in quotes",
	}},
	// A value of a wrong type does not hide the other faults.
	{"sparkConf: {spark.a: true, spark.master: yarn}\n  driver: {cores: 1, memory: 1x}\n  executor: {instances: '2'}",
		[]string{
			"error: spec.sparkConf[spark.a]: is the boolean true, not text; put it in quotes",
			"error: spec.sparkConf[spark.master]: is not allowed: the operator sets it; remove the key",
			`error: spec.driver.memory: "1x" is not a size that Spark reads; write a whole number and a unit, such as 512m or 4g`,
			`error: spec.executor.instances: is the text "2", not a number; remove the quotes`,
		}},
	{"executor: {cores: many, memory: 1x}\n  arguments: [1, b]\n  driver: {memory: 1y}", []string{
		`error: spec.executor.cores: is the text "many", not a whole number; write one such as 1`,
		"error: spec.arguments[0]: is the number 1, not text; put it in quotes",
		`error: spec.driver.memory: "1y" is not a size that Spark reads; write a whole number and a unit, such as 512m or 4g`,
	}},
	// Keys that YAML changes.
	{"sparkConf: {on: a, N: b, 1.0: c, 010: d, true: e, 'off': f, 2: g}", []string{
		`error: spec.sparkConf[on]: is the key "true", because YAML reads on so; put it in quotes: "on"`,
		`error: spec.sparkConf[N]: is the key "false", because YAML reads N so; put it in quotes: "N"`,
		`error: spec.sparkConf[1.0]: is the key "1", because YAML reads 1.0 so; put it in quotes: "1.0"`,
		`error: spec.sparkConf[010]: is the key "8", because YAML reads 010 so; put it in quotes: "010"`,
	}},
	{"driver: {memory: 512}", []string{"error: spec.driver.memory: is the number 512, not text; put it in quotes"}},
	{"driver: {sidecars: [{name: a, image: b, resources: {limits: {cpu: 0.5, memory: true}}}]}", []string{
		"error: spec.driver.sidecars[0].resources.limits[cpu]: is the number 0.5, not a whole number or text; put it in quotes",
		"error: spec.driver.sidecars[0].resources.limits[memory]: is the boolean true, not a quantity; write one such as 500m or 2Gi",
	}},
	// Values of another type.
	{"driver: {cores: 0.1, coreLimit: 200m}",
		[]string{`error: spec.driver.cores: is the number 0.1, not a whole number; for a part of a CPU, write coreRequest: "0.1" and leave this field out`}},
	{"executor: {instances: '2'}",
		[]string{`error: spec.executor.instances: is the text "2", not a number; remove the quotes`}},
	{"executor: {instances: two}",
		[]string{`error: spec.executor.instances: is the text "two", not a whole number; write one such as 1`}},
	{"executor: {instances: 3000000000}",
		[]string{"error: spec.executor.instances: is the number 3000000000, not in the range of the field; write a number from -2147483648 to 2147483647"}},
	{"dynamicAllocation: {enabled: 'true'}",
		[]string{`error: spec.dynamicAllocation.enabled: is the text "true", not a boolean; remove the quotes`}},
	{"dynamicAllocation: true", []string{"error: spec.dynamicAllocation: is the boolean true, not an object; write its fields (enabled, initialExecutors, maxExecutors, ...)"}},
	{"restartPolicy: Never", []string{`error: spec.restartPolicy: is the text "Never", not an object; write {type: Never}`}},
	{"driver: {env: {A: b}}", []string{"error: spec.driver.env: is an object, not a list; begin each item with a hyphen"}},
	{"sparkConf: [spark.a=b]", []string{"error: spec.sparkConf: is a list, not a map; write a line KEY: TEXT for each entry, without a hyphen"}},
	{"imagePullSecrets: [{name: a}]",
		[]string{"error: spec.imagePullSecrets[0]: is an object, not text; write the name alone"}},
	{"arguments: [{--conf: a}]",
		[]string{"error: spec.arguments[0]: is an object, not text; write a single text, in quotes if it has a colon"}},
	{"driver: {annotations: {build: 1.0}, resources: {limits: {cpu: 1}}}", []string{
		`error: spec.driver.annotations[build]: is the number 1, not text; put it in quotes: "1.0"`,
		"warning: spec.driver.resources: is unknown; the API server drops it; write cores and memory",
	}},
	{"volumes: [data]", []string{`error: spec.volumes[0]: is the text "data", not an object; write its fields (awsElasticBlockStore, azureDisk, azureFile, ...)`}},
	{"imagePullSecrets: [a, ]\n  arguments: [a, null]",
		[]string{"error: spec.arguments[1]: has no value; write one, or remove the item"}},
	// Templates.
	{"driver: {template: {spec: {containers: [{name: a, resources: {requests: {requests: {cpu: '1'}}}, env: [{name: A, value: 3}]}]}}}", []string{
		"error: spec.driver.template.spec.containers[0].resources.requests[requests]: is an object, not a quantity; write one such as 500m or 2Gi",
		"error: spec.driver.template.spec.containers[0].env[0].value: is a number, not text; put it in quotes",
	}},
	{"executor: {template: {spec: {hostNetwork: 'no'}}}",
		[]string{`error: spec.executor.template.spec.hostNetwork: is the text "no", not a boolean; write true or false`}},
	{"executor: {template: {spec: {tolerations: {key: a}}}}",
		[]string{"error: spec.executor.template.spec.tolerations: is an object, not a list; begin each item with a hyphen"}},
	{"driver: {template: {spec: {containers: [{resources: {limits: {memory: lots}}}]}}}", []string{
		`error: spec.driver.template.spec.containers[0].resources.limits[memory]: "lots" is not a quantity; write one such as 500m or 2Gi`,
	}},
	// What the definition refuses.
	{"type: python", []string{`error: spec.type: "python" is not accepted; write Python`}},
	{"type: Spark", []string{`error: spec.type: "Spark" is not accepted; write one of Java, Python, Scala, R`}},
	{"restartPolicy: {type: onFailure}",
		[]string{`error: spec.restartPolicy.type: "onFailure" is not accepted; write OnFailure`}},
	{"restartPolicy: {type: OnFailure, onFailureRetries: -1}",
		[]string{"error: spec.restartPolicy.onFailureRetries: -1 is too small; write 0 or more"}},
	{"driver: {ports: [{name: a, containerPort: 70000}]}", []string{
		"error: spec.driver.ports[0].protocol: is required",
		`error: spec.driver.ports[0].containerPort: "70000" is not a port; write a number from 1 to 65535`,
	}},
	{"driver: {sidecars: [{name: a, image: b, resources: {limits: {cpu: much}}}]}",
		[]string{`error: spec.driver.sidecars[0].resources.limits[cpu]: "much" is not a quantity; write one such as 500m or 2Gi`}},
	// Fields at a wrong level.
	{"tolerations: [{key: a, operator: Exists}]",
		[]string{"warning: spec.tolerations: is unknown; the API server drops it; the kind has it at spec.driver.tolerations and spec.executor.tolerations"}},
	{"driver: {securityContext: {fsGroup: 1}}",
		[]string{"warning: spec.driver.securityContext.fsGroup: is unknown; the API server drops it; the kind has it at spec.driver.podSecurityContext.fsGroup"}},
	{"driver: {sparkConf: {spark.a: b}}",
		[]string{"warning: spec.driver.sparkConf: is unknown; the API server drops it; the kind has it at spec.sparkConf"}},
	{"serviceAccount: spark", []string{"warning: spec.serviceAccount: is unknown; the API server drops it; the kind has it at spec.driver.serviceAccount and spec.executor.serviceAccount"}},
	{"driver: {topologySpreadConstraints: []}", []string{
		"warning: spec.driver.topologySpreadConstraints: is unknown; the API server drops it; a pod has it, so write spec.driver.template.spec.topologySpreadConstraints",
	}},
	{"suspended: true", []string{"warning: spec.suspended: is unknown; the API server drops it; write suspend"}},
	{"executor: {Instances: 1}",
		[]string{"warning: spec.executor.Instances: is unknown; the API server drops it; write instances"}},
	{"onFailureRetries: 3", []string{"warning: spec.onFailureRetries: is unknown; the API server drops it; the kind has it at spec.restartPolicy.onFailureRetries"}},
	{"nonsense: 3", []string{"warning: spec.nonsense: is unknown; the API server drops it"}},
	// Placeholders.
	{"mainApplicationFile: s3a://<S3_BUCKET>/job.py",
		[]string{"error: spec.mainApplicationFile: has the placeholder <S3_BUCKET>, which nothing replaces; write its value"}},
	{"image: ${REGISTRY}/spark:4.1.4",
		[]string{"warning: spec.image: has the placeholder ${REGISTRY}, which nothing replaces; write its value"}},
	{"sparkConf: {spark.eventLog.dir: 's3a://<your-bucket>/logs'}", []string{
		"warning: spec.sparkConf[spark.eventLog.dir]: has the placeholder <your-bucket>, which nothing replaces; write its value",
	}},
	{`arguments: ["{{ ds }}"]`, []string{"warning: spec.arguments[0]: has the placeholder {{ ds }}, which nothing replaces; write its value"}},
	{`image: "{{ .Values.image }}"`,
		[]string{"error: spec.image: has the placeholder {{ .Values.image }}, which nothing replaces; write its value"}},
	{"sparkConf: {spark.a: '${spark.b}', spark.b: '${env:HOME}', spark.ui.proxyBase: '/{{$appName}}', spark.executor.extraJavaOptions: '-Dx={{EXECUTOR_ID}}'}\n  arguments: ['array<string>']", nil},
	{"executor:\n    instances: {{ .Values.n }}", []string{
		"error: is a template of Helm, Jinja or the like that is not rendered yet: {{ .Values.n }}; render it first, such as with helm template, and check the result",
	}},
	{"{% if x %}\n  image: a\n  {% endif %}", []string{
		"error: is a template of Helm, Jinja or the like that is not rendered yet: {% if x %}; render it first, such as with helm template, and check the result",
	}},
	// Keys that are there twice.
	{"sparkConf: {spark.a: '96', spark.a: '200'}", []string{
		`warning: spec.sparkConf[spark.a]: is set twice in the same object; the last value counts, "200", and not that of line 6: remove one of the two`,
	}},
	{"executor: {instances: 1}\n  executor: {instances: 2}", []string{
		"warning: spec.executor: is set twice in the same object; the last value counts, that of this line, and not that of line 6: remove one of the two",
	}},
	{"driver: {template: {spec: {nodeName: a, nodeName: b}}}", []string{
		`warning: spec.driver.template.spec.nodeName: is set twice in the same object; the last value counts, "b", and not that of line 6: remove one of the two`,
	}},
}

// heads maps the first lines of manifests to what lint says about them.
var heads = map[string]string{
	"apiVersion: sparkoperator.k8s.io/v1beta1\nkind: SparkApplication\n":     `2:1: error: apiVersion: "sparkoperator.k8s.io/v1beta1" is not a version of SparkApplication that the operator serves; write sparkoperator.k8s.io/v1beta2`,
	"apiVersion: sparkoperator.k8s.io/v1\nkind: ScheduledSparkApplication\n": `2:1: error: apiVersion: "sparkoperator.k8s.io/v1" is not a version of ScheduledSparkApplication that the operator serves; write sparkoperator.k8s.io/v1beta2`,
	"apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkConnect\n":         `2:1: error: apiVersion: "sparkoperator.k8s.io/v1beta2" is not a version of SparkConnect that the operator serves; write sparkoperator.k8s.io/v1alpha1`,
	"apiVersion: spark.apache.org/v1alpha1\nkind: SparkCluster\n":            `2:1: error: apiVersion: "spark.apache.org/v1alpha1" is not a version of SparkCluster that the operator serves; write spark.apache.org/v1`,
	"apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkAplication\n":      `3:1: error: kind: "SparkAplication" is not a kind of sparkoperator.k8s.io; the kinds are: ScheduledSparkApplication, SparkApplication, SparkConnect`,
	"apiVersion: sparkoperator.k8s.oi/v1beta2\nkind: SparkApplication\n": `2:1: warning: apiVersion: "sparkoperator.k8s.oi/v1beta2" is not a version of the operator's kind SparkApplication, so the document is left out; ` +
		`write spark.apache.org/v1 or sparkoperator.k8s.io/v1beta2 if the operator should run it`,
	"apiVersion: v1beta2\nkind: SparkConnect\n": `2:1: error: apiVersion: "v1beta2" is not a version of SparkConnect; write sparkoperator.k8s.io/v1alpha1`,
	"kind: SparkConnect\n":                      `2:1: error: apiVersion: "" is not a version of SparkConnect; write sparkoperator.k8s.io/v1alpha1`,
	"apiVersion: v1\nkind: ConfigMap\n":         "",
	"apiVersion: v1\n":                          "2:1: error: has no kind; a manifest begins with apiVersion and kind",
}

// valid contains the fields of a manifest without faults.
var valid = map[string]string{
	"type": "Scala", "image": "apache/spark:4.1.4", "sparkVersion": "4.1.4", "mainClass": "a.B",
	"mainApplicationFile": "local:///a.jar", "driver": "{cores: 1}", "executor": "{instances: 1}",
}

// TestLintExplainsInput checks the messages about mistakes of the kinds that users make most.
func TestLintExplainsInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.yaml")

	lint := func(text string, args ...string) (lines []string, code exit.Code) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		got := run(t, append([]string{"lint", "-f", file}, args...)...)
		for line := range strings.Lines(got.out + got.err) {
			lines = append(lines, strings.TrimSpace(strings.ReplaceAll(line, file+":", "")))
		}
		return lines, got.code
	}
	for _, input := range inputs {
		text := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata:\n  name: a\nspec:\n  " +
			input.manifest + "\n"
		for name, value := range valid {
			if !strings.Contains("\n  "+input.manifest, "\n  "+name+":") {
				text += "  " + name + ": " + value + "\n"
			}
		}

		lines, _ := lint(text)

		var got []string
		for _, line := range lines[:len(lines)-1] {
			if _, message, ok := strings.Cut(line, " "); ok {
				got = append(got, message)
			}
		}

		if strings.Join(got, "\n") != strings.Join(input.says, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", input.manifest, strings.Join(got, "\n"), strings.Join(input.says, "\n"))
		}
	}

	for head, says := range heads {
		lines, _ := lint("# A comment.\n" + head + "metadata: {name: a}\nspec: {}\n")
		if got := strings.Join(lines[:len(lines)-1], "\n"); got != says {
			t.Errorf("%s%s\nwant\n%s", head, got, says)
		}
	}

	lines, _ := lint("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n- apiVersion: sparkoperator.k8s.io/v1alpha1\n  kind: SparkConnect\n  spec: {image: 5}\n")
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "8:10: error: spec.image: is the number 5") ||
		!strings.Contains(text, "1 custom resource in 1 file") {
		t.Errorf("a list: %s", text)
	}

	if lines, code := lint("apiVersion: v1\nkind: ConfigMap\n", "--strict"); code != exit.Invalid ||
		!strings.Contains(strings.Join(lines, "\n"), "contain no custom resource") {
		t.Errorf("nothing to check: exit code %d, %q", code, lines)
	}
}

// TestGeneratedNames checks that verbs accept an object with generateName, and say that its name is a placeholder.
func TestGeneratedNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.yaml")

	text := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {generateName: pi-}\nspec:\n"
	for name, value := range valid {
		text += "  " + name + ": " + value + "\n"
	}

	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	for verb, want := range map[string]string{"lint": "0 errors, 0 warnings", "render": "pi-xxxxx-driver",
		"convert": "generateName: pi-"} {
		got := run(t, verb, "-f", file)
		if got.code != exit.OK || !strings.Contains(got.out, want) ||
			(verb == "render") != strings.Contains(got.err,
				"the API server generates the name; the output has the placeholder pi-xxxxx") {
			t.Errorf("%s: exit code %d, %q\n%s", verb, got.code, got.err, got.out)
		}
	}
}

// TestRenderReportsAllFaults checks that render prints each fault in its own line, and warnings before them, in the
// words of lint.
func TestRenderReportsAllFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.yaml")

	text := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: a, labels: {x: true}}\nspec:\n" +
		"  sparkConf: {spark.a: 1, spark.b: x, spark.b: z}\n  type: scala\n  suspended: true\n"
	for name, value := range valid {
		if name != "type" {
			text += "  " + name + ": " + value + "\n"
		}
	}

	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	want := `warning: FILE:5:39: spec.sparkConf[spark.b]: is set twice in the same object; the last value counts, "z", and not that of line 5: remove one of the two
warning: FILE:7:3: spec.suspended: is unknown; the API server drops it; write suspend
error: FILE:3:30: metadata.labels[x]: is the boolean true, not text; put it in quotes
error: FILE:5:15: spec.sparkConf[spark.a]: is the number 1, not text; put it in quotes
error: FILE:6:3: spec.type: "scala" is not accepted; write Scala
`
	for _, verb := range []string{"render", "convert"} {
		got := run(t, verb, "-f", file)
		if text := strings.ReplaceAll(got.err, file, "FILE"); got.code != exit.Invalid || text != want {
			t.Errorf("%s: exit code %d\n%s\nwant\n%s", verb, got.code, text, want)
		}
	}
	// The operator finds these faults, not the definition.
	refused := "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: Pi}\nspec:\n  driver: {memory: lots}\n"
	for name, value := range valid {
		if name != "driver" {
			refused += "  " + name + ": " + value + "\n"
		}
	}

	second := filepath.Join(t.TempDir(), "refused.yaml")
	if err := os.WriteFile(second, []byte(refused), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, verb := range []string{"render", "convert"} {
		got := run(t, verb, "-f", second)
		if got.code != exit.Invalid || !strings.Contains(got.err, "error: "+second+":3:12: metadata.name: ") ||
			!strings.Contains(got.err, "error: "+second+":5:12: spec.driver.memory: ") {
			t.Errorf("%s: exit code %d\n%s", verb, got.code, got.err)
		}
	}

	got := run(t, "create", "-f", file, "--validate=strict")
	if !strings.Contains(got.err, "error: "+file+":7:3: spec.suspended: is unknown") {
		t.Errorf("create: %s", got.err)
	}

	if got := run(t, "create", "-f", file, "--validate=maybe"); got.code != exit.Usage {
		t.Errorf("create: exit code %d", got.code)
	}
}
