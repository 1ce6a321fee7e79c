package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestLatestWarning(t *testing.T) {
	event := func(kind, reason string, seconds int, change ...func(*corev1.Event)) corev1.Event {
		e := corev1.Event{
			InvolvedObject: corev1.ObjectReference{UID: "u"}, Type: kind, Reason: reason, Message: reason + " message",
			LastTimestamp: metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second)),
		}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	const normal, warning = corev1.EventTypeNormal, corev1.EventTypeWarning
	for _, test := range []struct {
		name   string
		events []corev1.Event
		want   string
	}{
		{"none", nil, ""},
		{"a warning", []corev1.Event{event(normal, "Scheduled", 0), event(warning, "FailedMount", 1)}, "FailedMount"},
		{"the order of the list does not matter", []corev1.Event{event(warning, "FailedMount", 1), event(normal, "Scheduled", 0)}, "FailedMount"},
		{"the latest warning", []corev1.Event{event(warning, "FailedMount", 1), event(warning, "FailedScheduling", 0)}, "FailedMount"},
		{"overcome", []corev1.Event{event(warning, "FailedScheduling", 0), event(normal, "Scheduled", 5)}, ""},
		{"in the same second a warning wins", []corev1.Event{event(warning, "FailedMount", 1), event(normal, "Scheduled", 1)}, "FailedMount"},
		{"of another pod", []corev1.Event{event(warning, "FailedMount", 1, func(e *corev1.Event) { e.InvolvedObject.UID = "v" })}, ""},
		{"by the newer API", []corev1.Event{event(normal, "Scheduled", 2), event(warning, "FailedScheduling", 0, func(e *corev1.Event) {
			e.LastTimestamp, e.EventTime = metav1.Time{}, metav1.NewMicroTime(noon.Add(3*time.Second))
		})}, "FailedScheduling"},
		{"of a series", []corev1.Event{event(normal, "Scheduled", 2), event(warning, "FailedScheduling", 0, func(e *corev1.Event) {
			e.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(noon.Add(9 * time.Second))}
		})}, "FailedScheduling"},
	} {
		want := lifecycle.Cause{}
		if test.want != "" {
			want = lifecycle.Cause{Reason: test.want, Message: test.want + " message"}
		}
		if diff := cmp.Diff(want, latestWarning(test.events, "u")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestPendingDriverIsExplained: a cause that only an Event tells comes into the status, and goes when it is overcome.
func TestPendingDriverIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runTiny(tinyKind())
	w.application("pi")
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	driver := w.waitPod("pi-driver")
	tell := func(name, kind, reason, message string) {
		w.create(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.namespace, Name: driver.Name, UID: driver.UID},
			Type:           kind, Reason: reason, Message: message,
			LastTimestamp: metav1.NewTime(time.Now().Add(time.Second)), // later than what was told before, to the second
		})
	}
	tell("mount", corev1.EventTypeWarning, "FailedMount", `secret "missing" not found`)
	w.waitCause("pi", "FailedMount")
	if message := w.get("pi").Status.AppState.ErrorMessage; message != `secret "missing" not found` {
		t.Errorf("the message is %q", message)
	}
	w.kubelet("pi-driver", corev1.PodPending, waiting("ImagePullBackOff", "no such image"))
	w.waitCause("pi", "ImagePullBackOff")
	w.kubelet("pi-driver", corev1.PodRunning, running())
	w.waitState("pi", v1beta2.ApplicationStateRunning)
}

// TestYoungPendingDriverIsLeftAlone: most drivers are pending for a moment only; nobody is asked why before that has passed.
func TestYoungPendingDriverIsLeftAlone(t *testing.T) {
	for _, test := range []struct {
		name   string
		driver lifecycle.Driver
		age    time.Duration
		check  time.Duration
	}{
		{"young", lifecycle.Driver{Phase: lifecycle.DriverPending}, 500 * time.Millisecond, 1500 * time.Millisecond},
		{"of a clock ahead of ours", lifecycle.Driver{Phase: lifecycle.DriverPending}, -time.Hour, pendingGrace},
		{"made by spark-submit", lifecycle.Driver{Phase: lifecycle.DriverPending, Submitter: "s"}, 3 * time.Second, 7 * time.Second},
		{"explained by its status", lifecycle.Driver{Phase: lifecycle.DriverPending, Why: lifecycle.Cause{Reason: "Unschedulable"}}, time.Hour, 0},
		{"going", lifecycle.Driver{Phase: lifecycle.DriverPending, Deleting: true}, time.Hour, 0},
		{"running", lifecycle.Driver{Phase: lifecycle.DriverRunning}, time.Hour, 0},
	} {
		test.driver.CreatedAt = noon.Add(-test.age)
		p := &pass{now: noon, seen: lifecycle.Observed{Drivers: []lifecycle.Driver{test.driver}}}
		r := &Reconciler{} // no API server to ask
		if r.explainPending(t.Context(), p); p.check != test.check {
			t.Errorf("%s: look again after %s, want %s", test.name, p.check, test.check)
		}
	}
}

// TestEventsThatCannotBeRead: a right that is missing costs the explanation, not the pass, and is logged once.
func TestEventsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.environment().Log
	r := &Reconciler{live: w.powerless()}
	p := &pass{now: noon, stored: &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}}}
	for range 2 {
		p.seen.Drivers = []lifecycle.Driver{
			{Name: "one", UID: "1", Phase: lifecycle.DriverPending, CreatedAt: noon.Add(-time.Minute)},
			{Name: "two", UID: "2", Phase: lifecycle.DriverPending, CreatedAt: noon.Add(-time.Minute)},
		}
		p.check = 0
		if r.explainPending(ctrllog.IntoContext(t.Context(), log), p); p.check != lifecycle.AskAgain(0) {
			t.Errorf("look again after %s", p.check)
		}
	}
	if got := w.log.String(); strings.Count(got, "cannot be read") != 1 || !strings.Contains(got, "forbidden") {
		t.Errorf("logged:\n%s", got)
	}
}
