package screen

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const failure = "driver container ended with exit code 1: ModuleNotFoundError: No module named 'pandas'"

var now = time.Date(2026, 11, 28, 19, 0, 0, 0, time.UTC)

// failed returns an application that has failed, with n entries in each of its lists.
func failed(n int) (*v1beta2.SparkApplication, []corev1.Pod, []corev1.Event) {
	at := func(minutes int) metav1.MicroTime {
		return metav1.NewMicroTime(now.Add(time.Duration(minutes-60) * time.Minute))
	}
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "report", Generation: 1,
		CreationTimestamp: metav1.NewTime(at(0).Time)}}
	app.SetGroupVersionKind(kinds.Of(app).GroupVersionKind)

	begin, end := at(10), at(30)
	app.Status.ObservedGeneration = 1
	app.Status.AppState = v1beta2.ApplicationState{State: v1beta2.ApplicationStateFailed, ErrorMessage: failure}
	app.Status.Executors = &statusv1.ExecutorCounts{Failed: int32(n)}
	app.Status.Operator = &statusv1.OperatorStatus{Attempt: 2, SubmittedAt: &begin, EndedAt: &end,
		Cause: &statusv1.OperatorCause{
			Reason: "ModuleNotFound", Message: failure}}
	var pods []corev1.Pod

	var events []corev1.Event
	for i := range n {
		moment := at(i % 30)
		app.Status.Operator.History = append(app.Status.Operator.History,
			statusv1.OperatorTransition{Phase: fmt.Sprint("Phase", i), At: &moment, Attempt: 1})
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("report-exec-", i)},
			Status: corev1.PodStatus{Phase: corev1.PodRunning}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}},
			}})
		events = append(events, corev1.Event{Reason: "Failed", Message: strings.Repeat("text ", n) + failure,
			LastTimestamp: metav1.NewTime(moment.Time)})
		app.Status.Conditions = append(app.Status.Conditions,
			metav1.Condition{Type: fmt.Sprint("Other", i), Status: "True", Reason: "R",
				Message: strings.Repeat("text ", n)})
	}

	for _, kind := range []string{"Submitted", "Stalled", "Failed", "Ready"} {
		status := metav1.ConditionTrue
		if kind == "Ready" {
			status = metav1.ConditionFalse
		}

		app.Status.Conditions = append(app.Status.Conditions,
			metav1.Condition{Type: kind, Status: status, Reason: "ModuleNotFound", Message: failure})
	}
	return app, pods, events
}

// TestStatusFitsTheScreen checks that the screen has at most 40 lines, or those of a lower terminal, however much there
// is to show and however narrow the terminal is, and that it begins with the cause and the way out. Each list ends with
// its last entry.
func TestStatusFitsTheScreen(t *testing.T) {
	for _, n := range []int{1, 2, 5, 10, 20, 50, 1000} {
		app, pods, events := failed(n)
		r := NewReport(now, app, pods, events)

		r.Advice, r.Log = strings.Repeat("install the package in the image, ", min(n, 7)),
			strings.Repeat("a line of the log\n", n-1)+"the last line of the log"
		for _, lines := range []int{MaxLines, 23} {
			for _, width := range []int{0, 40, 60, 80, 100, 120, 200} {
				v := View{Width: width, Lines: lines, Now: now}

				text := Status(&r, v)
				if rows := v.rows(text); rows > lines || !strings.HasSuffix(text, "\n") {
					t.Errorf("%d entries, %d columns: %d lines, want %d:\n%s", n, width, rows, lines, text)
				}

				words := strings.Join(strings.Fields(text), " ")
				if !strings.HasPrefix(words, "name: jobs/report kind: SparkApplication") ||
					strings.Count(words, failure) != 1 || !strings.Contains(words, "do: install the package") {
					t.Errorf("%d entries, %d columns:\n%s", n, width, text)
				}

				if lines == MaxLines && width >= 80 &&
					(strings.Count(words, "the last line of the log") != 1 ||
						!strings.Contains(words, "Ready False, ModuleNotFound")) {
					t.Errorf("%d entries, %d columns:\n%s", n, width, text)
				}
			}
		}
	}
}

// TestTextsOfOthersFitTheScreen checks the same for a status that an earlier version of the operator wrote, or another
// operator: its message has many lines.
func TestTextsOfOthersFitTheScreen(t *testing.T) {
	app, pods, events := failed(3)

	app.Status.AppState.ErrorMessage = strings.Repeat("a line of an old message\n", 100)
	for i := range app.Status.Conditions {
		app.Status.Conditions[i].Message = app.Status.AppState.ErrorMessage
	}

	for _, width := range []int{0, 40, 80, 200} {
		v := View{Width: width, Lines: MaxLines, Now: now}

		r := NewReport(now, app, pods, events)
		if text := Status(&r, v); v.rows(text) > MaxLines || !strings.Contains(text, "events") && width > 40 ||
			len(text) > 8000 {
			t.Errorf("%d columns:\n%s", width, text)
		}
	}
}

