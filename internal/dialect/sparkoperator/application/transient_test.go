package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestTransientErrorIsReported checks that a transient error is reported as the reason why an application is not Ready,
// or why it is Degraded. If nothing has to be done for the application, a transient error does not change its
// conditions.
func TestTransientErrorIsReported(t *testing.T) {
	for _, test := range []struct {
		memory lifecycle.Memory
		kind   string
		shown  bool
	}{
		{lifecycle.Memory{}, dialect.ConditionReady, true},
		{sparkapp.In(lifecycle.Waiting, sparkapp.Ended(lifecycle.Failed)), dialect.ConditionReady, true},
		{sparkapp.In(lifecycle.Resuming), dialect.ConditionReady, true},
		{sparkapp.In(lifecycle.Editing), dialect.ConditionReady, true},
		{sparkapp.In(lifecycle.Suspending), dialect.ConditionReady, true},
		{sparkapp.In(lifecycle.Launched), dialect.ConditionReady, true},
		{sparkapp.In(lifecycle.Unknown), dialect.ConditionReady, true},
		{sparkapp.In(lifecycle.Running), dialect.ConditionDegraded, true},
		{sparkapp.In(lifecycle.Running), dialect.ConditionReady, false},
		{sparkapp.In(lifecycle.Suspended), dialect.ConditionReady, false},
		{sparkapp.In(lifecycle.Done, sparkapp.Ended(lifecycle.Failed)), dialect.ConditionReady, false},
		{sparkapp.In(lifecycle.Retained, sparkapp.Ended(lifecycle.Succeeded)), dialect.ConditionReady, false},
	} {
		app := &v1beta2.SparkApplication{}
		usual.encodeConditions(app, lifecycle.App{}, test.memory, sparkapp.T0)

		transient := &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "ServerError", Message: "no leader"}}
		dialect.EncodeTransientError(&app.Status.Conditions, test.memory.Phase, transient, nil, app.Generation,
			sparkapp.T0)

		c := meta.FindStatusCondition(app.Status.Conditions, test.kind)
		if shown := c != nil && c.Reason == "ServerError" && c.Message == "no leader"; shown != test.shown {
			t.Errorf("%s: %+v", test.memory.Phase, c)
		}
	}
}

// TestTransientErrorBeforeLaunch checks a transient error before the first launch. The new application has no state
// yet, but must not be mistaken for an application of another operator. Its condition changes only if the reason
// changes or the transient error ends.
func TestTransientErrorBeforeLaunch(t *testing.T) {
	app := sparkapp.Sample()
	decide := func(second int, transient *lifecycle.TransientError) v1beta2.SparkApplicationStatus {
		usual.Decide(app, lifecycle.Observed{TransientError: transient},
			sparkapp.T0.Add(time.Duration(second)*time.Second))
		return *app.Status.DeepCopy()
	}
	words := func(reason, message string) *lifecycle.TransientError {
		return &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: reason, Message: message}, Since: sparkapp.T0}
	}
	ready := func(s v1beta2.SparkApplicationStatus) metav1.Condition {
		return *meta.FindStatusCondition(s.Conditions, dialect.ConditionReady)
	}

	first := decide(3, words("ServerError", "request 1"))
	if first.AppState != (v1beta2.ApplicationState{}) || first.SubmissionAttempts != 0 ||
		ready(first).Message != "request 1" {
		t.Errorf("the status is %+v", first)
	}

	if diff := cmp.Diff(first, decide(6, words("ServerError", "request 2"))); diff != "" {
		t.Errorf("written again:\n%s", diff)
	}

	if got := ready(decide(9, words("Timeout", "request 3"))); got.Reason != "Timeout" || got.Message != "request 3" {
		t.Errorf("Ready is %+v", got)
	}

	last := decide(12, nil)
	if last.AppState.State != v1beta2.ApplicationStateSubmitted || ready(last).Reason != "Launched" ||
		last.SubmissionAttempts != 1 {
		t.Errorf("the status is %+v", last)
	}
}
