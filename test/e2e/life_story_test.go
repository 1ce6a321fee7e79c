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

// story records all stored versions of an application. It uses a watch instead of polling, so that it also records
// states that last only a short time.
type story struct {
	*suite
	app           *v1beta2.SparkApplication // the latest version that the story has read
	states        []v1beta2.ApplicationStateType
	errorMessages []string // distinct values of errorMessage
	peak          v1beta2.ExecutorCounts
	latest        watch.Interface
	gone          bool
}

// createStory creates an application and watches it until the end of the test.
func (w *suite) createStory(t *testing.T, app *v1beta2.SparkApplication) *story {
	t.Helper()

	conf := maps.Clone(timeouts)
	maps.Copy(conf, app.Spec.SparkConf)
	app.Spec.SparkConf = conf
	w.create(t, app)
	s := &story{suite: w}
	var err error

	s.latest, err = w.Client.Watch(t.Context(), &v1beta2.SparkApplicationList{}, client.InNamespace(app.Namespace),
		client.MatchingFields{"metadata.name": app.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: app.ResourceVersion}})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.latest.Stop)
	s.note(app)
	return s
}

// note records one version of the application.
func (s *story) note(app *v1beta2.SparkApplication) {
	s.app = app

	state := app.Status.AppState
	if len(s.states) == 0 || s.states[len(s.states)-1] != state.State {
		s.states = append(s.states, state.State)
	}

	if state.ErrorMessage != "" && !slices.Contains(s.errorMessages, state.ErrorMessage) {
		s.errorMessages = append(s.errorMessages, state.ErrorMessage)
	}

	if c := app.Status.Executors; c != nil {
		s.peak = v1beta2.ExecutorCounts{
			Pending: max(s.peak.Pending, c.Pending), Running: max(s.peak.Running, c.Running),
			Completed: max(s.peak.Completed, c.Completed),
			Failed:    max(s.peak.Failed, c.Failed), Unknown: max(s.peak.Unknown, c.Unknown),
		}
	}
}

// waitFor reads versions of the application until done returns true for one of them. It starts with the current
// version.
func (s *story) waitFor(t *testing.T, limit time.Duration, goal string, done func(*v1beta2.SparkApplication) bool) {
	t.Helper()
	s.follow(t, limit, goal, func() bool { return !s.gone && done(s.app) })
}

func (s *story) untilState(t *testing.T, state v1beta2.ApplicationStateType) {
	t.Helper()
	s.waitFor(t, patience, string(state),
		func(a *v1beta2.SparkApplication) bool { return a.Status.AppState.State == state })
}

// untilRun waits until the driver of the given attempt is running.
func (s *story) untilRun(t *testing.T, attempt int32) {
	t.Helper()
	s.waitFor(t, patience, "a running driver", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == v1beta2.ApplicationStateRunning && a.Status.Operator.Attempt == attempt
	})
}

func (s *story) follow(t *testing.T, limit time.Duration, goal string, done func() bool) {
	t.Helper()

	timer := time.NewTimer(limit)
	defer timer.Stop()

	for !done() {
		select {
		case event := <-s.latest.ResultChan():
			app, ok := event.Object.(*v1beta2.SparkApplication)
			if !ok {
				t.Fatalf("wait for %s: the watch ended with %v", goal, event)
			}

			s.gone = event.Type == watch.Deleted
			s.note(app)
		case <-timer.C:
			t.Fatalf("waited %s for %s; the states were %q; last seen:\n%s", limit, goal, s.states,
				s.describe(t, s.app))
		}
	}
}

