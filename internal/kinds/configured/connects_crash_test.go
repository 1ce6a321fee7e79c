package configured_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestCrashInAServersLife runs the same server many times: it is launched, edited, suspended and resumed, and its
// Service is edited. In each run the operator crashes before or after a different write, and another process continues.
// The SparkConnect must never have two servers at once, start an attempt twice, or get a second Service. With
// CRASH_POINTS=all the operator crashes at every write, otherwise at some of them.
func TestCrashInAServersLife(t *testing.T) {
	t.Parallel()
	crashrig.ForCrashPoints(t, 76, 7, serversLife)
}

// serversLife runs one SparkConnect through its life: launch, edits of the spec and of the Service, suspension and
// resumption. The operator crashes at the given point. The result reports whether this point was reached.
func serversLife(t *testing.T, crash *crashrig.Crashing) (died bool) {
	w, clock := world.New(t), &world.Later{}
	m := crashrig.StartCrashLife(w, crash, func(options ...func(*operator.Environment)) func() {
		return resources.RunServers(w, world.Config(w.Namespace), clock.Now, options...)
	})
	sc := resources.Server(w, "x")
	m.CheckSingle(sc, identity.RoleServer)

	resources.StartedServer(w, sc, 1)
	service := resources.ServerService(w, "x-server")
	resources.PatchServer(w, "x", `{"spec":{"sparkConf":{"spark.a":"b"}}}`)
	resources.StartedServer(w, sc, 2)
	resources.PatchServer(w, "x", `{"spec":{"server":{"service":{"metadata":{"annotations":{"a":"b"}}}}}}`)
	resources.ServerService(w, "x-server", func(s *corev1.Service) error { return world.Want(s.Annotations["a"], "b") })
	resources.PatchServer(w, "x", `{"spec":{"suspend":true}}`)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateNotReady)
	waitNoServer(w, sc)
	resources.PatchServer(w, "x", `{"spec":{"suspend":false}}`)
	last := resources.ReadyServer(w, sc, 3)

	after := resources.ServerService(w, "x-server", resources.Selects(last))
	if after.UID != service.UID {
		t.Errorf("the Service was %s and is %s", service.UID, after.UID)
	}
	return m.End(3)
}
