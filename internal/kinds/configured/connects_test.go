package configured_test

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
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestServerLives checks the life cycle of a server: it becomes Ready, crashes, and is replaced after its backoff,
// while its Service stays the same.
func TestServerLives(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ServerPod(w, sc, 1)

	got := resources.WaitServer(w, "x", v1alpha1.SparkConnectStateProvisioning,
		resources.Holds("Ready", metav1.ConditionFalse, "Launched"),
		resources.Holds("Progressing", metav1.ConditionTrue, "ServerStarting"),
		resources.Holds("ServerPodReady", metav1.ConditionFalse, "ServerPodNotReady"),
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"))
	if got.Status.Server.PodName != "x-server" || got.Status.Server.ServiceName != "x-server" {
		t.Errorf("server is %+v", got.Status.Server)
	}

	service := resources.ServerService(w, "x-server", resources.Selects(pod))

	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
	for _, object := range []client.Object{pod, service, config} {
		if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}

		if ref := metav1.GetControllerOf(object); ref == nil || ref.UID != sc.UID {
			t.Errorf("%s is owned by %+v", object.GetName(), ref)
		}
	}

	resources.ReadyServer(w, sc, 1)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Ready", metav1.ConditionTrue, "Running"),
		resources.Holds("Progressing", metav1.ConditionFalse, "ServerReady"),
		resources.Holds("ServerPodReady", metav1.ConditionTrue, "ServerPodReady"), resources.Absent("Reconciling"),
		resources.Absent("Stalled"))
	w.WaitEvent(sc, "SparkServerReady")

	w.Kubelet("x-server", corev1.PodFailed, scene.Exited(137, "killed"))
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateFailed,
		resources.Holds("Ready", metav1.ConditionFalse, "Killed", "the next server starts at"),
		resources.Holds("Progressing", metav1.ConditionTrue, "Killed"))
	w.WaitEvent(sc, "SparkServerFailed", "137")
	w.WaitEvent(sc, "SparkServerBackOff", "10s")
	clock.Advance(connect.FirstInterval)
	resources.TriggerServerPass(w, "x")

	next := resources.ReadyServer(w, sc, 2)
	if next.UID == pod.UID {
		t.Error("the server is the same pod")
	}

	after := resources.ServerService(w, "x-server", resources.Selects(next))
	if after.UID != service.UID || after.Spec.ClusterIP != service.Spec.ClusterIP ||
		after.ResourceVersion != service.ResourceVersion {
		t.Errorf("the Service was %s at %s, and is %s at %s", service.UID, service.Spec.ClusterIP, after.UID,
			after.Spec.ClusterIP)
	}
}

