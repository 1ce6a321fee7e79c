package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestReadyAfterARestart checks that a server or a cluster whose restart was requested counts as ready only after the
// operator has noticed the request and all pods were replaced. The old pods are ready all the time.
func TestReadyAfterARestart(t *testing.T) {
	const request = "2026-11-28T19:00:00Z"

	meta := metav1.ObjectMeta{Namespace: "n", Name: "a",
		Annotations: map[string]string{lifecycle.RestartAnnotation: request}}
	for _, test := range []struct {
		noticed     bool
		progressing metav1.ConditionStatus
		want        bool
	}{
		{false, metav1.ConditionFalse, false}, {false, metav1.ConditionTrue, false},
		{true, metav1.ConditionTrue, false}, {true, metav1.ConditionFalse, true}, {true, "", true},
	} {
		conditions := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
		if test.progressing != "" {
			conditions = append(conditions, metav1.Condition{Type: "Progressing", Status: test.progressing})
		}

		server, cluster := &v1alpha1.SparkConnect{ObjectMeta: meta}, &sparkv1.SparkCluster{ObjectMeta: meta}

		server.Status.Conditions, cluster.Status.Conditions = conditions, conditions
		if done := lifecycle.RestartRequest(meta.Annotations); test.noticed {
			server.Status.Operator, cluster.Status.Operator = &v1alpha1.OperatorStatus{},
				&sparkv1.ClusterOperatorStatus{RestartRequest: done}
			server.Status.Operator.RestartRequest = done
		}

		for _, object := range []client.Object{server, cluster} {
			s := Summarize(object)
			if got, err := reached(&s, GoalReady); got != test.want || err != nil {
				t.Errorf("%T, %+v: ready %t, %v", object, test, got, err)
			}
		}
	}
}

// TestRefusedExecutorsEndNothing checks that an application that is Stalled because the API server refuses its
// executors is not over while its driver runs, so that no verb stops waiting for it.
func TestRefusedExecutorsEndNothing(t *testing.T) {
	for running, want := range map[metav1.ConditionStatus]Result{metav1.ConditionTrue: Running,
		metav1.ConditionFalse: Failed} {
		app := &v1beta2.SparkApplication{}
		for kind, status := range map[string]metav1.ConditionStatus{"Ready": metav1.ConditionFalse,
			"Stalled": metav1.ConditionTrue, "Running": running} {
			app.Status.Conditions = append(app.Status.Conditions, metav1.Condition{Type: kind, Status: status})
		}

		if s := Summarize(app); s.Result != want {
			t.Errorf("with Running=%s: the result is %s, want %s", running, s.Result, want)
		}
	}
}

// TestLineOfAState checks that the line of a running application names what keeps its executors from running, and that
// the line stays the same while the number of awaited executors changes.
func TestLineOfAState(t *testing.T) {
	for _, test := range []struct{ condition, status, reason, message, want string }{
		{"Ready", "False", "AwaitingExecutors", "0 of 8 executors run", "RUNNING"},
		{"Ready", "False", "AwaitingExecutors", "7 of 8 executors run", "RUNNING"},
		{"Ready", "False", "QuotaExceeded", "executors cannot be created: exceeded quota",
			"RUNNING, QuotaExceeded: executors cannot be created: exceeded quota"},
		{"Degraded", "True", "OOMKilled", "9 executors failed", "RUNNING, OOMKilled: 9 executors failed"},
	} {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
		app.Status.AppState.State = v1beta2.ApplicationStateRunning

		app.Status.Conditions = []metav1.Condition{{Type: "Running", Status: metav1.ConditionTrue},
			{Type: test.condition, Status: metav1.ConditionStatus(test.status), Reason: test.reason,
				Message: test.message}}
		if s := Summarize(app); s.String() != "SparkApplication n/a: "+test.want {
			t.Errorf("%s: %q, want %q", test.message, s.String(), test.want)
		}
	}
}

// TestDuration checks the duration of an attempt that was never started, that runs, and that has ended.
func TestDuration(t *testing.T) {
	start := metav1.Now().Time
	for _, test := range []struct {
		s    Summary
		want int
	}{{Summary{}, 0}, {Summary{Ended: start}, 0}, {Summary{Started: start}, 90},
		{Summary{Started: start, Ended: start.Add(30e9)}, 30}} {
		if got := test.s.Duration(start.Add(90e9)); int(got.Seconds()) != test.want {
			t.Errorf("%+v: %s, want %d s", test.s, got, test.want)
		}
	}
}
