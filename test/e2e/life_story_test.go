package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// story is an application with everything that was ever stored of it. It is watched rather than read now and then: no state is too short
// to be seen, and none is seen that nobody else could have.
type story struct {
	*world
	app    *v1beta2.SparkApplication // as it was stored last, as far as the story was followed
	path   []v1beta2.ApplicationStateType
	told   []string // the errorMessages, each once
	peak   v1beta2.ExecutorCounts
	latest watch.Interface
	gone   bool
}

// begin creates an application and follows it until the test's end.
func (w *world) begin(t *testing.T, app *v1beta2.SparkApplication) *story {
	t.Helper()
	conf := maps.Clone(timeouts)
	maps.Copy(conf, app.Spec.SparkConf)
	app.Spec.SparkConf = conf
	w.create(t, app)
	s := &story{world: w}
	var err error
	s.latest, err = w.Client.Watch(t.Context(), &v1beta2.SparkApplicationList{}, client.InNamespace(app.Namespace),
		client.MatchingFields{"metadata.name": app.Name}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: app.ResourceVersion}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.latest.Stop)
	s.note(app)
	return s
}

// note takes one version of the application into the story.
func (s *story) note(app *v1beta2.SparkApplication) {
	s.app = app
	state := app.Status.AppState
	if len(s.path) == 0 || s.path[len(s.path)-1] != state.State {
		s.path = append(s.path, state.State)
	}
	if state.ErrorMessage != "" && !slices.Contains(s.told, state.ErrorMessage) {
		s.told = append(s.told, state.ErrorMessage)
	}
	if c := app.Status.Executors; c != nil {
		s.peak = v1beta2.ExecutorCounts{
			Pending: max(s.peak.Pending, c.Pending), Running: max(s.peak.Running, c.Running), Completed: max(s.peak.Completed, c.Completed),
			Failed: max(s.peak.Failed, c.Failed), Unknown: max(s.peak.Unknown, c.Unknown),
		}
	}
}

// until follows the story to the first version that is as wanted, the present one included.
func (s *story) until(t *testing.T, limit time.Duration, what string, done func(*v1beta2.SparkApplication) bool) {
	t.Helper()
	s.follow(t, limit, what, func() bool { return !s.gone && done(s.app) })
}

// untilState is until for a state.
func (s *story) untilState(t *testing.T, state v1beta2.ApplicationStateType) {
	t.Helper()
	s.until(t, patience, string(state), func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == state })
}

// untilRun waits until the driver of a run is running.
func (s *story) untilRun(t *testing.T, attempt int32) {
	t.Helper()
	s.until(t, patience, "a running driver", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateRunning && a.Status.Operator.Attempt == attempt
	})
}

func (s *story) follow(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for !done() {
		select {
		case event := <-s.latest.ResultChan():
			app, ok := event.Object.(*v1beta2.SparkApplication)
			if !ok {
				t.Fatalf("waiting for %s: the watch ended with %v", what, event)
			}
			s.gone = event.Type == watch.Deleted
			s.note(app)
		case <-timer.C:
			t.Fatalf("waited %s for %s; the states were %q; last seen:\n%s", limit, what, s.path, s.describe(t, s.app))
		}
	}
}

