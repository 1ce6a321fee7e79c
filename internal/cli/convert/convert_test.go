package convert

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// plain contains, for each API group, the manifest of an application with as few fields as possible.
var plain = map[string]string{
	SparkOperator: `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: app, namespace: default, labels: {team: data}}
spec:
  type: Java
  sparkVersion: 4.1.4
  image: spark:4.1.4
  mainClass: org.example.Main
  mainApplicationFile: local:///main.jar
  driver: {cores: 1, memory: 512m}
  executor: {instances: 2, cores: 1, memory: 512m}
`,
	Apache: `
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: app, namespace: default, labels: {team: data}}
spec:
  mainClass: org.example.Main
  jars: local:///main.jar
  runtimeVersions: {sparkVersion: 4.1.4}
  sparkConf:
    spark.kubernetes.container.image: spark:4.1.4
    spark.executor.instances: "2"
`,
}

// more contains, for each API group, pieces of specs in addition to the pieces that the test reads from the dialects'
// tests (tables).
var more = map[string][]string{
	SparkOperator: {
		`{suspend: true}`, `{mode: client}`, `{type: Python, mainClass: null, mainApplicationFile: "local:///main.py"}`,
		`{failureRetries: 1}`, `{retryInterval: 1}`,
		`{type: Python, mainClass: null, mainApplicationFile: "local:///main.py", deps: {pyFiles: ["local:///a.py", "local:///b.zip"], jars: ["local:///a.jar"]}}`,
		`{type: R, mainClass: null, mainApplicationFile: "local:///main.R", deps: {files: ["local:///a"]}}`,
		`{restartPolicy: {type: Always, onFailureRetryInterval: 7}}`,
		`{restartPolicy: {type: OnFailure, onFailureRetries: 3, onSubmissionFailureRetries: 2, onSubmissionFailureRetryInterval: 9}}`,
		`{restartPolicy: {type: OnFailure, onFailureRetries: 3, backoff: {factor: 2, maxSeconds: 60}}}`,
		`{timeToLiveSeconds: 60}`, `{driverPodDisruptionBudget: true}`,
		`{submission: {mode: SparkSubmit}}`,
		`{timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3, runSeconds: 4}}`,
		`{sparkUIOptions: {servicePort: 80}}`,
		`{driverIngressOptions: [{servicePort: 8080, servicePortName: x, ingressURLFormat: "{{$appName}}.example.org/x"}]}`,
		`{driverIngressOptions: [{servicePort: 8080, servicePortName: x}]}`, `{batchSchedulerOptions: {queue: q}}`,
		`{sparkConf: {spark.ui.port: "4041", spark.app.name: other, spark.jars: local:///b.jar}}`,
		`{driver: {template: {spec: {hostUsers: true, containers: [{name: side, image: i}, {name: spark-kubernetes-driver, env: [{name: A, value: b}]}]}}}}`,
		`{executor: {template: {spec: {hostUsers: true, containers: [{name: side, image: i}, {name: spark-kubernetes-executor, env: [{name: A, value: b}]}]}}}}`,
		`{driver: {env: [{name: SPARK_USER, value: x}, {name: B, value: "$(C)"}], envVars: {B: c}}}`,
		`{sparkVersion: 3.5.7}`, `{sparkVersion: 4.3.0}`, `{driver: {securityContext: {privileged: true}}}`,
		`{volumes: [{name: spark-local-dir-1, emptyDir: {}}], driver: {volumeMounts: [{name: spark-local-dir-1, mountPath: /l}]}}`, `{driver: {kubernetesMaster: "local[2]"}}`,
		`{proxyUser: ann, sparkVersion: 3.5.7}`, `{proxyUser: ann, sparkVersion: 4.3.0}`,
		`{monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheus: {jmxExporterJar: /j}}}`,
		`{mainApplicationFile: spark-internal}`,
	},
	Apache: {
		`{pyFiles: "local:///a.py", jars: ""}`,
		`{jars: "", mainClass: org.apache.spark.deploy.PythonRunner, pyFiles: "local:///a.py"}`,
		`{jars: ""}`, `{sparkConf: {spark.jars: local:///x.jar}}`,
		`{sparkConf: {spark.app.name: other, spark.app.id: mine}}`,
		`{sparkConf: {spark.kubernetes.driver.pod.name: mine}}`,
		`{sparkConf: {spark.master: "k8s://https://api:6443"}}`, `{sparkConf: {spark.master: "local[2]"}}`,
		`{sparkConf: {spark.dynamicAllocation.enabled: "true"}}`,
		`{sparkConf: {spark.kubernetes.authenticate.driver.oauthToken: t}}`,
		`{sparkConf: {spark.kubernetes.driver.master: "https://api:6443"}}`,
		`{applicationTolerations: {restartConfig: {restartPolicy: Always, maxRestartAttempts: 7}}}`,
		`{applicationTolerations: {restartConfig: {restartPolicy: OnFailure, maxRestartOnFailure: 2, maxRestartOnSchedulingFailure: 1, restartBackoffMillis: 1500}}}`,
		`{applicationTolerations: {restartConfig: {restartPolicy: OnInfrastructureFailure, restartCounterResetMillis: 5}}}`,
		`{applicationTolerations: {applicationTimeoutConfig: {driverStartTimeoutMillis: 1, driverReadyTimeoutMillis: 0, executorStartTimeoutMillis: -1}}}`,
		`{applicationTolerations: {applicationTimeoutConfig: {forceTerminationGracePeriodMillis: 1}}}`,
		`{applicationTolerations: {applicationTimeoutConfig: {terminationRequeuePeriodMillis: 1}}}`,
		`{applicationTolerations: {instanceConfig: {initExecutors: 1}}}`,
		`{applicationTolerations: {instanceConfig: {minExecutors: 1}}}`,
		`{applicationTolerations: {instanceConfig: {maxExecutors: 1}}}`,
		`{applicationTolerations: {resourceRetainPolicy: OnFailure}}`,
		`{applicationTolerations: {resourceRetainDurationMillis: 5}}`,
		`{applicationTolerations: {ttlAfterStopMillis: 1500}}`,
		`{driverSpec: {podTemplateSpec: {spec: {hostUsers: true, securityContext: {fsGroup: 1}, containers: [{name: side, image: i}, {name: spark-kubernetes-driver}], initContainers: [{name: i, image: i}]}}}}`,
		`{executorSpec: {podTemplateSpec: {spec: {enableServiceLinks: true, containers: [{name: side, image: i}, {name: spark-kubernetes-executor}]}}}}`,
		`{proxyUser: ann, runtimeVersions: {sparkVersion: 3.5.7}}`,
		`{proxyUser: ann, runtimeVersions: {sparkVersion: 4.3.0}}`, `{runtimeVersions: {sparkVersion: 4.3.0}}`,
	},
}

