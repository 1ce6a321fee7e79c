package v1beta2_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// TestWhatTheSchemaAcceptsIsDecoded checks that every object that the schema accepts can be decoded. An informer lists
// and watches all objects of a kind at once, so one stored object that cannot be decoded would hide all of them.
func TestWhatTheSchemaAcceptsIsDecoded(t *testing.T) {
	decoder := serializer.NewCodecFactory(newObjects(t)).UniversalDeserializer()
	for file, object := range map[string]any{
		applications: v1beta2.SparkApplication{}, schedules: v1beta2.ScheduledSparkApplication{},
	} {
		t.Run(file, func(t *testing.T) {
			schema := admission.Ours(t, file, version)
			comparison, share := crd.CompareType(crd.Ours(t, file), version, object), effort.Share(t)

			accepted, refused := 0, 0
			for path, probe := range effort.Some(t, comparison.Probes()) {
				stored, errs := schema.Admit(encode(t, probe))
				if len(errs) > 0 {
					refused++
					continue
				}
				accepted++

				crd.MustDecode(t, path, decoder, encode(t, stored))
			}

			t.Logf("%d accepted, %d refused, %d repeat others", accepted, refused, comparison.Repeated)

			if accepted*share < 1000 || refused*share < 1000 {
				t.Errorf("%d accepted and %d refused probes: too few to mean anything", accepted, refused)
			}
		})
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()

	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestDefinitionsCanBeApplied checks the size of the definitions. kubectl apply stores a whole definition in one
// annotation, and the annotations of an object may have 256 KiB in total.
func TestDefinitionsCanBeApplied(t *testing.T) {
	for _, file := range []string{applications, schedules} {
		size, err := crd.CompactSize(crd.Ours(t, file))
		if err != nil {
			t.Fatal(err)
		}

		t.Logf("%s: %d bytes", file, size)

		if limit := 256 * 1024; size >= limit {
			t.Errorf("%s has %d bytes as compact JSON, the limit is %d: shorten descriptions", file, size, limit)
		}
	}
}

// TestChartHasTheSameDefinitions checks that the chart's copies of the definitions equal the definitions in config/crd.
func TestChartHasTheSameDefinitions(t *testing.T) {
	root := crd.Root(t)
	for _, file := range []string{applications, schedules} {
		copied, err := os.ReadFile(filepath.Join(root, "charts/spark-operator/files/crds", file))
		if err != nil {
			t.Fatal(err)
		}

		source, err := os.ReadFile(filepath.Join(root, "config/crd", file))
		if err != nil {
			t.Fatal(err)
		}

		if !bytes.Equal(copied, source) {
			t.Errorf("the chart's %s is not the one in config/crd: run make generate", file)
		}
	}
}

// TestManifestsAreStoredWhole checks that the API server accepts our manifests and stores them unchanged.
func TestManifestsAreStoredWhole(t *testing.T) {
	schemas := map[string]*admission.Schema{
		"SparkApplication":          admission.Ours(t, applications, version),
		"ScheduledSparkApplication": admission.Ours(t, schedules, version),
	}
	for _, path := range fixtures(t) {
		// Node selectors of the application exclude those of its driver and executors.
		for _, pods := range []bool{true, false} {
			_, manifest := load(t, path)

			spec := manifest["spec"].(map[string]any)
			if template, ok := spec["template"].(map[string]any); ok {
				spec = template
			}

			if pods {
				delete(spec, "nodeSelector")
			} else {
				delete(spec["driver"].(map[string]any), "nodeSelector")
				delete(spec["executor"].(map[string]any), "nodeSelector")
			}

			stored, errs := schemas[manifest["kind"].(string)].Admit(encode(t, manifest))
			if len(errs) > 0 {
				t.Errorf("%s: %v", path, errs.ToAggregate())
			}

			var got map[string]any
			if err := json.Unmarshal(encode(t, stored), &got); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(manifest, got); diff != "" {
				t.Errorf("%s: (-manifest +stored):\n%s", path, diff)
			}
		}
	}
}

// TestAdmission makes single changes to the minimal manifest. The API server must reject only manifests that could
// never run. Each error must contain the texts in refused, which tell the user what to correct.
func TestAdmission(t *testing.T) {
	schema := admission.Ours(t, applications, version)

	scheduled := admission.Ours(t, schedules, version)
	for _, tc := range []struct {
		name    string
		path    string
		value   any      // nil removes the field
		refused []string // parts of the refusal's text; nil: accepted
	}{
		{"nothing changed", "mode", "cluster", nil},
		{"client mode, accepted as by the peer", "mode", "client", nil},
		{"unknown mode", "mode", "remote", []string{"spec.mode", `"cluster", "client"`}},
		{"no driver", "driver", nil, []string{"spec.driver", "Required"}},
		{"no executor", "executor", nil, []string{"spec.executor", "Required"}},
		{"no main file", "mainApplicationFile", nil, []string{"spec.mainApplicationFile", "Required"}},
		{"no version", "sparkVersion", nil, []string{"spec.sparkVersion", "Required"}},
		{"no type", "type", nil, []string{"spec.type", "Required"}},
		{"unknown type", "type", "Perl", []string{"spec.type", `"Java", "Python", "Scala", "R"`}},

		{"memory in words", "driver.memory", "lots", []string{"spec.driver.memory", "whole number", "4g"}},
		{"memory with a Kubernetes unit", "driver.memory", "4Gi", []string{"spec.driver.memory", "whole number"}},
		{"memory with a fraction", "executor.memory", "1.5g",
			[]string{"spec.executor.memory", "whole number and a unit"}},
		{"empty memory, which means the default", "executor.memory", "", nil},
		{"memory below zero", "driver.memory", "-1g", []string{"spec.driver.memory"}},
		{"memory with a blank before the unit", "driver.memory", "1 g", []string{"spec.driver.memory"}},
		{"overhead in words", "executor.memoryOverhead", "some",
			[]string{"spec.executor.memoryOverhead", "whole number"}},
		{"memory", "driver.memory", "4g", nil},
		{"memory in capitals", "driver.memory", "512M", nil},
		{"memory with a unit of two letters", "executor.memory", "1Tb", nil},
		{"driver memory with a unit of two letters, which the JVM cannot parse", "driver.memory", "1Tb",
			[]string{"spec.driver.memory", "-Xmx", "512m or 2g"}},
		{"memory in bytes", "executor.memory", "1073741824b", nil},
		{"driver memory in bytes, which the JVM cannot parse", "driver.memory", "1073741824b",
			[]string{"spec.driver.memory", "-Xmx", "512m or 2g"}},
		{"memory without a unit", "executor.memory", "1024", nil},
		{"memory with blanks around", "driver.memory", "\t1g ", nil},
		{"memory by substitution", "driver.memory", "${env:MEM}", nil},
		{"memory partly by substitution", "driver.memory", "${spark.my.size}g", nil},
		{"overhead", "driver.memoryOverhead", "384m", nil},

		{"no cores", "driver.cores", 0, []string{"spec.driver.cores", "greater than or equal to 1"}},
		{"fewer than no executors", "executor.instances", -1, []string{"spec.executor.instances"}},
		{"more cores than an int32 holds", "driver.cores", int64(1) << 31, []string{"spec.driver.cores"}},
		{"a pod name", "driver.podName", "my.driver-1", nil},
		{"a pod name in capitals", "driver.podName", "MyDriver", []string{"spec.driver.podName", "lower case"}},
		{"a pod name that ends with a hyphen", "driver.podName", "driver-", []string{"spec.driver.podName"}},
		{"a template that is no pod", "driver.template", map[string]any{"spec": "none"}, nil},
		{"a template that is no object", "driver.template", "none", []string{"spec.driver.template"}},
		{"an unknown secret type", "driver.secrets",
			[]any{map[string]any{"name": "a", "path": "/a", "secretType": "Other"}}, nil},
		{"a secret without a path", "driver.secrets", []any{map[string]any{"name": "a", "secretType": "Other"}},
			[]string{"secrets[0].path"}},
		{"a sidecar's port by name", "driver.sidecars", sidecar("http"), nil},
		{"a sidecar's port that exceeds an int32", "driver.sidecars", sidecar(int64(1) << 31),
			[]string{"httpGet.port"}},

		{"retries below zero", "restartPolicy", map[string]any{"type": "OnFailure", "onFailureRetries": -1},
			[]string{"onFailureRetries"}},
		{"no interval", "restartPolicy", map[string]any{"onFailureRetryInterval": 0},
			[]string{"onFailureRetryInterval"}},
		{"unknown restart policy", "restartPolicy", map[string]any{"type": "Sometimes"},
			[]string{"spec.restartPolicy.type"}},
		{"backoff", "restartPolicy", map[string]any{"backoff": map[string]any{"factor": 2, "maxSeconds": 60}}, nil},
		{"backoff that shrinks", "restartPolicy", map[string]any{"backoff": map[string]any{"factor": 0}},
			[]string{"backoff.factor"}},
		{"time to live below zero, accepted as by the peer", "timeToLiveSeconds", -5, nil},
		{"a timeout of zero, which means no limit", "timeouts", map[string]any{"runSeconds": 0}, nil},
		{"a timeout below zero", "timeouts", map[string]any{"runSeconds": -1}, []string{"spec.timeouts.runSeconds"}},
		{"unknown submission", "submission", map[string]any{"mode": "Manual"}, []string{"spec.submission.mode"}},
		{"a low port", "monitoring", monitoring(80), []string{"spec.monitoring.prometheus.port"}},
		{"a good port", "monitoring", monitoring(9090), nil},
		{"a route without a parent's name", "sparkUIOptions",
			map[string]any{"route": map[string]any{"parentRefs": []any{map[string]any{}}}},
			[]string{"spec.sparkUIOptions.route.parentRefs[0].name"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, application := load(t, "testdata/application-minimal.json")
			change(application["spec"].(map[string]any), tc.path, tc.value)
			_, errs := schema.Admit(encode(t, application))
			check(t, errs, tc.refused)

			// The template of a schedule has the same rules.
			_, schedule := load(t, "testdata/schedule-minimal.json")
			change(schedule["spec"].(map[string]any)["template"].(map[string]any), tc.path, tc.value)
			_, errs = scheduled.Admit(encode(t, schedule))

			var below []string
			for _, part := range tc.refused {
				below = append(below, strings.Replace(part, "spec.", "spec.template.", 1))
			}

			check(t, errs, below)
		})
	}
}

func TestScheduleAdmission(t *testing.T) {
	schema := admission.Ours(t, schedules, version)
	for _, tc := range []struct {
		name    string
		path    string
		value   any
		refused []string
	}{
		{"no schedule", "schedule", nil, []string{"spec.schedule", "Required"}},
		{"no template", "template", nil, []string{"spec.template", "Required"}},
		{"an invalid schedule, which a condition reports", "schedule", "whenever", nil},
		{"an unknown policy, accepted as by the peer", "concurrencyPolicy", "Maybe", nil},
		{"history below zero", "failedRunHistoryLimit", -1, []string{"spec.failedRunHistoryLimit", "0 keeps no run"}},
		{"a deadline below zero", "startingDeadlineSeconds", -1, []string{"spec.startingDeadlineSeconds"}},
		{"jitter below zero", "jitterSeconds", -1, []string{"spec.jitterSeconds"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, schedule := load(t, "testdata/schedule-minimal.json")
			change(schedule["spec"].(map[string]any), tc.path, tc.value)
			_, errs := schema.Admit(encode(t, schedule))
			check(t, errs, tc.refused)
		})
	}
}

// change sets the field at a dotted path, or removes it if value is nil.
func change(obj map[string]any, path string, value any) {
	for parent, rest, more := strings.Cut(path, "."); more; parent, rest, more = strings.Cut(path, ".") {
		obj, path = obj[parent].(map[string]any), rest
	}

	if value == nil {
		delete(obj, path)
		return
	}

	obj[path] = value
}

func check(t *testing.T, errs field.ErrorList, want []string) {
	t.Helper()

	if want == nil {
		if len(errs) > 0 {
			t.Errorf("refused: %v", errs.ToAggregate())
		}
		return
	}

	if len(errs) == 0 {
		t.Fatal("accepted")
	}

	for _, part := range want {
		if message := errs.ToAggregate().Error(); !strings.Contains(message, part) {
			t.Errorf("refused without a word of %q: %s", part, message)
		}
	}
}

func sidecar(port any) []any {
	probe := map[string]any{"httpGet": map[string]any{"path": "/", "port": port}}
	return []any{map[string]any{"name": "side", "image": "side", "livenessProbe": probe}}
}

func monitoring(port int) map[string]any {
	return map[string]any{"exposeDriverMetrics": true, "exposeExecutorMetrics": true,
		"prometheus": map[string]any{"jmxExporterJar": "/jmx.jar", "port": port}}
}
