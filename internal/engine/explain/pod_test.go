package explain

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	pi   = types.NamespacedName{Namespace: "n", Name: "pi"}
)

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
		{"no events", nil, ""},
		{"a warning", []corev1.Event{event(normal, "Scheduled", 0), event(warning, "FailedMount", 1)}, "FailedMount"},
		{"the order of the list does not matter",
			[]corev1.Event{event(warning, "FailedMount", 1), event(normal, "Scheduled", 0)}, "FailedMount"},
		{"the latest warning", []corev1.Event{event(warning, "FailedMount", 1), event(warning, "FailedScheduling", 0)},
			"FailedMount"},
		{"a normal event after the warning",
			[]corev1.Event{event(warning, "FailedScheduling", 0), event(normal, "Scheduled", 5)}, ""},
		{"a warning and a normal event in the same second",
			[]corev1.Event{event(warning, "FailedMount", 1), event(normal, "Scheduled", 1)}, "FailedMount"},
		{"a warning about another pod",
			[]corev1.Event{event(warning, "FailedMount", 1, func(e *corev1.Event) { e.InvolvedObject.UID = "v" })}, ""},
		{"an event of the newer API",
			[]corev1.Event{event(normal, "Scheduled", 2), event(warning, "FailedScheduling", 0, func(e *corev1.Event) {
				e.LastTimestamp, e.EventTime = metav1.Time{}, metav1.NewMicroTime(noon.Add(3*time.Second))
			})}, "FailedScheduling"},
		{"an event series", []corev1.Event{event(normal, "Scheduled", 2),
			event(warning, "FailedScheduling", 0, func(e *corev1.Event) {
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

// warnings is a reader that stands in for the API server: it has one warning Event for each pod UID. The tests of
// package controller read Events from a real API server.
type warnings struct {
	client.Reader
	causes map[types.UID]string
	err    error
	lists  int
}

func (w *warnings) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	w.lists++
	var asked client.ListOptions
	asked.ApplyOptions(options)

	uid, _ := asked.FieldSelector.RequiresExactMatch("involvedObject.uid")
	if reason := w.causes[types.UID(uid)]; reason != "" && asked.Namespace == pi.Namespace {
		list.(*corev1.EventList).Items = []corev1.Event{
			{InvolvedObject: corev1.ObjectReference{UID: types.UID(uid)}, Type: corev1.EventTypeWarning, Reason: reason,
				Message: "of " + uid},
		}
	}
	return w.err
}

// query finds the wait reasons of pending pods as a pass does. It returns the time until the next query.
func query(ctx context.Context, e *Explainer, seen *lifecycle.Observed, executors, members []corev1.Pod,
	now time.Time) (again time.Duration) {
	for _, pod := range Pods(seen, executors, members) {
		answer := e.Pod(ctx, pi, pod, now)
		if *pod.Why = answer.Cause; again == 0 || answer.QueryAfter < again {
			again = answer.QueryAfter
		}
	}
	return again
}

// TestYoungPendingDriverIsLeftAlone checks that no Events are read before the grace period is over, because most
// drivers are pending only briefly.
func TestYoungPendingDriverIsLeftAlone(t *testing.T) {
	for _, test := range []struct {
		name   string
		driver lifecycle.Driver
		age    time.Duration
		check  time.Duration
	}{
		{"pending for half a second", lifecycle.Driver{Phase: lifecycle.DriverPending}, 500 * time.Millisecond,
			1500 * time.Millisecond},
		{"created in the future", lifecycle.Driver{Phase: lifecycle.DriverPending}, -time.Hour, pendingGrace},
		{"created by spark-submit", lifecycle.Driver{Phase: lifecycle.DriverPending, Submitter: "s"}, 3 * time.Second,
			7 * time.Second},
		{"wait reason in the status",
			lifecycle.Driver{Phase: lifecycle.DriverPending, Why: lifecycle.Cause{Reason: "Unschedulable"}},
			time.Hour, 0},
		{"being deleted", lifecycle.Driver{Phase: lifecycle.DriverPending, Deleting: true}, time.Hour, 0},
		{"running", lifecycle.Driver{Phase: lifecycle.DriverRunning}, time.Hour, 0},
	} {
		test.driver.CreatedAt = noon.Add(-test.age)
		seen := lifecycle.Observed{Drivers: []lifecycle.Driver{test.driver}}
		// The explainer has no API server, so a read would panic.
		if again := query(t.Context(), New(nil, nil, nil), &seen, nil, nil, noon); again != test.check {
			t.Errorf("%s: look again after %s, want %s", test.name, again, test.check)
		}
	}
}

// TestEventsThatCannotBeRead checks that a missing right costs only the explanation and not the pass, and that it is
// logged once.
func TestEventsThatCannotBeRead(t *testing.T) {
	var log strings.Builder
	ctx := ctrllog.IntoContext(t.Context(),
		funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{}))

	e := New(&warnings{err: errors.New("forbidden")}, nil, nil)
	for range 2 {
		seen := lifecycle.Observed{Drivers: []lifecycle.Driver{
			{Name: "one", UID: "1", Phase: lifecycle.DriverPending, CreatedAt: noon.Add(-time.Minute)},
			{Name: "two", UID: "2", Phase: lifecycle.DriverPending, CreatedAt: noon.Add(-time.Minute)},
		}}
		if again := query(ctx, e, &seen, nil, nil, noon); again != lifecycle.QueryInterval(0) {
			t.Errorf("look again after %s", again)
		}
	}

	if got := log.String(); strings.Count(got, "Could not read the events") != 1 ||
		!strings.Contains(got, "forbidden") {
		t.Errorf("logged:\n%s", got)
	}
}

// pendingPod returns a pod that, at noon, has been pending for the given duration.
func pendingPod(name, uid string, age time.Duration, change ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pi.Namespace, Name: name, UID: types.UID(uid),
			CreationTimestamp: metav1.NewTime(noon.Add(-age))},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, c := range change {
		c(&pod)
	}
	return pod
}

// TestOfThoseThatWaitOneIsExplained checks that Events are read only for the oldest pending pod without a wait reason,
// and at most every few seconds. It checks this for executors and for the pods of a standalone cluster.
func TestOfThoseThatWaitOneIsExplained(t *testing.T) {
	running := func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }
	deleting := func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(noon)) }
	tells := func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	}

	oldest := pendingPod("exec-1", "old", time.Minute)
	for _, test := range []struct {
		name    string
		pods    []corev1.Pod
		driver  lifecycle.DriverPhase
		attempt int32
		why     map[string]string
		lists   int
		again   time.Duration
	}{
		{"the oldest", []corev1.Pod{pendingPod("exec-2", "young", 20*time.Second), oldest}, lifecycle.DriverRunning, 0,
			map[string]string{"exec-1": "FailedMount"}, 1, 4 * time.Second},
		{"pending for hours", []corev1.Pod{pendingPod("exec-1", "old", 9*time.Hour)}, lifecycle.DriverRunning, 0,
			map[string]string{"exec-1": "FailedMount"}, 1, time.Minute},
		{"pending for a few seconds", []corev1.Pod{pendingPod("exec-1", "old", 4*time.Second)}, lifecycle.DriverRunning,
			0, nil, 0, 6 * time.Second},
		{"created in the future", []corev1.Pod{pendingPod("exec-1", "old", -time.Hour)}, lifecycle.DriverRunning, 0,
			nil, 0, submittedGrace},
		{"another executor with a wait reason", []corev1.Pod{oldest, pendingPod("exec-3", "loud", time.Minute, tells)},
			lifecycle.DriverRunning, 0, map[string]string{"exec-3": "ImagePullBackOff"}, 0, 0},
		{"a pod that is being deleted", []corev1.Pod{pendingPod("exec-1", "old", time.Minute, deleting)},
			lifecycle.DriverRunning, 0, nil, 0, 0},
		{"a pod that runs", []corev1.Pod{pendingPod("exec-1", "old", time.Minute, running)}, lifecycle.DriverRunning, 0,
			nil, 0, 0},
		{"an executor of another attempt", []corev1.Pod{oldest}, lifecycle.DriverRunning, 2, nil, 0, 0},
		{"driver ended", []corev1.Pod{oldest}, lifecycle.DriverFailed, 0, nil, 0, 0},
		{"no warning", []corev1.Pod{pendingPod("exec-4", "silent", time.Minute)}, lifecycle.DriverRunning, 0, nil, 1,
			4 * time.Second},
		{"no executors", nil, lifecycle.DriverRunning, 0, nil, 0, 0},
		{"pods of a cluster", []corev1.Pod{pendingPod("exec-2", "young", 20*time.Second), oldest}, "", 0,
			map[string]string{"exec-1": "FailedMount"}, 1, 4 * time.Second},
		{"another pod of the cluster with a wait reason",
			[]corev1.Pod{oldest, pendingPod("exec-3", "loud", time.Minute, tells)}, "", 0,
			map[string]string{"exec-3": "ImagePullBackOff"}, 0, 0},
		{"a pod of a cluster that is being deleted", []corev1.Pod{pendingPod("exec-1", "old", time.Minute, deleting)},
			"", 0, nil, 0, 0},
	} {
		reads := &warnings{causes: map[types.UID]string{"old": "FailedMount", "young": "OfAnother"}}

		e := New(reads, nil, nil)
		for range 3 { // only the first round reads
			seen, executors, members := lifecycle.Observed{}, test.pods, test.pods
			if test.driver != "" {
				members = nil
				seen.Drivers = []lifecycle.Driver{{Attempt: test.attempt, Phase: test.driver}}
			} else {
				executors = nil
			}

			for i := range executors {
				seen.Executors = append(seen.Executors, lifecycle.ExecutorFacts(&executors[i]))
			}

			for i := range members {
				seen.Members = append(seen.Members, lifecycle.MemberFacts(&members[i]))
			}

			again := query(t.Context(), e, &seen, executors, members, noon)

			why := map[string]string{}
			for _, executor := range seen.Executors {
				why[executor.Name] = executor.Why.Reason
			}

			for _, member := range seen.Members {
				why[member.Name] = member.Why.Reason
			}

			for name, reason := range why {
				if reason != test.why[name] {
					t.Errorf("%s: %s waits for %q, want %q", test.name, name, reason, test.why[name])
				}
			}

			if again != test.again {
				t.Errorf("%s: look again after %s, want %s", test.name, again, test.again)
			}
		}

		if reads.lists != test.lists {
			t.Errorf("%s: %d reads, want %d", test.name, reads.lists, test.lists)
		}
	}
}

