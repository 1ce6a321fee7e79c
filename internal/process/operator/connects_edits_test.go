package operator

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestUnusableEditLeavesTheServer checks that an invalid value for the executors causes a condition and an event that
// name the field. The running server keeps its sessions, and the next valid edit replaces the server.
func TestUnusableEditLeavesTheServer(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")

	old := w.readyServer(sc, 1)
	for _, edit := range []struct{ patch, says string }{
		{`{"spec":{"executor":{"memory":null},"sparkConf":{"spark.executor.memory":"lots"}}}`, "spec.sparkConf[spark.executor.memory]"},
		{`{"spec":{"sparkConf":{"spark.executor.memory":null,"spark.kubernetes.executor.label.bad":"bad value!"}}}`, "spec.sparkConf[spark.kubernetes.executor.label.bad]"},
		{`{"spec":{"sparkConf":{"spark.kubernetes.executor.label.bad":null,"spark.executor.cores":"none"},"executor":{"cores":null}}}`, "spec.sparkConf[spark.executor.cores]"},
	} {
		w.patchServer("x", edit.patch)
		got := w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Stalled", metav1.ConditionTrue, lifecycle.ReasonInvalid, edit.says),
			holds("Ready", metav1.ConditionTrue, "Running", edit.says), holds("Progressing", metav1.ConditionFalse, lifecycle.ReasonInvalid, edit.says),
			func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.ObservedGeneration, sc.Generation) })
		w.waitEvent(sc, "SparkConnectInvalid", edit.says)
		clock.advance(time.Minute)
		w.triggerServerPass("x")
		w.mustExist(old)

		if old.DeletionTimestamp != nil || got.Status.Operator.Attempt != 1 {
			t.Fatalf("the server is stopped: %v, %+v", old.DeletionTimestamp, got.Status)
		}
	}

	w.patchServer("x", `{"spec":{"sparkConf":{"spark.executor.cores":"1"}}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateProvisioning, absent("Stalled"), holds("Progressing", metav1.ConditionTrue, "RollingOut"),
		func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Operator.Attempt, int32(2)) })
	w.readyServer(sc, 2)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, absent("Stalled"), holds("Ready", metav1.ConditionTrue, "Running"))
	w.waitEvent(sc, "SparkConnectRolledOut")
}
