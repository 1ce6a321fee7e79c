package operator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/connect"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestServerLives checks the life cycle of a server: it becomes Ready, crashes, and is replaced after its backoff,
// while its Service stays the same.
func TestServerLives(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.serverPod(sc, 1)

	got := w.waitServer("x", v1alpha1.SparkConnectStateProvisioning,
		holds("Ready", metav1.ConditionFalse, "Launched"), holds("Progressing", metav1.ConditionTrue, "ServerStarting"),
		holds("ServerPodReady", metav1.ConditionFalse, "ServerPodNotReady"), holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"))
	if got.Status.Server.PodName != "x-server" || got.Status.Server.ServiceName != "x-server" {
		t.Errorf("server is %+v", got.Status.Server)
	}

	service := w.serverService("x-server", selects(pod))

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
	for _, object := range []client.Object{pod, service, config} {
		if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}

		if ref := metav1.GetControllerOf(object); ref == nil || ref.UID != sc.UID {
			t.Errorf("%s is owned by %+v", object.GetName(), ref)
		}
	}

	w.readyServer(sc, 1)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Ready", metav1.ConditionTrue, "Running"), holds("Progressing", metav1.ConditionFalse, "ServerReady"),
		holds("ServerPodReady", metav1.ConditionTrue, "ServerPodReady"), absent("Reconciling"), absent("Stalled"))
	w.waitEvent(sc, "SparkServerReady")

	w.kubelet("x-server", corev1.PodFailed, scene.Exited(137, "killed"))
	w.waitServer("x", v1alpha1.SparkConnectStateFailed, holds("Ready", metav1.ConditionFalse, "Killed", "the next server starts at"),
		holds("Progressing", metav1.ConditionTrue, "Killed"))
	w.waitEvent(sc, "SparkServerFailed", "137")
	w.waitEvent(sc, "SparkServerBackOff", "10s")
	clock.advance(connect.FirstInterval)
	w.triggerServerPass("x")

	next := w.readyServer(sc, 2)
	if next.UID == pod.UID {
		t.Error("the server is the same pod")
	}

	after := w.serverService("x-server", selects(next))
	if after.UID != service.UID || after.Spec.ClusterIP != service.Spec.ClusterIP || after.ResourceVersion != service.ResourceVersion {
		t.Errorf("the Service was %s at %s, and is %s at %s", service.UID, service.Spec.ClusterIP, after.UID, after.Spec.ClusterIP)
	}
}

