package connect

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	difference "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// connectSample is a sample of a field. It consists of two YAML texts. The first one (value) sets the field. The second
// one (with) contains the other settings that the field needs to have an effect.
type connectSample struct{ value, with string }

// connectSamples contains a sample for each field of a SparkConnect's spec. The samples are YAML of the spec.
var connectSamples = map[string]connectSample{
	"sparkVersion":       {value: `sparkVersion: 4.0.1`},
	"image":              {value: `image: other`},
	"hadoopConf":         {value: `hadoopConf: {NAME: v}`},
	"sparkConf":          {value: `sparkConf: {spark.NAME: v}`},
	"server.cores":       {value: `server: {cores: 2}`},
	"server.memory":      {value: `server: {memory: 2g}`},
	"server.template":    {value: `server: {template: {metadata: {labels: {NAME: v}}, spec: {serviceAccountName: a, containers: [{name: spark-kubernetes-driver, env: [{name: A, value: b}]}, {name: sidecar, image: s}]}}}`},
	"server.service":     {value: `server: {service: {metadata: {labels: {a: b}, annotations: {a: b}}, spec: {type: LoadBalancer, ports: [{name: jmx, port: 8090}]}}}`},
	"executor.cores":     {value: `executor: {cores: 2}`},
	"executor.memory":    {value: `executor: {memory: 2g}`},
	"executor.template":  {value: `executor: {template: {metadata: {labels: {NAME: v}}, spec: {priorityClassName: a, containers: [{name: spark-kubernetes-executor, env: [{name: A, value: b}]}]}}}`},
	"executor.instances": {value: `executor: {instances: 7}`},
	"executor.gpu": {value: `executor: {gpu: {name: nvidia.com/gpu, quantity: 2}}`,
		with: `executor: {gpu: {name: amd.com/gpu, quantity: 1}}, sparkConf: {spark.executor.resource.gpu.discoveryScript: /g.sh}`},

	"dynamicAllocation.enabled": {value: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.initialExecutors": {value: `dynamicAllocation: {initialExecutors: 2}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.minExecutors": {value: `dynamicAllocation: {minExecutors: 1}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.maxExecutors": {value: `dynamicAllocation: {maxExecutors: 3}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.shuffleTrackingEnabled": {value: `dynamicAllocation: {shuffleTrackingEnabled: false}`,
		with: `dynamicAllocation: {enabled: true}`},
	"dynamicAllocation.shuffleTrackingTimeout": {value: `dynamicAllocation: {shuffleTrackingTimeout: 500}`,
		with: `dynamicAllocation: {enabled: true}`},

	"ui.ingressURLFormat": {value: `ui: {ingressURLFormat: "b.example.com/{{$appName}}"}`,
		with: `ui: {ingressURLFormat: "a.example.com"}`},
	"ui.ingressAnnotations": {value: `ui: {ingressAnnotations: {a: b}}`,
		with: `ui: {ingressURLFormat: "a.example.com"}`},
	"ui.ingressTLS": {value: `ui: {ingressTLS: [{hosts: [a.example.com], secretName: s}]}`,
		with: `ui: {ingressURLFormat: "a.example.com"}`},
	"ui.route.parentRefs": {value: `ui: {route: {parentRefs: [{name: g}]}}`,
		with: `ui: {ingressURLFormat: "a.example.com"}`},
	"ui.route.hostnames": {value: `ui: {route: {hostnames: [b.example.com]}}`,
		with: `ui: {route: {parentRefs: [{name: g}]}, ingressURLFormat: "a.example.com"}`},
}

// connectOf returns a small SparkConnect with pieces of YAML merged into its spec.
func connectOf(t *testing.T, pieces ...string) *v1alpha1.SparkConnect {
	t.Helper()

	whole := fieldtable.Plain(t, aConnect())
	for _, piece := range pieces {
		fieldtable.Merge(whole, fieldtable.Tree(t, "spec: {"+piece+"}"))
	}

	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}

	sc := &v1alpha1.SparkConnect{}
	if err := yaml.UnmarshalStrict(text, sc); err != nil {
		t.Fatal(err)
	}
	return sc
}

// served contains all objects that are rendered for a SparkConnect.
type served struct {
	conf                           map[string]string
	server, executor               map[string]any
	serverContainer, executorSpark map[string]any
	beside                         map[string]map[string]any // by kind
	warnings                       []string
}