// tables lists the Go tables of valid values in the tests of the dialects. The last text of an entry is the part of a
// spec in which a value from the table is set. The value replaces the "%" in this text.
var tables = []struct{ group, file, name, wrap string }{
	{SparkOperator, "../../dialect/sparkoperator/application/fields_test.go", "specSamples", "%"},
	{SparkOperator, "../../dialect/sparkoperator/application/fields_test.go", "podSamples", "{driver: %}"},
	{SparkOperator, "../../dialect/sparkoperator/application/fields_test.go", "podSamples", "{executor: %}"},
	{Apache, "../../dialect/apache/application/fields_test.go", "fieldSamples", "%"},
}

// sampleOf matches an entry of a table, and valueOf matches the fields of the entry.
var (
	sampleOf = regexp.MustCompile("(?s)\"([A-Za-z.]+)\":\\s+\\{((?:value|with): `.*?`)\\},\n")
	valueOf  = regexp.MustCompile("(?s)(value|with):\\s+`(.*?)`")
)

// pieces returns the pieces of specs of an API group. Each piece is a list of texts. The last text is a setting, and
// the texts before it are other settings without which the setting has no effect.
func pieces(t testing.TB, group string) (all [][]string) {
	t.Helper()

	for _, table := range tables {
		if table.group != group {
			continue
		}

		text, err := os.ReadFile(table.file)
		if err != nil {
			t.Fatal(err)
		}

		_, rest, found := strings.Cut(string(text), "var "+table.name+" = map[string]")

		body, _, ended := strings.Cut(rest, "\n}\n")
		if !found || !ended {
			t.Fatalf("%s has no table %s", table.file, table.name)
		}

		read := 0
		for _, entry := range sampleOf.FindAllStringSubmatch(body+"\n", -1) {
			var piece [2]string
			for _, field := range valueOf.FindAllStringSubmatch(entry[2], -1) {
				text := field[2]
				if !strings.HasPrefix(text, "{") {
					text = "{" + text + "}"
				}

				at := 0
				if field[1] == "value" {
					at = 1
				}

				piece[at] = strings.Replace(table.wrap, "%", text, 1)
			}
			read++
			// Some fields belong to the driver or to executors only.
			if group == SparkOperator &&
				yaml.UnmarshalStrict([]byte(piece[1]), &v1beta2.SparkApplicationSpec{}) != nil {
				continue
			}

			all = append(all, slices.DeleteFunc(piece[:], func(s string) bool { return s == "" }))
		}

		if want := strings.Count(body, "value: `"); read != want {
			t.Fatalf("%s: %d of %d samples of %s were read", table.file, read, want, table.name)
		}
	}

	for _, piece := range more[group] {
		all = append(all, []string{piece})
	}
	return all
}

