package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// TestCrashInAServersLife runs the same server many times: it is launched, edited, suspended and resumed, and its
// Service is edited. In each run the operator crashes before or after a different write, and another process continues.
// The SparkConnect must never have two servers at once, start an attempt twice, or get a second Service. With
// CRASH_POINTS=all the operator crashes at every write, otherwise at some of them.
func TestCrashInAServersLife(t *testing.T) {
	t.Parallel()
	forCrashPoints(t, 76, 7, serversLife)
}

// serversLife runs one SparkConnect through its life: launch, edits of the spec and of the Service, suspension and
// resumption. The operator crashes at the given point. The result reports whether this point was reached.
func serversLife(t *testing.T, crash *crashing) (died bool) {
	w, clock := newWorld(t), &later{}
	m := w.startCrashLife(crash, func(options ...func(*Environment)) func() {
		return w.runServers(testConfig(w.Namespace), clock.now, options...)
	})
	sc := w.server("x")
	m.checkSingle(sc, identity.RoleServer)

	w.startedServer(sc, 1)
	service := w.serverService("x-server")
	w.patchServer("x", `{"spec":{"sparkConf":{"spark.a":"b"}}}`)
	w.startedServer(sc, 2)
	w.patchServer("x", `{"spec":{"server":{"service":{"metadata":{"annotations":{"a":"b"}}}}}}`)
	w.serverService("x-server", func(s *corev1.Service) error { return want(s.Annotations["a"], "b") })
	w.patchServer("x", `{"spec":{"suspend":true}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateNotReady)
	w.waitNoServer(sc)
	w.patchServer("x", `{"spec":{"suspend":false}}`)
	last := w.readyServer(sc, 3)

	after := w.serverService("x-server", selects(last))
	if after.UID != service.UID {
		t.Errorf("the Service was %s and is %s", service.UID, after.UID)
	}
	return m.end(3)
}