func servedOf(t *testing.T, sc *v1alpha1.SparkConnect) served {
	t.Helper()

	c := Connects{Options{UI: sparkoperator.UI{Outside: true, Ingress: &sparkoperator.UIIngress{},
		Route: &sparkoperator.UIRoute{Parents: []expose.Parent{{Name: "default"}}}}}}
	if wrong := c.invalid(sc); wrong != nil {
		t.Fatal(wrong.Message)
	}

	objects, err := c.Render(sc, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1},
		connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	executor, err := c.Executor(sc, 1, 1, "s", connectBegan)
	if err != nil {
		t.Fatal(err)
	}

	s := served{conf: map[string]string{}, server: fieldtable.Plain(t, objects.Driver),
		executor: fieldtable.Plain(t, executor), beside: map[string]map[string]any{}, warnings: objects.Warnings}

	args := objects.Driver.Spec.Containers[0].Args
	for i, option := range args {
		if option == "--conf" {
			key, value, _ := strings.Cut(args[i+1], "=")
			s.conf[key] = value
		}
	}

	s.serverContainer, s.executorSpark = fieldtable.SparkContainer(t, s.server, 0),
		fieldtable.SparkContainer(t, s.executor, -1)
	delete(s.serverContainer, "args") // which is the configuration
	c.Decide(sc, noServer, connectBegan)

	for _, object := range c.AuxiliaryObjects(sc).Objects {
		there := fieldtable.Plain(t, object)
		delete(there["metadata"].(map[string]any)["labels"].(map[string]any), lifecycle.ContentLabel)
		s.beside[object.GetObjectKind().GroupVersionKind().Kind] = there
	}
	return s
}

// connectPlace sets a field to its sample and returns the parts of the rendered objects that change: parts of the
// configuration, the server, the executors, and the auxiliary objects, in this order.
func connectPlace(t *testing.T, s connectSample) (places [4][]string) {
	t.Helper()

	sc := connectOf(t, s.with, s.value)
	if errs := admission.Faults(t, "sparkoperator.k8s.io_sparkconnects.yaml", "v1alpha1", sc); len(errs) > 0 {
		t.Errorf("%s: the definition refuses it: %v", s.value, errs.ToAggregate())
	}

	before, after := servedOf(t, connectOf(t, s.with)), servedOf(t, sc)
	for _, key := range slices.Sorted(maps.Keys(after.conf)) {
		if before.conf[key] != after.conf[key] {
			places[0] = append(places[0], key)
		}
	}

	places[1] = fieldtable.PodChanges(before.server, before.serverContainer, after.server, after.serverContainer)

	places[2] = fieldtable.PodChanges(before.executor, before.executorSpark, after.executor, after.executorSpark)
	for _, kind := range slices.Sorted(maps.Keys(after.beside)) {
		if difference.Diff(before.beside[kind], after.beside[kind]) != "" {
			places[3] = append(places[3], kind)
		}
	}

	if len(after.warnings) > len(before.warnings) {
		t.Errorf("%s: warned of: %q", s.value, after.warnings)
	}
	return places
}

// TestRowsAreTrue compares the table of fields with the configuration of a server: the sample of a field sets the key,
// and overrides an entry of sparkConf.
func TestRowsAreTrue(t *testing.T) {
	for row := range fields.Connect.Rows() {
		if row.Key == "" || row.Precedence != table.Overrides {
			continue
		}

		sample := connectSamples[strings.TrimPrefix(row.Path, "spec.")]
		sc := connectOf(t, sample.with, sample.value)
		alone, _ := connectConf(sc).Get(row.Key)

		sc.Spec.SparkConf = platform.With(sc.Spec.SparkConf, row.Key, "own")
		if both, _ := connectConf(sc).Get(row.Key); alone == "" || both != alone {
			t.Errorf("%s: %s is %q, with sparkConf %q", row.Path, row.Key, alone, both)
		}
	}
}

var update = flag.Bool("update", false, "write the servers' part of docs/fields.md")

// TestFieldsDocument compares the part about SparkConnects in docs/fields.md with its expected text, or writes it with
// -update. It fails if a field has no effect or no sample.
func TestFieldsDocument(t *testing.T) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("")
	line("## spec of a SparkConnect")
	line("")
	line("The operator passes configuration on the server's command line. It builds the pods from their templates ([connect.md](connect.md)).")
	line("")
	line("| field | configuration | server pod | executors' pods | auxiliary objects |")
	line("|---|---|---|---|---|")

	paths := fieldtable.Leaves(reflect.TypeFor[v1alpha1.SparkConnectSpec](), "", "executor")
	if i := slices.Index(paths, "executor"); i >= 0 { // which is one field of an application's spec
		paths = slices.Replace(paths, i, i+1,
			fieldtable.Leaves(reflect.TypeFor[v1alpha1.ExecutorSpec](), "executor")...)
	}

	for _, path := range paths {
		s, known := connectSamples[path]
		if path == "suspend" {
			line("| `suspend` | stops the server and its executors; it changes no pod | | | |")
			continue
		}

		if !known {
			t.Errorf("spec.%s is not in connectSamples", path)
			continue
		}

		p := connectPlace(t, s)
		if len(p[0])+len(p[1])+len(p[2])+len(p[3]) == 0 {
			t.Errorf("spec.%s of a SparkConnect has no effect", path)
		}

		line("| `%s` | %s | %s | %s | %s |", path, fieldtable.Codes(p[0]), fieldtable.Codes(p[1]),
			fieldtable.Codes(p[2]), fieldtable.Codes(p[3]))
	}

	fieldtable.Hold(t, "../../../../docs/fields.md", "## spec of a SparkConnect",
		"[validation.md](validation.md) lists the values that are refused.", text.String(), *update)
}