// patch applies a merge patch, like kubectl patch --type=merge. It then reads the recorded versions up to the patched
// one, so that later waits ignore older versions.
func (s *story) patch(t *testing.T, patch string) {
	t.Helper()

	changed := s.app.DeepCopy()
	if err := s.Client.Patch(t.Context(), changed,
		client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
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

func (s *story) driver(t *testing.T) *corev1.Pod {
	t.Helper()

	pod := &corev1.Pod{}
	if err := s.Client.Get(t.Context(),
		client.ObjectKey{Namespace: s.app.Namespace, Name: s.app.Status.DriverInfo.PodName}, pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

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

// ending is the expected end of a story. Its states are the stored states in order. States that the operator enters and
// leaves within one pass, such as SUCCEEDING before a final state, are never stored.
type ending struct {
	states            []v1beta2.ApplicationStateType
	runs, submissions int32    // executionAttempts and submissionAttempts
	reason            string   // reason of the Ready condition
	wantMessage       []string // expected in errorMessage, for failures only
	events            []string // sorted reasons, repeated as often as they occur
}

// optionalEvents lists the reasons of events whose occurrence depends on timing. On a busy machine, pods wait for
// resources or for their deletion, which causes additional events. In the first seconds after an installation, the API
// server cannot check owners of new kinds, which causes ServerError. The method checkEvents ignores these events unless
// a test expects them. If a test expects such an event, checkEvents counts it once.
var optionalEvents = []string{"SparkDriverPending", "SparkDriverDisrupted", "SparkExecutorPending", "ServerError"}

// checkEndAndRemove waits for the final state, checks the whole story and deletes the application. No dependents may
// remain.
func (s *story) checkEndAndRemove(t *testing.T, want ending) {
	t.Helper()
	s.checkEnd(t, want)
	s.remove(t, s.app)
}

// checkEnd waits for the final state and checks the whole story. It does not delete the application.
func (s *story) checkEnd(t *testing.T, want ending) {
	t.Helper()

	last := want.states[len(want.states)-1]

	s.waitFor(t, patience, "the end", func(a *v1beta2.SparkApplication) bool {
		return a.Status.AppState.State == completed || a.Status.AppState.State == failed
	})

	status := &s.app.Status
	if diff := cmp.Diff(want.states, s.states); diff != "" {
		t.Errorf("the states (-want +got):\n%s\n%s", diff, s.describe(t, s.app))
	}

	if status.ExecutionAttempts != want.runs || status.SubmissionAttempts != want.submissions {
		t.Errorf("executionAttempts %d, submissionAttempts %d; want %d and %d", status.ExecutionAttempts,
			status.SubmissionAttempts, want.runs, want.submissions)
	}

	if !contains(status.AppState.ErrorMessage, want.wantMessage) || len(want.wantMessage) == 0 &&
		status.AppState.ErrorMessage != "" {
		t.Errorf("errorMessage is %q, want %q in it", status.AppState.ErrorMessage, want.wantMessage)
	}

	if ready := condition(s.app, "Ready"); ready.Reason != want.reason || !contains(ready.Message, want.wantMessage) {
		t.Errorf("condition Ready is %+v, want reason %s and %q in the message", ready, want.reason, want.wantMessage)
	}

	if diff := cmp.Diff(endConditions(last), conditions(s.app)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}

	if status.ObservedGeneration != s.app.Generation {
		t.Errorf("observedGeneration is %d, want %d", status.ObservedGeneration, s.app.Generation)
	}

	if status.TerminationTime.IsZero() || status.LastSubmissionAttemptTime.IsZero() ||
		status.TerminationTime.Before(&status.LastSubmissionAttemptTime) {
		t.Errorf("submitted at %s and over at %s", status.LastSubmissionAttemptTime, status.TerminationTime)
	}

	s.checkEvents(t, want.events)
}

// waitExpired waits until the application and all of its dependents have expired.
func (s *story) waitExpired(t *testing.T) {
	t.Helper()
	s.follow(t, time.Minute, "the application to expire", func() bool { return s.gone })
	eventually(t, 90*time.Second, "nothing of the application to be left", func() (string, bool) {
		left := s.dependents(t, s.app)
		return strings.Join(left, ", "), len(left) == 0
	})
}

// checkEvents checks the events of the application. It waits for them, because the operator writes an event after the
// corresponding status.
func (s *story) checkEvents(t *testing.T, want []string) {
	t.Helper()
	eventually(t, 30*time.Second, "the events "+strings.Join(want, " "), func() (string, bool) {
		var got []string
		for _, e := range s.events(t, s.app) {
			for range max(e.Count, 1) {
				if !slices.Contains(optionalEvents, e.Reason) || slices.Contains(want, e.Reason) &&
					!slices.Contains(got, e.Reason) {
					got = append(got, e.Reason)
				}
			}
		}

		slices.Sort(got)
		return strings.Join(got, " "), slices.Equal(got, want)
	})
}

// endConditions returns the conditions of an application that has ended or is suspended.
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

// conditions returns the application's conditions except Exposed. That condition describes the auxiliary objects, which
// change independently of the application's state.
func conditions(app *v1beta2.SparkApplication) map[string]metav1.ConditionStatus {
	found := map[string]metav1.ConditionStatus{}
	for _, c := range app.Status.Conditions {
		if c.Type != "Exposed" {
			found[c.Type] = c.Status
		}
	}
	return found
}
