package table_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

var now = time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)

// inState returns an object of each kind whose status has a state and a condition Ready.
func inState(state string, ready metav1.ConditionStatus) []client.Object {
	conditions := []metav1.Condition{{Type: "Ready", Status: ready, Reason: "Because", Message: "of <b>this</b>\x1b[31m"}}

	app := &v1beta2.SparkApplication{}
	app.Status.AppState.State, app.Status.Conditions = v1beta2.ApplicationStateType(state), conditions

	schedule := &v1beta2.ScheduledSparkApplication{}
	schedule.Status.ScheduleState, schedule.Status.Conditions = v1beta2.ScheduleState(state), conditions

	server := &v1alpha1.SparkConnect{}
	server.Status.State, server.Status.Conditions = v1alpha1.SparkConnectState(state), conditions

	apache := &sparkv1.SparkApplication{}
	apache.Status.CurrentState, apache.Status.Conditions = &sparkv1.ApplicationState{CurrentStateSummary: sparkv1.ApplicationStateSummary(state)}, conditions

	cluster := &sparkv1.SparkCluster{}
	cluster.Status.CurrentState, cluster.Status.Conditions = &sparkv1.ClusterState{CurrentStateSummary: sparkv1.ClusterStateSummary(state)}, conditions

	objects := []client.Object{app, schedule, server, apache, cluster}
	for _, object := range objects {
		object.SetName("name")
		object.SetNamespace("space")
		object.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
	}
	return objects
}

// TestRowOfEachState checks that each state of each kind has a row whose texts can be shown, and that the row is that
// of the object's summary.
func TestRowOfEachState(t *testing.T) {
	states := strings.Fields(`New SUBMITTED RUNNING COMPLETED FAILED SUBMISSION_FAILED PENDING_RERUN INVALIDATING SUCCEEDING FAILING SUSPENDING SUSPENDED
		RESUMING UNKNOWN Validating Scheduled FailedValidation Provisioning Ready NotReady Failed Submitted ScheduledToRestart DriverRequested DriverStarted
		DriverReady InitializedBelowThresholdExecutors RunningHealthy RunningWithPartialCapacity RunningWithBelowThresholdExecutors DriverStartTimedOut
		ExecutorsStartTimedOut DriverReadyTimedOut Succeeded SchedulingFailure DriverEvicted Suspended ResourceReleased TerminatedWithoutReleaseResources`)

	var seen []string
	for _, state := range append(states, "") {
		for _, ready := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, ""} {
			for i, object := range inState(state, ready) {
				r, s := table.RowOf(object), kube.Summarize(object)

				if r.Kind != kinds.All[i].FullName() || r.State != s.State || r.Result != s.Result || !slices.Contains(screen.Results(), string(r.Result)) {
					t.Errorf("%T in %q: row %+v of summary %+v", object, state, r, s)
				}

				if ready != metav1.ConditionTrue && r.Cause != `of <b>this</b>\x1b[31m` {
					t.Errorf("%T in %q: cause %q, want the message with a visible escape", object, state, r.Cause)
				}

				if text, err := json.Marshal(r); err != nil || len(text) > 1024 {
					t.Errorf("%T in %q: a row of %d bytes: %v", object, state, len(text), err)
				}

				seen = append(seen, r.Kind)
			}
		}
	}

	slices.Sort(seen)

	if kindsSeen := slices.Compact(seen); len(kindsSeen) != len(kinds.All) {
		t.Errorf("only these kinds were tested: %v", kindsSeen)
	}
}

// TestWantedExecutors checks the number of executors that a row shows as wanted.
func TestWantedExecutors(t *testing.T) {
	counts := &statusv1.ExecutorCounts{Running: 3, Pending: 2, Failed: 1}

	for name, c := range map[string]struct {
		change func(*v1beta2.SparkApplication)
		want   int32
	}{
		"by default as in Spark": {func(*v1beta2.SparkApplication) {}, 2},
		"by the field":           {func(a *v1beta2.SparkApplication) { a.Spec.Executor.Instances = new(int32(7)) }, 7},
		"by the configuration": {func(a *v1beta2.SparkApplication) {
			a.Spec.SparkConf = map[string]string{"spark.executor.instances": " 5 "}
		}, 5},
		"by Spark": {func(a *v1beta2.SparkApplication) {
			a.Spec.Executor.Instances, a.Spec.DynamicAllocation = new(int32(7)), &v1beta2.DynamicAllocation{Enabled: true}
		}, 5},
		"none after the end": {func(a *v1beta2.SparkApplication) {
			a.Status.Operator = &statusv1.OperatorStatus{Attempt: 1, EndedAt: &metav1.MicroTime{Time: now}}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			app := &v1beta2.SparkApplication{}
			app.Status.Executors = counts
			c.change(app)

			if r := table.RowOf(app); r.ExecutorsWanted != c.want || r.ExecutorsRunning != 3 || r.ExecutorsFailed != 1 {
				t.Errorf("%d wanted, %d running, %d failed; want %d, 3, 1", r.ExecutorsWanted, r.ExecutorsRunning, r.ExecutorsFailed, c.want)
			}
		})
	}
}

