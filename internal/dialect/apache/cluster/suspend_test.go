package cluster

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
)

// suspend sets spec.suspend as a user does.
func (w *clusterWorld) suspend(to bool) {
	w.sc.Spec.Suspend = &to
	w.sc.Generation++
	w.now = w.now.Add(time.Minute)
}

// TestClusterIsSuspended follows a cluster that is held, started, suspended and resumed.
func TestClusterIsSuspended(t *testing.T) {
	for _, trim := range []bool{false, true} {
		w := newClusterWorld(t)
		w.c.Trim = trim

		w.suspend(true)
		w.pass()
		w.pass()

		if w.sc.Status.CurrentState != nil || w.sc.Status.Operator != nil {
			t.Fatalf("a cluster that is held has a state: %+v", w.sc.Status)
		}

		w.wantConditions("Ready=False(SuspendHeld)")
		w.wantEvents("SuspendHeld")

		w.suspend(false)
		w.pass()
		w.observePods(2)
		w.pass()
		w.wantStates("Submitted RunningHealthy")

		w.suspend(true)
		w.pass()
		w.wantStates("Submitted RunningHealthy Suspended")
		w.wantConditions("Progressing=False(Suspended)", "Ready=False(Suspended)", "Reconciling=True(Releasing)")

		if s := w.c.AuxiliaryObjects(w.sc, w.seen); len(s.Objects) > 0 || !s.KeepServices || s.Unsettled {
			t.Errorf("the cluster is suspended, and these objects stay: %+v", s)
		}

		w.seen.Members = w.seen.Members[1:]
		w.now = w.now.Add(6 * time.Minute)
		w.pass()
		w.wantConditions("Progressing=False(PodsRemain)", "Ready=False(PodsRemain)", "Reconciling=True(Releasing)")

		w.seen.Members = nil
		w.pass()
		w.wantStates("Submitted RunningHealthy Suspended")
		w.wantConditions("Progressing=False(Suspended)", "Ready=False(Suspended)", "Suspended=True(Suspended)")

		if reason := w.sc.Status.CurrentState.SuspendReason; reason != sparkv1.SpecSuspend {
			t.Errorf("suspended because of %q", reason)
		}

		w.suspend(false)
		w.pass()
		w.observePods(2)
		w.pass()
		w.wantStates(map[bool]string{false: "Submitted RunningHealthy Suspended Submitted RunningHealthy",
			true: "Submitted RunningHealthy"}[trim])
		w.wantEvents("SparkClusterSubmitted", "RunningHealthy", "Suspended", "PodsRemain", "Submitted",
			"SparkClusterSubmitted", "RunningHealthy")

		if info := w.sc.Status.CurrentAttemptSummary.AttemptInfo; *info != (sparkv1.ClusterAttemptInfo{}) ||
			w.sc.Status.PreviousAttemptSummary != nil {
			t.Errorf("a suspension counts as an attempt: %+v after %+v", info, w.sc.Status.PreviousAttemptSummary)
		}
	}
}

// TestSuspendedClusterIsTakenOver checks that a cluster which another operator suspended starts only when its spec
// lifts the suspension, and that a cluster which Kueue evicted waits for its user.
func TestSuspendedClusterIsTakenOver(t *testing.T) {
	left := func(reason sparkv1.SuspendReason, suspend bool) *clusterWorld {
		w := newClusterWorld(t, func(sc *sparkv1.SparkCluster) {
			state := sparkv1.ClusterState{CurrentStateSummary: sparkv1.ClusterSuspended, SuspendReason: reason,
				LastTransitionTime: apache.Timestamp(clusterNoon)}
			sc.Spec.Suspend = &suspend
			sc.Status.CurrentState, sc.Status.StateTransitionHistory = &state,
				map[string]sparkv1.ClusterState{"7": state}
		})
		w.c.Trim = false
		return w
	}

	w := left("", true)
	w.pass()
	w.wantStates("Suspended")

	w = left("", false)
	w.pass()
	w.wantStates("Suspended Submitted")

	w = left(sparkv1.KueueEviction, false)
	w.observePods(1)
	w.pass()
	w.seen.Members = nil
	w.pass()
	w.pass()
	w.wantStates("Suspended")
	w.wantEvents("SparkClusterTakenOver", "KueueEviction")

	if ready := meta.FindStatusCondition(w.sc.Status.Conditions,
		dialect.ConditionReady); ready.Reason != apache.ReasonEvicted {
		t.Errorf("Ready: %+v", ready)
	}

	w.suspend(true)
	w.pass()
	w.wantStates("Suspended Suspended")
	w.suspend(false)
	w.pass()
	w.wantStates("Suspended Suspended Submitted")
}