// appWith returns the smallest application of an API group, with pieces merged into its spec.
func appWith(t testing.TB, group string, pieces ...string) client.Object {
	t.Helper()

	var tree map[string]any
	if err := yaml.Unmarshal([]byte(plain[group]), &tree); err != nil {
		t.Fatal(err)
	}

	for _, piece := range pieces {
		var over map[string]any
		if err := yaml.Unmarshal([]byte(piece), &over); err != nil {
			t.Fatalf("%v in %s", err, piece)
		}

		fieldtable.Merge(tree, map[string]any{"spec": over})
	}

	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, "app.yaml", text)[0]
}

// read parses a manifest and returns the custom resources in it whose kinds the operator serves.
func read(t testing.TB, name string, text []byte) (objects []client.Object) {
	t.Helper()

	documents, faults := manifest.Read(name, text)
	if len(faults) > 0 {
		t.Fatal(faults[0])
	}

	for i := range documents {
		object, err := documents[i].Object()
		if err != nil {
			t.Fatal(err)
		}

		if object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

func operator(t testing.TB) preview.Operator {
	t.Helper()

	o, err := preview.Load("")
	if err != nil {
		t.Fatal(err)
	}

	o.Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return o
}

// corpus yields applications with their names: the examples, the applications in sparkctl's own tests, an application
// for each piece, and random combinations of pieces. Invalid combinations are left out.
func corpus(t testing.TB, o preview.Operator, yield func(name string, app client.Object)) {
	t.Helper()

	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}

	for _, file := range append(files, "../testdata/render/everything.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for _, object := range read(t, file, text) {
			if convertible(object) == nil {
				yield(filepath.Base(file), object)
			}
		}
	}

	for _, group := range []string{SparkOperator, Apache} {
		all := pieces(t, group)
		for _, piece := range all {
			yield(strings.Join(piece, " "), appWith(t, group, piece...))
		}

		random := rand.New(rand.NewPCG(25, 3))

		combined := 0
		for range 150 {
			var some []string
			for range 2 + random.IntN(6) {
				some = append(some, all[random.IntN(len(all))]...)
			}

			app := appWith(t, group, some...)
			if faults, err := o.Faults(app); err != nil || len(faults) > 0 {
				continue
			}
			combined++

			yield(strings.Join(some, " "), app)
		}

		if combined < 40 {
			t.Errorf("%s: only %d combinations are valid", group, combined)
		}
	}
}

// applicationOf returns the application in the template of a schedule. It returns any other object unchanged.
func applicationOf(object client.Object) client.Object {
	if schedule, ok := object.(*v1beta2.ScheduledSparkApplication); ok {
		return templateOf(schedule)
	}
	return object
}