// TestRowsAreSmall checks that a row of an object with the longest labels and message stays small.
func TestRowsAreSmall(t *testing.T) {
	app := &v1beta2.SparkApplication{}
	app.Name, app.Namespace, app.Labels = strings.Repeat("n", 253), strings.Repeat("s", 63), map[string]string{}

	for i := range 1000 {
		app.Labels[strings.Repeat("k", i%200)+string(rune('a'+i%26))] = strings.Repeat("v", 63)
	}

	app.Status.AppState.ErrorMessage = strings.Repeat("message ", 100_000)

	text, err := json.Marshal(table.RowOf(app))
	if err != nil || len(text) > 5000 {
		t.Errorf("a row of %d bytes: %v", len(text), err)
	}
}

// TestLabelsOfRows checks that each event of an object with many labels gives its row the same labels.
func TestLabelsOfRows(t *testing.T) {
	app, want := &v1beta2.SparkApplication{}, map[string]string{}
	app.Labels = map[string]string{"aa": strings.Repeat("v", 200)} // too long

	for i := range 26 {
		key := string(rune('a' + i))
		if app.Labels[key] = "v"; i < 16 {
			want[key] = "v"
		}
	}

	for range 20 {
		if got := table.RowOf(app).Labels; !maps.Equal(got, want) {
			t.Fatalf("the labels are %v", got)
		}
	}
}

// TestCost checks that the cost of a running object grows, and that of an ended one does not.
func TestCost(t *testing.T) {
	app := &v1beta2.SparkApplication{}
	app.Status.Operator = &statusv1.OperatorStatus{Attempt: 1, Usage: &statusv1.OperatorUsage{
		Time:   new(metav1.NewTime(now)),
		Driver: statusv1.UsageOfPods{UsageSums: statusv1.UsageSums{CostNanos: 100}, Requested: statusv1.UsageRate{CostNanos: 2, CPUMillicores: 500, MemoryMiB: 3}},
	}}

	r := table.RowOf(app)
	if got := r.Cost(now.Add(10 * time.Second)); got != 120 || r.CPUMillis != 500 || r.MemoryBytes != 3<<20 {
		t.Errorf("cost %d, CPU %d, memory %d; want 120, 500, 3 MiB", got, r.CPUMillis, r.MemoryBytes)
	}

	app.Status.Operator.EndedAt = &metav1.MicroTime{Time: now}

	if r = table.RowOf(app); r.Cost(now.Add(10*time.Second)) != 100 || r.CPUMillis != 0 {
		t.Errorf("after the end: cost %d, CPU %d; want 100, 0", r.Cost(now.Add(10*time.Second)), r.CPUMillis)
	}
}

// TestTextsAreClean checks that no text of an object reaches its page with a control character.
func TestTextsAreClean(t *testing.T) {
	const hostile = "a\x1b]0;title\x07\u202eb\nc"

	for _, object := range inState(hostile, metav1.ConditionFalse) {
		object.SetLabels(map[string]string{"team": hostile, v1beta2.ScheduledAppNameLabel: hostile})

		page := model.ObjectOf(object, nil, nil)
		check(t, reflect.ValueOf(page), "page")
	}
}

// check fails for each text in a value that has a control character.
func check(t *testing.T, v reflect.Value, path string) {
	t.Helper()

	switch v.Kind() {
	case reflect.String:
		if strings.ContainsAny(v.String(), "\x1b\x07\u202e\n") {
			t.Errorf("%s: %q", path, v.String())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				check(t, v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			check(t, v.Index(i), path)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			check(t, key, path)
			check(t, v.MapIndex(key), path)
		}
	}
}