// TestEditedServerIsReplaced checks that an edit replaces the server. No object of the old server remains except its
// Service, which then selects the new server. The condition Progressing is True until the new server is ready.
func TestEditedServerIsReplaced(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Executor.Template = template(`{"spec":{"containers":[{"name":"spark-kubernetes-executor"}]}}`)
	})
	old := w.readyServer(sc, 1)
	executor := w.serverExecutor(old, 1)
	service := w.serverService("x-server")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
	w.mustExist(config)
	configUID := config.UID

	w.patchServer("x", `{"spec":{"sparkVersion":"4.0.1","sparkConf":{"spark.sql.shuffle.partitions":"7"},"executor":{"template":{"metadata":{"labels":{"new":"one"}}}}}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateProvisioning, holds("Progressing", metav1.ConditionTrue, "RollingOut"),
		holds("Ready", metav1.ConditionFalse, "Launched"), func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Operator.Attempt, int32(2)) })
	w.WaitGone(executor)
	next := w.serverPod(sc, 2)
	w.mustExist(config)

	if config.UID == configUID || config.Labels[identity.AttemptLabel] != "2" || !strings.Contains(config.Data["executor-pod-template.yaml"], `"new": "one"`) {
		t.Errorf("the ConfigMap is %+v", config)
	}

	w.readyServer(sc, 2)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Progressing", metav1.ConditionFalse, "ServerReady"), holds("Ready", metav1.ConditionTrue, "Running"))
	w.waitEvent(sc, "SparkConnectSpecChanged")
	w.waitEvent(sc, "SparkConnectRolledOut")

	after := w.serverService("x-server", selects(next))
	if after.ResourceVersion != service.ResourceVersion {
		t.Errorf("the Service was written: %+v", after)
	}

	if next.Labels["spark-version"] != "4.0.1" || next.UID == old.UID {
		t.Errorf("the server is %s with the labels %v", next.UID, next.Labels)
	}
}

// TestServiceIsEditedInPlace checks that edited options of the Service are applied to the existing Service. If the name
// of the Service is edited, the operator creates another Service. Neither edit replaces the server.
func TestServiceIsEditedInPlace(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	before := w.serverService("x-server")

	w.patchServer("x", `{"spec":{"server":{"service":{"metadata":{"annotations":{"lb":"internal"}},
		"spec":{"type":"NodePort","ports":[{"name":"metrics","port":8090}]}}}}}`)

	edited := w.serverService("x-server", func(s *corev1.Service) error { return want(s.Spec.Type, corev1.ServiceTypeNodePort) })
	if edited.UID != before.UID || edited.Spec.ClusterIP != before.Spec.ClusterIP || edited.Annotations["lb"] != "internal" || portsOf(edited) != "spark-connect-server:15002 metrics:8090" {
		t.Errorf("the Service is %+v", edited)
	}

	w.patchServer("x", `{"spec":{"server":{"service":null}}}`)

	plain := w.serverService("x-server", func(s *corev1.Service) error { return want(s.Spec.Type, corev1.ServiceTypeClusterIP) }, selects(pod))
	if plain.UID != before.UID || plain.Spec.ClusterIP != before.Spec.ClusterIP || plain.Annotations["lb"] != "" || portsOf(plain) != "spark-connect-server:15002" {
		t.Errorf("the Service is %+v", plain)
	}

	w.patchServer("x", `{"spec":{"server":{"service":{"metadata":{"name":"sql"}}}}}`)
	w.serverService("sql", selects(pod))
	w.WaitGone(plain)

	got := w.waitServer("x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Server.ServiceName, "sql") })
	if now := w.serverPod(sc, 1); now.UID != pod.UID || got.Status.Operator.Attempt != 1 {
		t.Error("the server was replaced")
	}
}

// TestServiceThatSomebodyDeletes checks that the operator creates a deleted Service again, and that the new Service
// leads to the server.
func TestServiceThatSomebodyDeletes(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	service := w.serverService("x-server")

	clock.advance(auxiliary.OwnTrust)
	w.Remove(service)
	w.serverService("x-server", selects(pod), func(s *corev1.Service) error { return want(s.UID != service.UID, true) })
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"))
}

// TestServerSuspends checks that a suspended server keeps only its Service, with the same address, until the server is
// resumed.
func TestServerSuspends(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	w.readyServer(sc, 1)
	service := w.serverService("x-server")
	w.patchServer("x", `{"spec":{"suspend":true}}`)
	w.waitServer("x", v1alpha1.SparkConnectStateNotReady, holds("Suspended", metav1.ConditionTrue, "Suspended"), holds("Ready", metav1.ConditionFalse, "Suspended"),
		absent("Stalled"), func(sc *v1alpha1.SparkConnect) error { return want(sc.Status.Server.PodIP, "") })
	w.waitNoServer(sc)
	w.patchServer("x", `{"spec":{"suspend":false}}`)
	next := w.readyServer(sc, 2)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, absent("Suspended"))

	if after := w.serverService("x-server", selects(next)); after.UID != service.UID || after.Spec.ClusterIP != service.Spec.ClusterIP {
		t.Errorf("the Service is %+v", after)
	}
}

// TestEditWaitsForTheOldServer checks that no object of the next server is created while the old server stops, and that
// the status reports this wait.
func TestEditWaitsForTheOldServer(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	goes := w.TakesItsTime(pod)
	w.patchServer("x", `{"spec":{"image":"other"}}`)
	w.waitDeleting(pod)

	got := w.waitServer("x", v1alpha1.SparkConnectStateProvisioning, holds("Progressing", metav1.ConditionTrue, "RollingOut"),
		holds("Reconciling", metav1.ConditionTrue, lifecycle.ReasonEdited, "spec"))
	if got.Status.Operator.Attempt != 1 {
		t.Errorf("the server is at attempt %d", got.Status.Operator.Attempt)
	}

	clock.advance(time.Hour)
	w.triggerServerPass("x")

	if w.mustExist(pod); pod.Labels[identity.AttemptLabel] != "1" {
		t.Errorf("the server is of attempt %s", pod.Labels[identity.AttemptLabel])
	}

	goes()

	if next := w.readyServer(sc, 2); next.Spec.Containers[0].Image != "other" {
		t.Errorf("the server runs %s", next.Spec.Containers[0].Image)
	}
}

// TestServerIsMadeAnew checks a SparkConnect that is created just after an older SparkConnect with the same name was
// deleted. The pod and the Service of the older SparkConnect stop slowly, and the new server waits until they are gone.
// The new server does not fail. It also does not report that somebody else's objects have the names that it needs.
func TestServerIsMadeAnew(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	first := w.server("x")
	pod := w.readyServer(first, 1)
	service := w.serverService("x-server")

	hold := `{"metadata":{"finalizers":["example.com/grace"]}}`
	if err := w.API.Patch(t.Context(), service, client.RawPatch(types.MergePatchType, []byte(hold))); err != nil {
		t.Fatal(err)
	}

	goes := w.TakesItsTime(pod)
	w.Remove(first)
	w.WaitGone(first)
	second := w.server("x")
	w.waitServer("x", v1alpha1.SparkConnectStateProvisioning, holds("Ready", metav1.ConditionFalse, dependents.ReasonNameTaken, "a deleted resource of the same name"))
	goes()

	if err := w.API.Patch(t.Context(), service, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}

	next := w.readyServer(second, 1)
	if after := w.serverService("x-server", selects(next)); after.UID == service.UID {
		t.Error("the Service belongs to the older SparkConnect")
	}

	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"), holds("Ready", metav1.ConditionTrue, "Running"))

	for reason, reported := range w.EventsOf(second) {
		if strings.Contains(reported, "already exists") || reason == "SparkServerRefused" {
			t.Errorf("reported %s: %s", reason, reported)
		}
	}
}

// TestServerThatIsDeleted checks that the operator creates a new server pod if somebody deletes the current one. If the
// node of the server pod is lost, the operator creates no new pod, since the pod on the lost node may still run.
func TestServerThatIsDeleted(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	w.Remove(pod)
	// No kubelet delays the deletion, so the pod may be gone before a pass reads it as being deleted.
	w.waitServer("x", v1alpha1.SparkConnectStateFailed, func(sc *v1alpha1.SparkConnect) error {
		if holds("Progressing", metav1.ConditionTrue, "DriverNotFound")(sc) == nil {
			return nil
		}
		return holds("Progressing", metav1.ConditionTrue, "DriverDeleted")(sc)
	})
	clock.advance(connect.FirstInterval)
	w.triggerServerPass("x")
	next := w.readyServer(sc, 2)

	before := next.DeepCopy()
	w.mustExist(next)

	next.Status.Conditions[0].Status = corev1.ConditionFalse // as the node controller does
	if err := w.API.Status().Patch(t.Context(), next, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	clock.advance(time.Minute)
	w.waitServer("x", v1alpha1.SparkConnectStateNotReady, holds("Ready", metav1.ConditionFalse, "NodeLost"))
	w.waitEvent(sc, "SparkServerUnknown", "NodeLost")
	clock.advance(time.Hour)
	w.triggerServerPass("x")
	w.ready("x-server")

	got := w.waitServer("x", v1alpha1.SparkConnectStateReady)
	if now := w.serverPod(sc, 2); now.UID != before.UID || got.Status.Operator.Attempt != 2 {
		t.Error("the server was replaced while it could have run")
	}
}

// TestDeletedServerLeavesNothing checks that executors are deleted with the server's pod, which is their only owner.
func TestDeletedServerLeavesNothing(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	executor := w.serverExecutor(pod, 1)
	service := w.serverService("x-server")
	w.Remove(sc)
	w.WaitGone(service)
	w.WaitGone(executor)
	w.waitNoServer(sc)
}

// TestRequestsOfAServersLaunch checks which requests the operator sends until a server is Ready. It creates the
// server's objects and Events and writes the status, and it sends no reads.
func TestRequestsOfAServersLaunch(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	made := &requests{}
	cfg := testConfig(w.Namespace)
	cfg.Apache.Enabled = new(false) // otherwise periodic requests for optional kinds would be counted
	stop := w.runServers(cfg, clock.now, func(env *Environment) { env.Rest.Wrap(made.over) })
	// The first server syncs the caches and opens the connections.
	w.readyServer(w.server("first"), 1)

	before := made.since(nil)

	w.readyServer(w.server("second"), 1)
	stop() // every event is written

	got := made.since(before)
	delete(got, "POST events") // they may include Events of the first server
	// The status is written after the launch, when the server runs, and for the executor, which may be in the same
	// write.
	if n := got["PATCH sparkconnects/status"]; n < 2 || n > 4 {
		t.Errorf("%d status writes", n)
	}

	delete(got, "PATCH sparkconnects/status")

	if got["GET pods"] == 1 { // the cache was so late to show the new pod that the operator read it
		delete(got, "GET pods")
	}

	if diff := cmp.Diff(map[string]int{"POST configmaps": 1, "POST services": 2, "POST networkpolicies": 1, "POST pods": 1}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestQuietServer checks that passes over a Ready server send no requests, however many passes are made. It also checks
// that the metrics have a sample for the kind SparkConnect.
func TestQuietServer(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &later{}
	made := &requests{}
	stop := w.runServers(testConfig(w.Namespace), clock.now, func(env *Environment) { env.Rest.Wrap(made.over) })
	sc := w.server("x")
	w.readyServer(sc, 1)
	clock.advance(auxiliary.OwnTrust)

	version := w.getServer("x").ResourceVersion
	kit.Wait(t, "the last write", func(context.Context) error { // of the debounced changes
		old := version
		version = w.getServer("x").ResourceVersion
		return errors.Join(want(version, old), want(made.since(nil)["POST events"] > 1, true))
	})

	before := made.since(nil)

	for range 5 {
		readCount := clock.readCount.Load()

		w.triggerServerPass("x")
		kit.Wait(t, "a pass", func(context.Context) error { return want(clock.readCount.Load() > readCount, true) })
		clock.advance(time.Hour)
	}

	for _, check := range []struct {
		metric string
		want   float64
	}{{"sparkoperator_applications", 1}, {"spark_application_count", 0}, {"spark_application_running_count", 0}, {"spark_executor_running_count", 0}} {
		w.waitMetric(check.metric, check.want)
	}

	stop()

	if got := made.since(before); len(got) > 0 {
		t.Errorf("the passes over a Ready server cause the requests %v", got)
	}
}

// TestExecutorsOfAServerAreStoredTogether checks that executors that start and end by the dozen, as with dynamic
// allocation, cause at most one status write every two seconds.
func TestExecutorsOfAServerAreStoredTogether(t *testing.T) {
	t.Parallel()
	const many = 30
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)

	before, began := w.metric("sparkoperator_status_writes_total"), time.Now()
	for id := 2; id < 2+many; id++ {
		executor := w.serverExecutor(pod, id)
		w.Create(executor)
		w.kubelet(executor.Name, corev1.PodRunning, running())

		if id%2 == 0 {
			w.Remove(executor)
		}
	}

	w.waitServer("x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(want(sc.Status.Executors["running"], 1+many/2), want(len(sc.Status.Executors), 1))
	})

	writes, most := w.metric("sparkoperator_status_writes_total")-before, 2+time.Since(began).Seconds()/quiet.Seconds()
	if t.Logf("%v writes in %s", writes, time.Since(began)); writes > most {
		t.Errorf("%v writes for %d executors, want at most %v", writes, many, most)
	}
}