// otherProperties matches the Spark properties that may differ between a source and its converted application: names
// and labels, properties whose defaults differ in spark.apache.org, as a comment says, and properties that have no
// effect on the application.
var otherProperties = regexp.MustCompile(`^spark\.(app\.(id|name)|driver\.host|kubernetes\.(driver|executor)\.label\..*|kubernetes\.driver\.service\.label\..*|kubernetes\.driver\.pod\.name|` +
	`authenticate|io\.encryption\.enabled|kubernetes\.executor\.(useDriverPodIP|deleteOnTermination)|kubernetes\.driver\.service\.deleteOnTermination|` +
	`kubernetes\.submission\.waitAppCompletion|kubernetes\.(driver|executor)\.podTemplateContainerName|kubernetes\.driverEnv\.SPARK_USER|` +
	`kubernetes\.driver\.securityContext\.allowPrivilegeEscalation|kubernetes\.executor\.podTemplateFile)$`)

// commented lists configuration keys that have no counterpart in the other API group. If a comment of the converted
// application names such a key, the Spark properties in the value may differ.
var commented = map[string][]string{
	fields.Master: {fields.Master, "spark.kubernetes.driver.master"},
	"spark.kubernetes.authenticate.driver.oauthToken": {
		"spark.kubernetes.authenticate.driver.oauthToken",
		"spark.kubernetes.authenticate.driver.mounted.oauthTokenFile",
	},
}

// properties returns the Spark properties of an application's driver, without the properties that otherProperties
// matches.
func properties(t testing.TB, o preview.Operator, app client.Object) map[string]string {
	t.Helper()

	made, err := objectsOf(o, app)
	if err != nil {
		t.Fatal(err)
	}

	for _, object := range made.Before {
		text := ""
		switch object := object.(type) {
		case *corev1.ConfigMap:
			text = object.Data["spark.properties"]
		case *corev1.Secret:
			text = string(object.Data["spark.properties"])
		}

		if text == "" {
			continue
		}

		c, err := conf.UnmarshalProperties(text)
		if err != nil {
			t.Fatal(err)
		}

		values := c.Map()
		maps.DeleteFunc(values, func(key, _ string) bool { return otherProperties.MatchString(key) })
		return values
	}

	t.Fatal("the driver has no properties")
	return nil
}

// unexplained returns the comments about differences of the driver pod that no other comment explains.
func unexplained(r *Result) (texts []string) {
	for _, comment := range r.Comments {
		if strings.HasPrefix(comment.Text, "driver pod: ") {
			texts = append(texts, comment.Text)
		}
	}
	return texts
}

// TestConvertedApplicationsHaveTheSameDriver checks that the operator builds the same driver pod and the same Spark
// properties for the source and for the converted application. Names, labels, and parts of the pod that a comment
// explains may differ. The test then converts the application back, and compares the result with the source.
func TestConvertedApplicationsHaveTheSameDriver(t *testing.T) {
	o := operator(t)
	corpus(t, o, func(name string, source client.Object) {
		there := converted(t, o, name, source)
		if there == nil {
			return
		}

		back := converted(t, o, name+" and back", there.Application())
		if back == nil {
			return
		}

		different, err := differences(o, applicationOf(source), back.Application())
		if err != nil {
			t.Fatal(err)
		}

		both := slices.Concat(there.Comments, back.Comments)
		for _, part := range different {
			if !slices.ContainsFunc(both,
				func(c Comment) bool {
					return c.explains(part) ||
						strings.HasPrefix(c.Text, "driver pod: "+part+" ")
				}) {
				t.Errorf("%s: the conversion there and back changes %s", name, part)
			}
		}
	})
}

// converted converts an application and checks that only explained parts of the driver differ.
func converted(t *testing.T, o preview.Operator, name string, source client.Object) *Result {
	t.Helper()

	result, err := Convert(o, source, Other(source.GetObjectKind().GroupVersionKind().Group))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}

	for _, text := range unexplained(&result) {
		if !strings.Contains(name, "SPARK_USER") { // Spark's own variables override those of a template
			t.Errorf("%s: %s", name, text)
		}
	}

	text, err := result.YAML()
	if err != nil {
		t.Fatal(err)
	}

	again := read(t, name, text)
	if len(again) != 1 {
		t.Fatalf("%s: %d applications in\n%s", name, len(again), text)
	}

	before, after := properties(t, o, applicationOf(source)), properties(t, o, again[0])
	for _, comment := range result.Comments {
		for key, affected := range commented {
			if strings.Contains(comment.Text, "spec.sparkConf["+key+"]") {
				for _, key := range affected {
					delete(before, key)
					delete(after, key)
				}
			}
		}
	}

	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s: properties (-source +converted):\n%s", name, diff)
	}

	if different, err := differences(o, result.Application(), again[0]); err != nil || len(different) > 0 {
		t.Errorf("%s: the written manifest has another driver: %v, %v", name, different, err)
	}
	return &result
}