// TestEditedServerIsReplaced checks that an edit replaces the server. No object of the old server remains except its
// Service, which then selects the new server. The condition Progressing is True until the new server is ready.
func TestEditedServerIsReplaced(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x", func(sc *v1alpha1.SparkConnect) {
		sc.Spec.Executor.Template = resources.Template(`{"spec":{"containers":[{"name":"spark-kubernetes-executor"}]}}`)
	})
	old := resources.ReadyServer(w, sc, 1)
	executor := resources.ServerExecutor(w, old, 1)
	service := resources.ServerService(w, "x-server")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "x-conf"}}
	w.MustExist(config)
	configUID := config.UID

	resources.PatchServer(w, "x",
		`{"spec":{"sparkVersion":"4.0.1","sparkConf":{"spark.sql.shuffle.partitions":"7"},"executor":{"template":{"metadata":{"labels":{"new":"one"}}}}}}`)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateProvisioning,
		resources.Holds("Progressing", metav1.ConditionTrue, "RollingOut"),
		resources.Holds("Ready", metav1.ConditionFalse, "Launched"),
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Operator.Attempt, int32(2)) })
	w.WaitGone(executor)
	next := resources.ServerPod(w, sc, 2)
	w.MustExist(config)

	if config.UID == configUID || config.Labels[identity.AttemptLabel] != "2" ||
		!strings.Contains(config.Data["executor-pod-template.yaml"], `"new": "one"`) {
		t.Errorf("the ConfigMap is %+v", config)
	}

	resources.ReadyServer(w, sc, 2)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Progressing", metav1.ConditionFalse, "ServerReady"),
		resources.Holds("Ready", metav1.ConditionTrue, "Running"))
	w.WaitEvent(sc, "SparkConnectSpecChanged")
	w.WaitEvent(sc, "SparkConnectRolledOut")

	after := resources.ServerService(w, "x-server", resources.Selects(next))
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
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	before := resources.ServerService(w, "x-server")

	resources.PatchServer(w, "x", `{"spec":{"server":{"service":{"metadata":{"annotations":{"lb":"internal"}},
		"spec":{"type":"NodePort","ports":[{"name":"metrics","port":8090}]}}}}}`)

	edited := resources.ServerService(w, "x-server",
		func(s *corev1.Service) error { return world.Want(s.Spec.Type, corev1.ServiceTypeNodePort) })
	if edited.UID != before.UID || edited.Spec.ClusterIP != before.Spec.ClusterIP ||
		edited.Annotations["lb"] != "internal" ||
		resources.PortsOf(edited) != "spark-connect-server:15002 metrics:8090" {
		t.Errorf("the Service is %+v", edited)
	}

	resources.PatchServer(w, "x", `{"spec":{"server":{"service":null}}}`)

	plain := resources.ServerService(w, "x-server",
		func(s *corev1.Service) error { return world.Want(s.Spec.Type, corev1.ServiceTypeClusterIP) },
		resources.Selects(pod))
	if plain.UID != before.UID || plain.Spec.ClusterIP != before.Spec.ClusterIP || plain.Annotations["lb"] != "" ||
		resources.PortsOf(plain) != "spark-connect-server:15002" {
		t.Errorf("the Service is %+v", plain)
	}

	resources.PatchServer(w, "x", `{"spec":{"server":{"service":{"metadata":{"name":"sql"}}}}}`)
	resources.ServerService(w, "sql", resources.Selects(pod))
	w.WaitGone(plain)

	got := resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Server.ServiceName, "sql") })
	if now := resources.ServerPod(w, sc, 1); now.UID != pod.UID || got.Status.Operator.Attempt != 1 {
		t.Error("the server was replaced")
	}
}

// TestServiceThatSomebodyDeletes checks that the operator creates a deleted Service again, and that the new Service
// leads to the server.
func TestServiceThatSomebodyDeletes(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	service := resources.ServerService(w, "x-server")

	clock.Advance(auxiliary.OwnTrust)
	w.Remove(service)
	resources.ServerService(w, "x-server", resources.Selects(pod),
		func(s *corev1.Service) error { return world.Want(s.UID != service.UID, true) })
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"))
}

// TestServerSuspends checks that a suspended server keeps only its Service, with the same address, until the server is
// resumed.
func TestServerSuspends(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	resources.ReadyServer(w, sc, 1)
	service := resources.ServerService(w, "x-server")
	resources.PatchServer(w, "x", `{"spec":{"suspend":true}}`)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateNotReady,
		resources.Holds("Suspended", metav1.ConditionTrue, "Suspended"),
		resources.Holds("Ready", metav1.ConditionFalse, "Suspended"),
		resources.Absent("Stalled"),
		func(sc *v1alpha1.SparkConnect) error { return world.Want(sc.Status.Server.PodIP, "") })
	waitNoServer(w, sc)
	resources.PatchServer(w, "x", `{"spec":{"suspend":false}}`)
	next := resources.ReadyServer(w, sc, 2)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, resources.Absent("Suspended"))

	if after := resources.ServerService(w, "x-server", resources.Selects(next)); after.UID != service.UID ||
		after.Spec.ClusterIP != service.Spec.ClusterIP {
		t.Errorf("the Service is %+v", after)
	}
}

