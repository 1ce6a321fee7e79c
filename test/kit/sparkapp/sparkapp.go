// Package sparkapp makes SparkApplications of sparkoperator.k8s.io for tests. launch.go decodes the objects of a
// launch, so that tests can describe the expected objects in YAML.
package sparkapp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// T0 is the time of tests.
var T0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Sample returns a valid SparkApplication to which the given changes are applied.
func Sample(change ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{}
	app.Name, app.Namespace, app.UID, app.Generation = "pi", "jobs", "11111111-2222-4333-8444-555555555555", 1
	app.Spec = v1beta2.SparkApplicationSpec{
		Type: v1beta2.SparkApplicationTypeJava, Mode: v1beta2.DeployModeCluster, SparkVersion: "4.1.4", Image: new("spark:4.1.4"),
		MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
	}

	app.Spec.Executor.Instances = new(int32(2))
	for _, c := range change {
		c(app)
	}
	return app
}

// Of returns a small application with pieces of YAML merged into it.
func Of(t testing.TB, pieces ...string) *v1beta2.SparkApplication {
	t.Helper()

	whole := fieldtable.Plain(t, Sample())
	for _, piece := range pieces {
		var over map[string]any
		if err := yaml.Unmarshal([]byte(piece), &over); err != nil {
			t.Fatalf("%v in\n%s", err, piece)
		}

		fieldtable.Merge(whole, over)
	}

	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}

	app := &v1beta2.SparkApplication{}
	if err := yaml.UnmarshalStrict(text, app); err != nil {
		t.Fatalf("%v in\n%s", err, strings.Join(pieces, "\n"))
	}
	return app
}

// MissingParts compares a decoded JSON value with a wanted one, and returns a message for each wanted part that is
// missing. Maps and lists of the value may have further entries, but the wanted entries of a list must be in the same
// order.
func MissingParts(actual, wanted any, at string) []string {
	switch w := wanted.(type) {
	case map[string]any:
		h, _ := actual.(map[string]any)

		var missing []string
		for key, below := range w {
			missing = append(missing, MissingParts(h[key], below, at+"."+key)...)
		}
		return missing
	case []any:
		h, _ := actual.([]any)
		for i, below := range w {
			found := slices.IndexFunc(h, func(entry any) bool { return len(MissingParts(entry, below, "")) == 0 })
			if found < 0 {
				return []string{fmt.Sprintf("%s[%d]: no %v follows in %v", at, i, below, actual)}
			}

			h = h[found+1:]
		}
		return nil
	}

	if fmt.Sprint(actual) != fmt.Sprint(wanted) {
		return []string{fmt.Sprintf("%s is %v, want %v", at, actual, wanted)}
	}
	return nil
}

// Duplicates returns the lists of a pod that contain an entry twice. Two entries are duplicates if they have the same
// mount path, name or UID. For environment variables, the values must be equal too, because Kubernetes permits two
// variables with the same name and uses the last one.
func Duplicates(pod map[string]any) (found []string) {
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, below := range v {
				walk(at+"."+key, below)
			}
		case []any:
			seen := map[string]bool{}
			for _, entry := range v {
				text := fmt.Sprint(entry)
				if e, ok := entry.(map[string]any); ok && !strings.HasSuffix(at, ".env") {
					for _, key := range []string{"mountPath", "name", "uid"} {
						if e[key] != nil {
							text = fmt.Sprint(e[key])
							break
						}
					}
				}

				if seen[text] {
					found = append(found, at+": "+text)
				}

				seen[text] = true

				walk(at, entry)
			}
		}
	}
	walk("", pod["spec"])
	walk(".metadata", pod["metadata"])
	return found
}

// In returns the memory of an application whose first attempt is in the given phase, with the given changes.
func In(phase lifecycle.Phase, change ...func(*lifecycle.Memory)) lifecycle.Memory {
	m := lifecycle.Memory{Phase: phase, Attempt: 1, AttemptID: "id", Runs: 1, Submissions: 1}
	for _, c := range change {
		c(&m)
	}
	return m
}

// Ended is a change of a memory: the attempt has ended with the given outcome.
func Ended(o lifecycle.Outcome) func(*lifecycle.Memory) {
	return func(m *lifecycle.Memory) {
		m.Outcome, m.Cause = o, lifecycle.Cause{Reason: "R", Message: "why"}
		if o == lifecycle.Refused {
			m.Runs = 0
		}
	}
}

// RoundTrip encodes a status as JSON and decodes it again, as the API server would return it.
func RoundTrip(t testing.TB, s *v1beta2.SparkApplicationStatus) {
	t.Helper()

	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}

	*s = v1beta2.SparkApplicationStatus{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
}

// WithConf returns a change that adds keys and values to sparkConf.
func WithConf(pairs ...string) func(*v1beta2.SparkApplication) {
	return func(a *v1beta2.SparkApplication) {
		a.Spec.SparkConf = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			a.Spec.SparkConf[pairs[i]] = pairs[i+1]
		}
	}
}

// EveryDefault returns settings that contain a default of each kind.
func EveryDefault() *platform.Settings {
	pod := func() platform.Pod {
		return platform.Pod{
			Labels: map[string]string{"team": "platform"}, Annotations: map[string]string{"note": "platform"}, NodeSelector: map[string]string{"disk": "platform"},
			Tolerations: []corev1.Toleration{{Key: "spot"}}, PriorityClassName: "platform", Env: []corev1.EnvVar{{Name: "REGION", Value: "platform"}},
			SecurityContext: &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}, PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(7))},
		}
	}
	return &platform.Settings{
		Version: "v1", SparkConf: map[string]string{"spark.sql.ansi.enabled": "true", "spark.eventLog.dir": "s3a://platform"},
		Images: map[string]string{"4.1": "platform:4.1", "": "platform"}, PullSecrets: []string{"platform"}, Driver: pod(), Executor: pod(),
		Timeouts: platform.Timeouts{DriverStartSeconds: new(int64(1)), RunSeconds: new(int64(0))}, TimeToLiveSeconds: new(int64(60)),
	}
}

// Asks reports whether a plan requests a live read (lifecycle.Confirm).
func Asks(plan lifecycle.Plan) bool {
	for _, a := range plan.Actions {
		if a.Verb == lifecycle.Confirm {
			return true
		}
	}
	return false
}

// CheckShape checks that the API server would accept the status, and that the status has the properties that clients of
// this API rely on.
func CheckShape(t testing.TB, app *v1beta2.SparkApplication) {
	s := app.Status
	if len(s.Operator.History) > v1beta2.MaxHistory || len(s.ExecutorState) > 3 {
		t.Fatalf("%d transitions, %d executors in the status", len(s.Operator.History), len(s.ExecutorState))
	}

	ready := 0
	for _, c := range s.Conditions {
		if dialect.UsableReason(c.Reason) != c.Reason || c.LastTransitionTime.IsZero() || len(c.Message) > 32768 {
			t.Fatalf("an API server would reject the condition %+v", c)
		}

		if c.Type == dialect.ConditionReady {
			ready++
		}
	}

	if ready != 1 {
		t.Fatalf("%d Ready conditions", ready)
	}
}

// WithAgent and WithServlet are YAML that enables monitoring for driver and executors, by the JMX exporter or by
// Spark's servlet.
const (
	WithAgent   = `spec: {monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheus: {jmxExporterJar: /a.jar}}}`
	WithServlet = `spec: {monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true, prometheusServlet: true}}`
)