// TestNothingIsDroppedInSilence checks that each piece of a spec changes the converted application or causes a comment.
func TestNothingIsDroppedInSilence(t *testing.T) {
	o := operator(t)
	for _, group := range []string{SparkOperator, Apache} {
		for _, piece := range pieces(t, group) {
			last := piece[len(piece)-1]
			if last == "{type: Scala}" {
				continue // Spark decides by the main file
			}

			without, err1 := Convert(o, appWith(t, group, piece[:len(piece)-1]...), Other(group))

			with, err2 := Convert(o, appWith(t, group, piece...), Other(group))
			if err1 != nil || err2 != nil {
				t.Errorf("%s: %v, %v", last, err1, err2)
				continue
			}

			if cmp.Diff(without.Objects, with.Objects) != "" {
				continue
			}

			if cmp.Diff(without.Comments, with.Comments) == "" {
				t.Errorf("%s: %s changes neither the application nor the comments", group, last)
			}
		}
	}
}

// TestComments checks that the written manifest contains every comment of the result. It looks for the first line of
// each comment.
func TestComments(t *testing.T) {
	o := operator(t)
	corpus(t, o, func(name string, source client.Object) {
		result, err := Convert(o, source, Other(source.GetObjectKind().GroupVersionKind().Group))
		if err != nil {
			return // reported by another test
		}

		text, err := result.YAML()
		if err != nil {
			t.Fatal(err)
		}

		for _, comment := range result.Comments {
			first, _, _ := strings.Cut(wrapped(comment.Text)[0], "\n")
			if !strings.Contains(string(text), first+"\n") {
				t.Errorf("%s: %q is not in\n%s", name, comment.Text, text)
			}
		}
	})
}

// TestDifferences checks which differences of driver pods are reported.
func TestDifferences(t *testing.T) {
	o := operator(t)

	base := appWith(t, SparkOperator)
	for piece, want := range map[string][]string{
		`{}`:                              nil,
		`{image: other}`:                  {"spec.containers[spark-kubernetes-driver].image"},
		`{driver: {labels: {a: b}}}`:      nil,
		`{driver: {podName: mine}}`:       nil,
		`{arguments: [a]}`:                {"spec.containers[spark-kubernetes-driver].args[6]"},
		`{driver: {annotations: {a: b}}}`: {"metadata.annotations.a"},
		`{driver: {env: [{name: A, value: b}]}}`: {
			"spec.containers[spark-kubernetes-driver].env[A].name",
			"spec.containers[spark-kubernetes-driver].env[A].value",
		},
		`{driver: {env: [{name: SPARK_DRIVER_BIND_ADDRESS, value: b}]}}`: {
			"spec.containers[spark-kubernetes-driver].env[SPARK_DRIVER_BIND_ADDRESS].value",
			"spec.containers[spark-kubernetes-driver].env[SPARK_DRIVER_BIND_ADDRESS].valueFrom.fieldRef.apiVersion",
			"spec.containers[spark-kubernetes-driver].env[SPARK_DRIVER_BIND_ADDRESS].valueFrom.fieldRef.fieldPath",
		},
	} {
		got, err := differences(o, base, appWith(t, SparkOperator, piece))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", piece, diff)
		}
	}
}