// TestEditWaitsForTheOldServer checks that no object of the next server is created while the old server stops, and that
// the status reports this wait.
func TestEditWaitsForTheOldServer(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	goes := w.TakesItsTime(pod)
	resources.PatchServer(w, "x", `{"spec":{"image":"other"}}`)
	w.WaitDeleting(pod)

	got := resources.WaitServer(w, "x", v1alpha1.SparkConnectStateProvisioning,
		resources.Holds("Progressing", metav1.ConditionTrue, "RollingOut"),
		resources.Holds("Reconciling", metav1.ConditionTrue, lifecycle.ReasonEdited, "spec"))
	if got.Status.Operator.Attempt != 1 {
		t.Errorf("the server is at attempt %d", got.Status.Operator.Attempt)
	}

	clock.Advance(time.Hour)
	resources.TriggerServerPass(w, "x")

	if w.MustExist(pod); pod.Labels[identity.AttemptLabel] != "1" {
		t.Errorf("the server is of attempt %s", pod.Labels[identity.AttemptLabel])
	}

	goes()

	if next := resources.ReadyServer(w, sc, 2); next.Spec.Containers[0].Image != "other" {
		t.Errorf("the server runs %s", next.Spec.Containers[0].Image)
	}
}

// TestServerIsMadeAnew checks a SparkConnect that is created just after an older SparkConnect with the same name was
// deleted. The pod and the Service of the older SparkConnect stop slowly, and the new server waits until they are gone.
// The new server does not fail. It also does not report that somebody else's objects have the names that it needs.
func TestServerIsMadeAnew(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	first := resources.Server(w, "x")
	pod := resources.ReadyServer(w, first, 1)
	service := resources.ServerService(w, "x-server")

	hold := `{"metadata":{"finalizers":["example.com/grace"]}}`
	if err := w.API.Patch(t.Context(), service, client.RawPatch(types.MergePatchType, []byte(hold))); err != nil {
		t.Fatal(err)
	}

	goes := w.TakesItsTime(pod)
	w.Remove(first)
	w.WaitGone(first)
	second := resources.Server(w, "x")
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateProvisioning,
		resources.Holds("Ready", metav1.ConditionFalse, dependents.ReasonNameTaken,
			"a deleted resource of the same name"))
	goes()

	if err := w.API.Patch(t.Context(), service,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}

	next := resources.ReadyServer(w, second, 1)
	if after := resources.ServerService(w, "x-server", resources.Selects(next)); after.UID == service.UID {
		t.Error("the Service belongs to the older SparkConnect")
	}

	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("ServiceReady", metav1.ConditionTrue, "ServiceReady"),
		resources.Holds("Ready", metav1.ConditionTrue, "Running"))

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
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	w.Remove(pod)
	// No kubelet delays the deletion, so the pod may be gone before a pass reads it as being deleted.
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateFailed, func(sc *v1alpha1.SparkConnect) error {
		if resources.Holds("Progressing", metav1.ConditionTrue, "DriverNotFound")(sc) == nil {
			return nil
		}
		return resources.Holds("Progressing", metav1.ConditionTrue, "DriverDeleted")(sc)
	})
	clock.Advance(connect.FirstInterval)
	resources.TriggerServerPass(w, "x")
	next := resources.ReadyServer(w, sc, 2)

	before := next.DeepCopy()
	w.MustExist(next)

	next.Status.Conditions[0].Status = corev1.ConditionFalse // as the node controller does
	if err := w.API.Status().Patch(t.Context(), next, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	clock.Advance(time.Minute)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateNotReady,
		resources.Holds("Ready", metav1.ConditionFalse, "NodeLost"))
	w.WaitEvent(sc, "SparkServerUnknown", "NodeLost")
	clock.Advance(time.Hour)
	resources.TriggerServerPass(w, "x")
	w.Ready("x-server")

	got := resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady)
	if now := resources.ServerPod(w, sc, 2); now.UID != before.UID || got.Status.Operator.Attempt != 2 {
		t.Error("the server was replaced while it could have run")
	}
}

