package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/identity"
)

// TestCrashInAServersLife kills the operator before or after one write of a launch, a roll-out, an edit of the Service,
// a suspension and a resumption, in each of many simulated lives of a server. After the crash another process
// continues. The test checks that no SparkConnect has two servers at once, starts an attempt twice, or gets a second
// Service. With CRASH_POINTS=all it kills the operator at every write.
func TestCrashInAServersLife(t *testing.T) {
	t.Parallel()
	forCrashPoints(t, 76, 7, serversLife)
}

// serversLife plays the life of one SparkConnect whose operator crashes at the given point, and reports whether the
// operator crashed.
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