// patch changes the application as kubectl patch --type=merge does. The story goes on behind it: what is waited for next cannot have been before.
func (s *story) patch(t *testing.T, patch string) {
	t.Helper()
	changed := s.app.DeepCopy()
	if err := s.Client.Patch(t.Context(), changed, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	s.follow(t, time.Minute, "the patch to be stored", func() bool {
		order, err := resourceversion.CompareResourceVersion(s.app.ResourceVersion, changed.ResourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		return order >= 0
	})
}

// driver reads the application's driver pod.
func (s *story) driver(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.app.Namespace, Name: s.app.Status.DriverInfo.PodName}, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// executors lists the application's executor pods.
func (s *story) executors(t *testing.T) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	err := s.Client.List(t.Context(), &pods, client.InNamespace(s.app.Namespace),
		client.MatchingLabels{labelAppUID: string(s.app.UID), "spark-role": "executor"})
	if err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// ending is what a story comes to. The states are those that were stored, in order: what is passed through within one decision, such as
// SUCCEEDING where nothing follows, is not among them.
type ending struct {
	states            []v1beta2.ApplicationStateType
	runs, submissions int32    // executionAttempts and submissionAttempts
	reason            string   // of the condition Ready
	says              []string // in errorMessage; of a failure only
	events            []string // reasons, sorted, each as often as it is told
}

// mayBeTold are events that a busy machine adds, or that depend on how fast a driver ends: of pods that wait for room, or that are being
// taken away; and that of the first seconds after an installation, in which the API server cannot judge owners of a new definition yet. Where they
// are wanted it is no matter how often they are told.
var mayBeTold = []string{"SparkDriverPending", "SparkDriverDisrupted", "SparkExecutorPending", "ServerError"}

// ends waits for the last of the states and checks the whole of the story, then deletes the application: nothing of it is left.
func (s *story) ends(t *testing.T, want ending) {
	t.Helper()
	s.comesTo(t, want)
	s.remove(t, s.app)
}

// comesTo is ends without the deletion.
func (s *story) comesTo(t *testing.T, want ending) {
	t.Helper()
	last := want.states[len(want.states)-1]
	s.until(t, patience, "the end", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == completed || a.Status.AppState.State == failed
	})
	status := &s.app.Status
	if diff := cmp.Diff(want.states, s.path); diff != "" {
		t.Errorf("the states (-want +got):\n%s\n%s", diff, s.describe(t, s.app))
	}
	if status.ExecutionAttempts != want.runs || status.SubmissionAttempts != want.submissions {
		t.Errorf("executionAttempts %d, submissionAttempts %d; want %d and %d", status.ExecutionAttempts, status.SubmissionAttempts, want.runs, want.submissions)
	}
	if !contains(status.AppState.ErrorMessage, want.says) || len(want.says) == 0 && status.AppState.ErrorMessage != "" {
		t.Errorf("errorMessage is %q, want %q in it", status.AppState.ErrorMessage, want.says)
	}
	if ready := condition(s.app, "Ready"); ready.Reason != want.reason || !contains(ready.Message, want.says) {
		t.Errorf("condition Ready is %+v, want reason %s and %q in the message", ready, want.reason, want.says)
	}
	if diff := cmp.Diff(endConditions(last), conditions(s.app)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if status.ObservedGeneration != s.app.Generation {
		t.Errorf("observedGeneration is %d, want %d", status.ObservedGeneration, s.app.Generation)
	}
	if status.TerminationTime.IsZero() || status.LastSubmissionAttemptTime.IsZero() || status.TerminationTime.Before(&status.LastSubmissionAttemptTime) {
		t.Errorf("submitted at %s and over at %s", status.LastSubmissionAttemptTime, status.TerminationTime)
	}
	s.tells(t, want.events)
}

// expires waits until the application has deleted itself and everything that it made.
func (s *story) expires(t *testing.T) {
	t.Helper()
	s.follow(t, time.Minute, "the application to expire", func() bool { return s.gone })
	eventually(t, 90*time.Second, "nothing of the application to be left", func() (string, bool) {
		left := s.children(t, s.app)
		return strings.Join(left, ", "), len(left) == 0
	})
}

// tells wants the application's events to be these. An event is written after the status that it is about.
func (s *story) tells(t *testing.T, want []string) {
	t.Helper()
	eventually(t, 30*time.Second, "the events "+strings.Join(want, " "), func() (string, bool) {
		var got []string
		for _, e := range s.events(t, s.app) {
			for range max(e.Count, 1) {
				if !slices.Contains(mayBeTold, e.Reason) || slices.Contains(want, e.Reason) && !slices.Contains(got, e.Reason) {
					got = append(got, e.Reason)
				}
			}
		}
		slices.Sort(got)
		return strings.Join(got, " "), slices.Equal(got, want)
	})
}

// endConditions are the conditions of an application that is over, or suspended.
func endConditions(state v1beta2.ApplicationStateType) map[string]metav1.ConditionStatus {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	switch state {
	case v1beta2.ApplicationStateCompleted:
		return map[string]metav1.ConditionStatus{"Ready": yes, "Submitted": yes, "Succeeded": yes}
	case v1beta2.ApplicationStateSuspended:
		return map[string]metav1.ConditionStatus{"Ready": no, "Suspended": yes}
	}
	return map[string]metav1.ConditionStatus{"Ready": no, "Submitted": yes, "Failed": yes, "Stalled": yes}
}

// conditions are the application's, but for Exposed: what stands beside a driver is no part of its life, and comes and goes after it.
func conditions(app *v1beta2.SparkApplication) map[string]metav1.ConditionStatus {
	found := map[string]metav1.ConditionStatus{}
	for _, c := range app.Status.Conditions {
		if c.Type != "Exposed" {
			found[c.Type] = c.Status
		}
	}
	return found
}