// TestDeletedServerLeavesNothing checks that executors are deleted with the server's pod, which is their only owner.
func TestDeletedServerLeavesNothing(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	executor := resources.ServerExecutor(w, pod, 1)
	service := resources.ServerService(w, "x-server")
	w.Remove(sc)
	w.WaitGone(service)
	w.WaitGone(executor)
	waitNoServer(w, sc)
}

// TestRequestsOfAServersLaunch checks which requests the operator sends until a server is Ready. It creates the
// server's objects and Events and writes the status, and it sends no reads.
func TestRequestsOfAServersLaunch(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	made := &world.Requests{}
	cfg := world.Config(w.Namespace)
	cfg.Apache.Enabled = new(false) // otherwise periodic requests for optional kinds would be counted
	stop := resources.RunServers(w, cfg, clock.Now, func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	// The first server syncs the caches and opens the connections.
	resources.ReadyServer(w, resources.Server(w, "first"), 1)

	before := made.Since(nil)

	resources.ReadyServer(w, resources.Server(w, "second"), 1)
	stop() // every event is written

	got := made.Since(before)
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

	if diff := cmp.Diff(map[string]int{"POST configmaps": 1, "POST services": 2, "POST networkpolicies": 1,
		"POST pods": 1}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestQuietServer checks that passes over a Ready server send no requests, however many passes are made. It also checks
// that the metrics have a sample for the kind SparkConnect.
func TestQuietServer(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	made := &world.Requests{}
	stop := resources.RunServers(w, world.Config(w.Namespace), clock.Now,
		func(env *operator.Environment) { env.Rest.Wrap(made.Over) })
	sc := resources.Server(w, "x")
	resources.ReadyServer(w, sc, 1)
	clock.Advance(auxiliary.OwnTrust)

	version := resources.GetServer(w, "x").ResourceVersion
	kit.Wait(t, "the last write", func(context.Context) error { // of the debounced changes
		old := version
		version = resources.GetServer(w, "x").ResourceVersion
		return errors.Join(world.Want(version, old), world.Want(made.Since(nil)["POST events"] > 1, true))
	})

	before := made.Since(nil)

	for range 5 {
		readCount := clock.ReadCount.Load()

		resources.TriggerServerPass(w, "x")
		kit.Wait(t, "a pass", func(context.Context) error {
			return world.Want(clock.ReadCount.Load() > readCount,
				true)
		})
		clock.Advance(time.Hour)
	}

	for _, check := range []struct {
		metric string
		want   float64
	}{{"sparkoperator_applications", 1}, {"spark_application_count", 0}, {"spark_application_running_count", 0},
		{"spark_executor_running_count", 0}} {
		w.WaitMetric(check.metric, check.want)
	}

	stop()

	if got := made.Since(before); len(got) > 0 {
		t.Errorf("the passes over a Ready server cause the requests %v", got)
	}
}

// TestExecutorsOfAServerAreStoredTogether checks that executors that start and end by the dozen, as with dynamic
// allocation, cause at most one status write every two seconds.
func TestExecutorsOfAServerAreStoredTogether(t *testing.T) {
	t.Parallel()
	const many = 30
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)

	before, began := w.Metric("sparkoperator_status_writes_total"), time.Now()
	for id := 2; id < 2+many; id++ {
		executor := resources.ServerExecutor(w, pod, id)
		w.Create(executor)
		w.Kubelet(executor.Name, corev1.PodRunning, world.Running())

		if id%2 == 0 {
			w.Remove(executor)
		}
	}

	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(world.Want(sc.Status.Executors["running"], 1+many/2),
			world.Want(len(sc.Status.Executors), 1))
	})

	writes, most := w.Metric("sparkoperator_status_writes_total")-before,
		2+time.Since(began).Seconds()/world.Quiet.Seconds()
	if t.Logf("%v writes in %s", writes, time.Since(began)); writes > most {
		t.Errorf("%v writes for %d executors, want at most %v", writes, many, most)
	}
}
