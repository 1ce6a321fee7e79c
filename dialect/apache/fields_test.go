package apache

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const fieldsDocument = "../../docs/fields-apache.md"

var updateFields = flag.Bool("update", false, "write docs/fields-apache.md")

// fieldSamples are the fields of an application's spec: a value as YAML of spec, and what has to be otherwise for it to mean something.
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

// steeringFields reach no pod. They are told by their beginning.
var steeringFields = []struct{ path, does string }{
	{"deploymentMode", "`ClientMode` makes the application fail: nobody runs such drivers"},
	{"applicationTolerations.restartConfig.", "when another attempt is made"},
	{"applicationTolerations.applicationTimeoutConfig.", "when an attempt is given up, and how patiently what is left of it is deleted"},
	{"applicationTolerations.instanceConfig.", "the states by how many executors run"},
	{"applicationTolerations.resourceRetain", "what is kept after the end"},
	{"applicationTolerations.ttlAfterStopMillis", "when the finished application is deleted"},
}

// clusterSamples are the fields of a cluster's spec.
var clusterSamples = map[string]string{
	"runtimeVersions.sparkVersion":                  `runtimeVersions: {sparkVersion: 4.2.1}`,
	"runtimeVersions.scalaVersion":                  `runtimeVersions: {scalaVersion: "2.14"}`,
	"runtimeVersions.jdkVersion":                    `runtimeVersions: {jdkVersion: "25"}`,
	"clusterTolerations.instanceConfig.initWorkers": `clusterTolerations: {instanceConfig: {initWorkers: 3}}`,
	"clusterTolerations.instanceConfig.minWorkers":  `clusterTolerations: {instanceConfig: {minWorkers: 2}}`,
	"clusterTolerations.instanceConfig.maxWorkers":  `clusterTolerations: {instanceConfig: {maxWorkers: 9}}`,
	"masterSpec.statefulSetSpec":                    `masterSpec: {statefulSetSpec: {template: {metadata: {labels: {NAME: v}}, spec: {containers: []}}, minReadySeconds: 3}}`,
	"masterSpec.statefulSetMetadata":                `masterSpec: {statefulSetMetadata: {labels: {NAME: v}}}`,
	"masterSpec.serviceSpec":                        `masterSpec: {serviceSpec: {ports: [{name: a, port: 1}]}}`,
	"masterSpec.serviceMetadata":                    `masterSpec: {serviceMetadata: {annotations: {NAME: v}}}`,
	"workerSpec.statefulSetSpec":                    `workerSpec: {statefulSetSpec: {template: {metadata: {labels: {NAME: v}}, spec: {containers: []}}, minReadySeconds: 3}}`,
	"workerSpec.statefulSetMetadata":                `workerSpec: {statefulSetMetadata: {labels: {NAME: v}}}`,
	"workerSpec.serviceSpec":                        `workerSpec: {serviceSpec: {ports: [{name: a, port: 1}]}}`,
	"workerSpec.serviceMetadata":                    `workerSpec: {serviceMetadata: {annotations: {NAME: v}}}`,
	"workerSpec.horizontalPodAutoscalerSpec":        `workerSpec: {horizontalPodAutoscalerSpec: {metrics: []}}`,
	"sparkConf":                                     `sparkConf: {spark.NAME: v}`,
}

// vainOfClusters are the fields of a cluster that are said in vain.
var vainOfClusters = []string{"runtimeVersions.scalaVersion", "runtimeVersions.jdkVersion"}

