package configured_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestUnusableEditLeavesTheServer checks that an invalid value for the executors causes a condition and an event that
// name the field. The running server keeps its sessions, and the next valid edit replaces the server.
func TestUnusableEditLeavesTheServer(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")

	old := resources.ReadyServer(w, sc, 1)
	for _, edit := range []struct{ patch, says string }{
		{`{"spec":{"executor":{"memory":null},"sparkConf":{"spark.executor.memory":"lots"}}}`,
			"spec.sparkConf[spark.executor.memory]"},
		{`{"spec":{"sparkConf":{"spark.executor.memory":null,"spark.kubernetes.executor.label.bad":"bad value!"}}}`,
			"spec.sparkConf[spark.kubernetes.executor.label.bad]"},
		{`{"spec":{"sparkConf":{"spark.kubernetes.executor.label.bad":null,"spark.executor.cores":"none"},"executor":{"cores":null}}}`, "spec.sparkConf[spark.executor.cores]"},
	} {
		resources.PatchServer(w, "x", edit.patch)
		got := resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
			resources.Holds("Stalled", metav1.ConditionTrue, lifecycle.ReasonInvalid, edit.says),
			resources.Holds("Ready", metav1.ConditionTrue, "Running", edit.says),
			resources.Holds("Progressing", metav1.ConditionFalse, lifecycle.ReasonInvalid, edit.says),
			func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.ObservedGeneration, sc.Generation) })
		w.WaitEvent(sc, "SparkConnectInvalid", edit.says)
		clock.Advance(time.Minute)
		resources.TriggerServerPass(w, "x")
		w.MustExist(old)

		if old.DeletionTimestamp != nil || got.Status.Operator.Attempt != 1 {
			t.Fatalf("the server is stopped: %v, %+v", old.DeletionTimestamp, got.Status)
		}
	}

	resources.PatchServer(w, "x", `{"spec":{"sparkConf":{"spark.executor.cores":"1"}}}`)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateProvisioning, resources.Absent("Stalled"),
		resources.Holds("Progressing", metav1.ConditionTrue, "RollingOut"),
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Operator.Attempt, int32(2)) })
	resources.ReadyServer(w, sc, 2)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, resources.Absent("Stalled"),
		resources.Holds("Ready", metav1.ConditionTrue, "Running"))
	w.WaitEvent(sc, "SparkConnectRolledOut")
}
