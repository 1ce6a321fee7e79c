package application

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

const fieldsDocument = "../../../../docs/fields-apache.md"

var updateFields = flag.Bool("update", false, "write docs/fields-apache.md")

// fieldSamples has a sample for each field of an application's spec. A sample consists of two YAML texts. The first one
// (value) sets the field. The second one (with) contains the other settings that the field needs to have an effect.
var fieldSamples = map[string]struct{ value, with string }{
	"mainClass":                    {value: `mainClass: Other`},
	"runtimeVersions.sparkVersion": {value: `runtimeVersions: {sparkVersion: 4.2.1}`},
	"runtimeVersions.scalaVersion": {value: `runtimeVersions: {scalaVersion: "2.14"}`},
	"runtimeVersions.jdkVersion":   {value: `runtimeVersions: {jdkVersion: "25"}`},
	"jars":                         {value: `jars: "local:///a.jar,local:///b.jar"`},
	"pyFiles":                      {value: `pyFiles: "local:///a.py,local:///b.py"`, with: `jars: ""`},
	"sparkRFiles":                  {value: `sparkRFiles: local:///a.R`, with: `jars: ""`},
	"files":                        {value: `files: local:///a.txt`},
	"proxyUser":                    {value: `proxyUser: alice`},
	"driverArgs":                   {value: `driverArgs: [a]`},
	"sparkConf":                    {value: `sparkConf: {spark.NAME: v}`},
	"driverSpec.podTemplateSpec": {value: `driverSpec: {podTemplateSpec: {metadata: {labels: {NAME: v}}, spec: {containers: [{name: x, env: [{name: A, value: b}]}],
		volumes: [{name: v, emptyDir: {}}]}}}`},
	"executorSpec.podTemplateSpec": {value: `executorSpec: {podTemplateSpec: {metadata: {labels: {NAME: v}}, spec: {containers: [{name: x, env: [{name: A, value: b}]}],
		volumes: [{name: v, emptyDir: {}}]}}}`},
	"driverServiceIngressList": {value: `driverServiceIngressList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}]`},
	"driverHttpRouteList": {value: `driverHttpRouteList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: a},
		httpRouteSpec: {parentRefs: [{name: g}]}}]`},
	"driverGrpcRouteList": {value: `driverGrpcRouteList: [{serviceMetadata: {name: a}, serviceSpec: {ports: [{port: 80}]}, grpcRouteMetadata: {name: a},
		grpcRouteSpec: {parentRefs: [{name: g}]}}]`},
	"configMapSpecs": {value: `configMapSpecs: [{name: a, data: {b: c}}]`},
}

// steeringFields lists fields, or prefixes of fields, that control the operator and change no pod. Each entry contains
// a path and a description of what these fields control.
var steeringFields = []struct{ path, does string }{
	{"suspend", "`true` stops the application, and starts nothing, until it is `false`"},
	{"deploymentMode", "`ClientMode` makes the application fail: the operator runs drivers only in the cluster"},
	{"applicationTolerations.restartConfig.", "whether and when the operator makes another attempt"},
	{"applicationTolerations.applicationTimeoutConfig.",
		"how long an attempt may take until the operator ends it, and how its pods are then deleted"},
	{"applicationTolerations.instanceConfig.", "how many executors have to run for the states that report executors"},
	{"applicationTolerations.resourceRetain", "which objects are kept after the end, and how long"},
	{"applicationTolerations.ttlAfterStopMillis", "when the finished application is deleted"},
}

// placement holds everything that is rendered for an application: the Spark configuration, the driver pod, the executor
// pod and the other objects.
type placement struct {
	conf, driver, executor map[string]any
	beside                 map[string]any // the other objects, by kind and name
}

func placedIn(t *testing.T, app *sparkv1.SparkApplication) (o placement) {
	t.Helper()
	objects := rendered(t, Applications{}, app, 1)

	pod, err := Applications{}.Executor(app, 1, 1, "driver", noon)
	if err != nil {
		t.Fatal(err)
	}

	o = placement{conf: map[string]any{}, driver: fieldtable.Flat(t, objects.Driver), executor: fieldtable.Flat(t, pod),
		beside: map[string]any{}}
	for key, value := range properties(t, objects, naming.ID(app, 1)) {
		o.conf[key] = value
	}

	around, wrong := withExposure.auxiliaryObjects(app, 1)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}

	for _, object := range slices.Concat(objects.Before, around) {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if config, ok := object.(*corev1.ConfigMap); ok && slices.Contains(generatedConfig(app), config.Name) {
			continue // the other columns show its content
		}

		o.beside[kind] = append(asList(o.beside[kind]), object)
	}
	return o
}

func asList(v any) []submit.Object {
	list, _ := v.([]submit.Object)
	return list
}

// generatedConfig returns the names of the ConfigMaps that the operator generates for the first attempt: one contains
// the Spark configuration, the other the executors' pod template.
func generatedConfig(app *sparkv1.SparkApplication) []string {
	id := naming.ID(app, 1)
	return []string{id + "-spark-drv-conf-map", id + "-driver-podspec-conf-map"}
}

