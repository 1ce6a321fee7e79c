package operator_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestNextLeaderSweepsStrays checks that a new leader deletes the orphans that the previous leader had no time to
// delete. The new leader received the events of these orphans before it became the leader.
func TestNextLeaderSweepsStrays(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first := f.start()
	<-first.op.Elected()

	next := f.start()

	first.kill()

	stray := scene.ForeignPod(f.Namespace, "c-worker-0")
	stray.Labels = map[string]string{identity.RoleLabel: identity.RoleWorker, identity.ClusterNameLabel: "c", identity.AppUIDLabel: "gone", appsv1.StatefulSetPodNameLabel: "c-worker-0"}
	f.Create(stray)
	<-next.op.Elected()
	f.WaitGone(stray)
}