// TestKindsWithoutACounterpart checks the errors for kinds and settings for which the other API group has no
// counterpart. The errors must say what to do instead.
func TestKindsWithoutACounterpart(t *testing.T) {
	o := operator(t)
	for name, object := range map[string]client.Object{
		"spark-connect.yaml": nil, "apache-cluster.yaml": nil,
		"spark.master": appWith(t, Apache, `{sparkConf: {spark.master: "spark://host:7077"}}`),
		"already":      appWith(t, Apache),
		"mainClass":    appWith(t, SparkOperator, `{mainClass: null}`),
	} {
		if object == nil {
			text, err := os.ReadFile("../../../examples/" + name)
			if err != nil {
				t.Fatal(err)
			}

			object = read(t, name, text)[0]
		}

		group := Other(object.GetObjectKind().GroupVersionKind().Group)
		if name == "already" {
			group = Other(group)
		}

		result, err := Convert(o, object, group)
		if err == nil {
			t.Errorf("%s became %v", name, result.Objects)
			continue
		}

		says := "keep"
		switch name {
		case "already", "mainClass":
			says = name
		}

		if !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestThereAndBackKeepsTheLifecycle converts applications to the other API group and back. Restarts, timeouts and the
// time to live must stay the same if both API groups have these settings.
func TestThereAndBackKeepsTheLifecycle(t *testing.T) {
	o := operator(t)
	for _, test := range []struct{ group, piece, want string }{
		{SparkOperator, `{}`, `{}`},
		{
			SparkOperator, `{timeToLiveSeconds: 60, timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3}}`,
			`{timeToLiveSeconds: 60, timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3}}`,
		},
		{
			SparkOperator, `{restartPolicy: {type: OnFailure, onFailureRetries: 3, onSubmissionFailureRetries: 2, onFailureRetryInterval: 7, onSubmissionFailureRetryInterval: 9, backoff: {factor: 1}}}`,
			`{restartPolicy: {type: OnFailure, onFailureRetries: 3, onSubmissionFailureRetries: 2, onFailureRetryInterval: 7, onSubmissionFailureRetryInterval: 9, backoff: {factor: 1}}}`,
		},
		{
			SparkOperator, `{restartPolicy: {type: Always, onFailureRetryInterval: 7, onSubmissionFailureRetryInterval: 7, backoff: {factor: 1}}}`,
			`{restartPolicy: {type: Always, onFailureRetryInterval: 7, onSubmissionFailureRetryInterval: 7, backoff: {factor: 1}}}`,
		},
		{
			Apache, `{applicationTolerations: {ttlAfterStopMillis: 5000, applicationTimeoutConfig: {driverStartTimeoutMillis: 1000, driverReadyTimeoutMillis: 0}}}`,
			`{ttlAfterStopMillis: 5000, resourceRetainPolicy: Always, applicationTimeoutConfig: {driverStartTimeoutMillis: 1000, driverReadyTimeoutMillis: 0, executorStartTimeoutMillis: 300000}}`,
		},
		{
			Apache, `{applicationTolerations: {restartConfig: {restartPolicy: OnFailure, maxRestartAttempts: 4, maxRestartOnFailure: 3, maxRestartOnSchedulingFailure: 1, restartBackoffMillis: 2000}}}`,
			`{restartConfig: {restartPolicy: OnFailure, maxRestartAttempts: 4, maxRestartOnFailure: 3, maxRestartOnSchedulingFailure: 1, restartBackoffMillis: 2000},
				applicationTimeoutConfig: {driverStartTimeoutMillis: 300000, driverReadyTimeoutMillis: 300000, executorStartTimeoutMillis: 300000}}`,
		},
	} {
		there, err := Convert(o, appWith(t, test.group, test.piece), Other(test.group))
		if err != nil {
			t.Fatal(err)
		}

		back, err := Convert(o, there.Application(), test.group)
		if err != nil {
			t.Fatal(err)
		}

		var got, want any
		switch app := back.Application().(type) {
		case *v1beta2.SparkApplication:
			spec := &v1beta2.SparkApplicationSpec{}
			if err := yaml.UnmarshalStrict([]byte(test.want), spec); err != nil {
				t.Fatal(err)
			}

			if spec.Timeouts == nil { // no limits, which spark.apache.org needs to say
				spec.Timeouts = &v1beta2.Timeouts{DriverStartSeconds: new(int64), DriverReadySeconds: new(int64),
					ExecutorsStartSeconds: new(int64)}
			}

			got = []any{app.Spec.RestartPolicy, app.Spec.Timeouts, app.Spec.TimeToLiveSeconds}
			want = []any{spec.RestartPolicy, spec.Timeouts, spec.TimeToLiveSeconds}
		case *sparkv1.SparkApplication:
			tolerations := &sparkv1.ApplicationTolerations{}
			if err := yaml.UnmarshalStrict([]byte(test.want), tolerations); err != nil {
				t.Fatal(err)
			}

			got, want = app.Spec.ApplicationTolerations, tolerations
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.piece, diff)
		}
	}
}