// specFields are the fields below a type of ours, by their names in JSON. Lists, maps, metadata and what is kept raw are fields as they are.
func specFields(t reflect.Type, at string) (paths []string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		below := f.Type
		for below.Kind() == reflect.Pointer {
			below = below.Elem()
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		switch ours := below.Kind() == reflect.Struct && strings.HasSuffix(below.PkgPath(), "/api/spark/v1"); {
		case strings.Contains(options, "inline"):
			paths = append(paths, specFields(below, at)...)
		case ours && below != reflect.TypeFor[sparkv1.ObjectMetadata]():
			paths = append(paths, specFields(below, path)...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// flat is an object by the names of its parts, two levels deep; what is of a pod's first container, which is Spark's, is told apart.
func flat(t *testing.T, object any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	parts := map[string]any{}
	for top, value := range tree {
		below, ok := value.(map[string]any)
		if !ok {
			parts[top] = value
			continue
		}
		for name, value := range below {
			if containers, ok := value.([]any); ok && top == "spec" && name == "containers" && len(containers) > 0 {
				for part, value := range containers[0].(map[string]any) {
					parts["container."+part] = value
				}
				value = containers[1:]
			}
			parts[top+"."+name] = value
		}
	}
	return parts
}

// otherwise names the parts that two objects do not have alike, in alphabetical order.
func otherwise(was, is map[string]any) (changed []string) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, part := range slices.Sorted(maps.Keys(all)) {
		if cmp.Diff(was[part], is[part]) != "" {
			changed = append(changed, part)
		}
	}
	return changed
}

// placement is all that an application is made into.
type placement struct {
	conf, driver, executor map[string]any
	beside                 map[string]any // by kind and name
}

func placedIn(t *testing.T, app *sparkv1.SparkApplication) (o placement) {
	t.Helper()
	objects := rendered(t, Applications{}, app, 1)
	pod, err := Applications{}.Executor(app, 1, 1, "driver", noon)
	if err != nil {
		t.Fatal(err)
	}
	o = placement{conf: map[string]any{}, driver: flat(t, objects.Driver), executor: flat(t, pod), beside: map[string]any{}}
	for key, value := range properties(t, objects, appID(app, 1)) {
		o.conf[key] = value
	}
	around, wrong := outside.beside(app, 1)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	for _, object := range slices.Concat(objects.Before, around) {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		if config, ok := object.(*corev1.ConfigMap); ok && slices.Contains(generatedConfig(app), config.Name) {
			continue // it holds what the other columns tell
		}
		o.beside[kind] = append(asList(o.beside[kind]), object)
	}
	return o
}

func asList(v any) []submit.Object {
	list, _ := v.([]submit.Object)
	return list
}

// generatedConfig are the names of the ConfigMaps that hold the configuration and the executors' template.
func generatedConfig(app *sparkv1.SparkApplication) []string {
	id := appID(app, 1)
	return []string{id + "-spark-drv-conf-map", id + "-driver-podspec-conf-map"}
}

func codes(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "`" + strings.Join(parts, "`, `") + "`"
}

// TestFieldsDocument writes, with -update, or compares docs/fields-apache.md: every field of the API, and where it ends up.
func TestFieldsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("# Where each field of spark.apache.org ends up")
	line("")
	line("Written by `go test ./dialect/apache -run TestFieldsDocument -update`, which sets every field of the API and looks at what changes; the same test")
	line("fails when a field is missing here. *container* is the Spark container. Configuration reaches driver and executors in `spark.properties`.")
	applicationFields(t, line)
	clusterFieldsTold(t, line)
	if *updateFields {
		if err := os.WriteFile(fieldsDocument, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(fieldsDocument)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(was), text.String()); diff != "" {
		t.Errorf("docs/fields-apache.md is out of date; run with -update (-written +now):\n%s", diff)
	}
}

func applicationFields(t *testing.T, line func(string, ...any)) {
	t.Helper()
	line("")
	line("## SparkApplication")
	line("")
	line("| field | configuration | driver pod | executors' pods | besides |")
	line("|---|---|---|---|---|")
	var steers []string
	for _, path := range specFields(reflect.TypeFor[sparkv1.ApplicationSpec](), "") {
		if i := slices.IndexFunc(steeringFields, func(s struct{ path, does string }) bool { return strings.HasPrefix(path, s.path) }); i >= 0 {
			steers = append(steers, fmt.Sprintf("| `%s` | %s |", path, steeringFields[i].does))
			continue
		}
		sample, ok := fieldSamples[path]
		if !ok {
			t.Errorf("spec.%s is not in fieldSamples", path)
			continue
		}
		before := placedIn(t, written(t, "spec: {"+sample.with+"}"))
		after := placedIn(t, written(t, "spec: {"+sample.with+"}", "spec: {"+sample.value+"}"))
		conf, driver, executor, beside := otherwise(before.conf, after.conf), otherwise(before.driver, after.driver),
			otherwise(before.executor, after.executor), otherwise(before.beside, after.beside)
		if len(conf)+len(driver)+len(executor)+len(beside) == 0 {
			t.Errorf("spec.%s has no effect", path)
		}
		line("| `%s` | %s | %s | %s | %s |", path, codes(conf), codes(driver), codes(executor), codes(beside))
	}
	line("")
	line("`sparkConf` wins over `jars`, `pyFiles` and `files` where both say `spark.jars`, `spark.submit.pyFiles` or `spark.files`; in all else the field wins.")
	line("")
	line("These steer the operator, and reach no pod:")
	line("")
	line("| field | what it decides |")
	line("|---|---|")
	for _, steer := range steers {
		line("%s", steer)
	}
}

func clusterFieldsTold(t *testing.T, line func(string, ...any)) {
	t.Helper()
	of := func(over string) map[string]map[string]any {
		sc := sparkCluster(autoscaledCluster(1, 5))
		if err := yaml.UnmarshalStrict([]byte("spec: {"+over+"}"), sc); err != nil {
			t.Fatalf("%s: %v", over, err)
		}
		objects, err := Clusters{}.objects(sc)
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]map[string]any{}
		all, err := objects.All()
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range all {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			role := object.GetLabels()["spark-role"]
			if role != string(lifecycle.Master) && role != string(lifecycle.Worker) {
				role = ""
			}
			parts[strings.TrimSpace(kind+" "+role)] = flat(t, object)
		}
		return parts
	}
	line("")
	line("## SparkCluster")
	line("")
	line("| field | what it changes |")
	line("|---|---|")
	before := of("")
	for _, path := range specFields(reflect.TypeFor[sparkv1.ClusterSpec](), "") {
		sample, ok := clusterSamples[path]
		if !ok {
			t.Errorf("spec.%s of a cluster is not in clusterSamples", path)
			continue
		}
		after := of(sample)
		var changes []string
		for _, object := range slices.Sorted(maps.Keys(after)) {
			if parts := otherwise(before[object], after[object]); len(parts) > 0 {
				changes = append(changes, object+": "+codes(parts))
			}
		}
		switch vain := slices.Contains(vainOfClusters, path); {
		case vain != (len(changes) == 0):
			t.Errorf("spec.%s of a cluster changes %v; it is in vainOfClusters: %v", path, changes, vain)
		case vain:
			changes = []string{"nothing"}
		}
		line("| `%s` | %s |", path, strings.Join(changes, "; "))
	}
}