// TestPodIsAskedAboutAgain checks that an explanation is refreshed after a while, and that the last explanation is kept
// if the Events cannot be read.
func TestPodIsAskedAboutAgain(t *testing.T) {
	reads := &warnings{causes: map[types.UID]string{}}
	e := New(reads, nil, nil)
	ask := func(after time.Duration) string {
		seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{UID: "d", Phase: lifecycle.DriverPending,
			CreatedAt: noon}}}
		query(t.Context(), e, &seen, nil, nil, noon.Add(after))
		return seen.Drivers[0].Why.Reason
	}
	first := ask(20 * time.Second)
	reads.causes["d"] = "FailedMount"
	second, third := ask(23*time.Second), ask(24*time.Second)
	reads.err = errors.New("forbidden")

	if got, want := [4]string{first, second, third, ask(40 * time.Second)},
		[4]string{"", "", "FailedMount", "FailedMount"}; got != want {
		t.Errorf("told %q, want %q", got, want)
	}

	if e.Forget(pi); ask(40*time.Second) != "" || reads.lists != 4 {
		t.Errorf("what was forgotten is told; %d reads", reads.lists)
	}
}

// TestNobodyIsAskedWhoIsBusy checks that Pod returns its last answer while the Allowance allows no request. If Pod has
// no last answer, it must return an answer that is marked as Skipped.
func TestNobodyIsAskedWhoIsBusy(t *testing.T) {
	reads := &warnings{causes: map[types.UID]string{"d": "FailedMount"}}
	busy := &Allowance{}
	e := New(reads, nil, busy)
	ask := func(after time.Duration) Answer {
		seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{UID: "d", Phase: lifecycle.DriverPending,
			CreatedAt: noon}}}
		return e.Pod(t.Context(), pi, Pods(&seen, nil, nil)[0], noon.Add(after))
	}
	owe := func() { busy.all, busy.namespaces = account{owed: owedMost, at: time.Now()}, nil }
	owe()

	if got := ask(20 * time.Second); got.Cause.Reason != "" || !got.Skipped ||
		got.QueryAfter != lifecycle.QueryInterval(0) || reads.lists != 0 {
		t.Errorf("without a request and a last answer: %+v, %d reads", got, reads.lists)
	}

	busy.all = account{}

	if got := ask(20 * time.Second); got.Cause.Reason != "FailedMount" || got.Skipped {
		t.Errorf("with a request: %+v", got)
	}

	owe()

	if got := ask(time.Hour); got.Cause.Reason != "FailedMount" || got.Skipped || reads.lists != 1 {
		t.Errorf("with an answer of an hour ago: %+v, %d reads", got, reads.lists)
	}
}