// TestTimesOnTheScreen checks that times have a date and a zone, and that durations are those of the attempt and of all
// attempts together. Retries and waits lie between them.
func TestTimesOnTheScreen(t *testing.T) {
	app, _, _ := failed(1)
	zone := time.Local
	t.Cleanup(func() { time.Local = zone })

	time.Local = time.FixedZone("", 5400)

	r := NewReport(now, app, nil, nil)
	for utc, wants := range map[bool][]string{
		true: {"created:   2026-11-28T18:00:00Z, 60m ago\n", "started:   2026-11-28T18:10:00Z, 50m ago\n",
			"ended:     2026-11-28T18:30:00Z, 30m ago\n", "duration:  20m, in total 30m\n",
			"  2026-11-28T18:00:00Z  Phase0"},
		false: {"created:   2026-11-28T19:30:00+01:30, 60m ago\n", "  2026-11-28T19:30:00+01:30  Phase0"},
	} {
		text := Status(&r, View{Zone: Zone{utc}, Now: now})
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("utc %t: the screen lacks %q:\n%s", utc, want, text)
			}
		}
	}

	schedule := &v1beta2.ScheduledSparkApplication{Spec: v1beta2.ScheduledSparkApplicationSpec{Schedule: "0 2 * * *"}}
	schedule.Status.NextRun, schedule.Status.LastRunName = metav1.NewTime(now.Add(7*time.Hour)), "nightly-1"

	r = NewReport(now, schedule, nil, nil)
	if text := Status(&r, View{Zone: Zone{true}, Now: now}); !strings.Contains(text,
		"next run:  2026-11-29T02:00:00Z, in 7h\ndetail:    at 0 2 * * *, last run nightly-1\n") {
		t.Errorf("the screen of a schedule:\n%s", text)
	}
}

// TestConditionsHaveOneOrder checks that the conditions of all kinds are shown in the same order.
func TestConditionsHaveOneOrder(t *testing.T) {
	var conditions []metav1.Condition
	for _, kind := range []string{"Zebra", "Submitted", "Progressing", "Running", "Aardvark", "Exposed", "Degraded",
		"Ready"} {
		conditions = append(conditions, metav1.Condition{Type: kind, Status: "True", Reason: "R"})
	}

	objects := []client.Object{&v1beta2.SparkApplication{}, &v1beta2.ScheduledSparkApplication{},
		&v1alpha1.SparkConnect{}, &sparkv1.SparkApplication{}, &sparkv1.SparkCluster{}}
	for _, object := range objects {
		reflect.ValueOf(object).Elem().FieldByName("Status").FieldByName("Conditions").Set(reflect.ValueOf(conditions))
		r := NewReport(now, object, nil, nil)
		text := Status(&r, View{Now: now})

		last := -1
		for _, kind := range []string{"Ready", "Degraded", "Running", "Submitted", "Progressing", "Exposed", "Aardvark",
			"Zebra"} {
			if at := strings.Index(text, "\n  "+kind+" "); at <= last {
				t.Errorf("%T: the condition %s is not in its place:\n%s", object, kind, text)
			} else {
				last = at
			}
		}
	}
}

// TestShapesAreDocumented checks that docs/terminal.md lists every field of the JSON that status and explain print.
func TestShapesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/terminal.md")
	if err != nil {
		t.Fatal(err)
	}

	app, pods, events := failed(2)
	r := NewReport(now, app, pods, events)

	r.Explanation = Explanation(now, Zone{}, app, pods, events, lifecycle.Plan{})
	for _, field := range fields(reflect.TypeOf(r)) {
		if !strings.Contains(string(page), "`"+field+"`") {
			t.Errorf("docs/terminal.md lacks the field %s", field)
		}
	}

	text, err := Encode(r, "json")
	if known := map[string]any{}; err != nil || json.Unmarshal(text, &known) != nil ||
		known["kind"] != "SparkApplication" || known["result"] != "failed" || known["explanation"] == nil {
		t.Errorf("%v, %s", err, text)
	}

	if text, err := Encode(r, "yaml"); err != nil || !strings.Contains(string(text), "\nresult: failed\n") {
		t.Errorf("%v, %s", err, text)
	}
}

// fields returns the JSON names of the fields of a struct and of the structs of sparkctl in it.
func fields(of reflect.Type) (names []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")

		inner := field.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}

		switch {
		case name == "-":
			continue
		case name != "":
			names = append(names, name)
		}

		if inner.Kind() == reflect.Struct && (name == "" || (strings.Contains(inner.PkgPath(), "cli/screen") || strings.Contains(inner.PkgPath(), "cli/startup"))) {
			names = append(names, fields(inner)...)
		}
	}
	return names
}