// TestFieldsDocument compares docs/fields-apache.md with the code, or writes it with -update. The page lists every
// field of the kind and the objects that the field changes.
func TestFieldsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("# Where each field of spark.apache.org ends up")
	line("")
	line("This page lists every field of the SparkApplications and SparkClusters of `spark.apache.org`, and the parts of the")
	line("created objects that change if the field is set. *container* is the Spark container. Configuration reaches driver and")
	line("executors in `spark.properties`.")
	line("")
	line("A test writes this page from the objects that the operator renders, and fails if a field is missing:")
	line("")
	line("```sh")
	line("go test -p 1 ./internal/dialect/apache/... -run TestFieldsDocument -update")
	line("```")
	applicationFields(t, line)
	fieldtable.Hold(t, fieldsDocument, "", "## SparkCluster", text.String(), *updateFields)
}

func applicationFields(t *testing.T, line func(string, ...any)) {
	t.Helper()
	line("")
	line("## SparkApplication")
	line("")
	line("| field | configuration | driver pod | executors' pods | other objects |")
	line("|---|---|---|---|---|")

	var steers []string
	for _, path := range fieldtable.Fields(reflect.TypeFor[sparkv1.ApplicationSpec](), "") {
		if i := slices.IndexFunc(steeringFields,
			func(s struct{ path, does string }) bool { return strings.HasPrefix(path, s.path) }); i >= 0 {
			steers = append(steers, fmt.Sprintf("| `%s` | %s |", path, steeringFields[i].does))
			continue
		}

		sample, ok := fieldSamples[path]
		if !ok {
			t.Errorf("spec.%s is not in fieldSamples", path)
			continue
		}

		before := placedIn(t, written(t, "spec: {"+sample.with+"}"))

		app := written(t, "spec: {"+sample.with+"}", "spec: {"+sample.value+"}")
		for _, version := range []string{"v1", "v1beta1"} {
			if errs := admission.Faults(t, "spark.apache.org_sparkapplications.yaml", version, app); len(errs) > 0 {
				t.Errorf("%s: the definition refuses it: %v", sample.value, errs.ToAggregate())
			}
		}

		after := placedIn(t, app)

		conf, driver, executor, beside := fieldtable.Changes(before.conf, after.conf),
			fieldtable.Changes(before.driver, after.driver),
			fieldtable.Changes(before.executor, after.executor), fieldtable.Changes(before.beside, after.beside)
		if len(conf)+len(driver)+len(executor)+len(beside) == 0 {
			t.Errorf("spec.%s has no effect", path)
		}

		line("| `%s` | %s | %s | %s | %s |", path, fieldtable.Codes(conf), fieldtable.Codes(driver),
			fieldtable.Codes(executor), fieldtable.Codes(beside))
	}

	line("")

	var keys, paths []string
	for row := range fields.Application.Rows() {
		if row.Precedence == table.Yields {
			keys, paths = append(keys, "`"+row.Key+"`"), append(paths, "`"+strings.TrimPrefix(row.Path, "spec.")+"`")
		}
	}

	line("A field takes precedence over the same key in `sparkConf`. These keys are exceptions:")
	line("%s take precedence over", strings.Join(keys, ", "))
	line("%s. Lint, the webhook and an event of the launch", strings.Join(paths, ", "))
	line("name each value that another one overrides.")
	line("")
	line("These fields control the operator and reach no pod:")
	line("")
	line("| field | what it controls |")
	line("|---|---|")

	for _, steer := range steers {
		line("%s", steer)
	}
}

// TestRowsAreTrue compares the table of fields with the configuration of a launch: if the sample of a field is set, the
// key of the field changes, and the field and an entry of sparkConf have the precedence of the row.
func TestRowsAreTrue(t *testing.T) {
	for row := range fields.Application.Rows() {
		if row.Key == "" {
			continue
		}

		t.Run(row.Path+" "+row.Key, func(t *testing.T) {
			sample := fieldSamples[strings.TrimPrefix(row.Path, "spec.")]
			configuration := func(app *sparkv1.SparkApplication) *conf.Conf {
				p, wrong := fields.ProgramOf(&app.Spec)
				if wrong != nil {
					t.Fatal(wrong)
				}
				return confOf(t, app, p)
			}
			app := written(t, "spec: {"+sample.with+"}", "spec: {"+sample.value+"}")
			was, _ := configuration(written(t, "spec: {"+sample.with+"}")).Get(row.Key)

			text, set := configuration(app).Get(row.Key)
			if always := row.Precedence == table.Overrides || row.Precedence == table.Yields; always &&
				(!set || text == was) {
				t.Fatalf("the field does not set the key: %q, before %q", text, was)
			}

			app.Spec.SparkConf = platform.With(app.Spec.SparkConf, row.Key, "own")

			want := map[table.Precedence]string{table.Overrides: text, table.Yields: "own", table.Implies: "own",
				table.Replaces: ""}[row.Precedence]
			if got, _ := configuration(app).Get(row.Key); got != want {
				t.Errorf("with sparkConf the value is %q, want %q", got, want)
			}
		})
	}
}
