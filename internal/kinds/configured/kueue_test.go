package configured_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// These tests play the lives of queued resources of spark.apache.org, with an operator that has the integration of
// Kueue and a test that plays Kueue, the kubelet and Spark.

const piWorkload = "sparkapplication-pi"

// queueing returns a world with an operator that queues applications, and Kueue with the given quota.
func queueing(t *testing.T, quota ...string) (*world.World, *queues.Queues) {
	t.Helper()
	w := world.New(t)
	q := queues.New(t, w.Namespace, quota...)
	cfg := world.Config(w.Namespace)
	cfg.Kueue.Enabled = true
	resources.RunApache(w, cfg, time.Now)
	return w, q
}

// inQueue puts an application into the queue of the tests.
func inQueue(app *resources.ApacheApp) {
	app.Labels = map[string]string{kueue.QueueLabel: "research"}
	app.Spec.ApplicationTolerations = &sparkv1.ApplicationTolerations{ResourceRetainPolicy: sparkv1.RetainNever}
}

// waitWorkload waits until the Workload of a name exists and holds what a function checks.
func waitWorkload(q *queues.Queues, name string, holds func(*kueue.Workload) error) (w *kueue.Workload) {
	q.T.Helper()
	kit.Wait(q.T, "Workload "+name, func(context.Context) error {
		if w = q.Workload(name); w == nil {
			return errors.New("it does not exist")
		}

		if holds == nil {
			return nil
		}
		return holds(w)
	})
	return w
}

// cycle lets Kueue decide, until no other client is in the way.
func cycle(q *queues.Queues) {
	q.T.Helper()
	kit.Wait(q.T, "Kueue to decide", q.Cycle)
}

// admittedDriver waits for a request, lets Kueue admit it, and returns the driver of the attempt.
func admittedDriver(w *world.World, q *queues.Queues, app *resources.ApacheApp, attempt int) *corev1.Pod {
	w.T.Helper()
	waitWorkload(q, "sparkapplication-"+app.Name, func(wl *kueue.Workload) error {
		return world.Want(wl.Annotations[kueue.AttemptAnnotation], fmt.Sprint(attempt))
	})
	cycle(q)
	return resources.ApacheDriver(w, app, attempt)
}

// noPods returns an error if there is a pod in the namespace of a test.
func noPods(ctx context.Context, w *world.World) error {
	var pods corev1.PodList
	if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace)); err != nil {
		return err
	}
	return world.Want(len(pods.Items), 0)
}

// TestQueuedLife plays the life of an application: it waits without a state, runs where its flavor says, is evicted
// while it runs, keeps its quota until its last pod is gone, waits again with the same Workload, and ends.
func TestQueuedLife(t *testing.T) {
	t.Parallel()
	w, q := queueing(t, "cpu", "2")
	app := resources.CreateApache(w, "pi", inQueue)
	first := waitWorkload(q, piWorkload, nil)
	w.WaitEvent(app, "KueueAdmissionPending", piWorkload)

	if state := resources.GetApache(w, "pi").Status.CurrentState; state != nil || noPods(t.Context(), w) != nil {
		t.Errorf("before the admission, the state is %+v, pods: %v", state, noPods(t.Context(), w))
	}

	for _, lacks := range []string{"cpu", "memory"} {
		q.Change(piWorkload, func(wl *kueue.Workload) {
			meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", Message: "insufficient quota for " + lacks})
		})
		kit.Wait(t, "the condition Ready to follow Kueue's message", func(context.Context) error {
			ready := meta.FindStatusCondition(resources.GetApache(w, "pi").Status.Conditions, dialect.ConditionReady)
			return world.Want(ready != nil && strings.Contains(ready.Message, lacks), true)
		})
	}

	driver := admittedDriver(w, q, app, 1)
	if driver.Spec.NodeSelector["flavor"] != w.Namespace {
		t.Errorf("the driver runs on nodes %v", driver.Spec.NodeSelector)
	}

	w.WaitEvent(app, "KueueAdmitted", piWorkload)
	w.Ready(driver.Name)

	executor := resources.ApacheExecutorPod(w, app, driver, 1)
	w.Create(executor)
	w.Ready(executor.Name)
	waitWorkload(q, piWorkload, func(wl *kueue.Workload) error { return world.Want(queues.Is(wl, kueue.PodsReady), true) })

	goes := w.TakesItsTime(driver)

	q.EvictNow(piWorkload, "Preempted")
	resources.WaitApache(w, "pi", sparkv1.ApplicationSuspended, func(app *resources.ApacheApp) error {
		return world.Want(app.Status.CurrentState.SuspendReason, sparkv1.KueueEviction)
	})
	w.WaitDeleting(driver)
	cycle(q)

	if wl := q.Workload(piWorkload); !queues.Is(wl, kueue.QuotaReserved) {
		t.Error("the quota was given back while the driver still stops")
	}

	w.Stopped(driver)
	w.Remove(executor)
	goes()
	waitWorkload(q, piWorkload, func(wl *kueue.Workload) error {
		return errors.Join(world.Want(queues.Is(wl, kueue.QuotaReserved), false), world.Want(wl.UID, first.UID), world.Want(queues.Is(wl, kueue.Requeued), true))
	})

	driver = admittedDriver(w, q, app, 2)
	w.Execute(driver, scene.Exited(0, ""))
	resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	kit.Wait(t, "the Workload to be deleted", func(context.Context) error { return world.Want(q.Workload(piWorkload) == nil, true) })

	if err := noPods(t.Context(), w); err != nil {
		t.Errorf("pods are left: %v", err)
	}
}

// bound checks that a Workload is bound to a pod, and by how many owners.
func bound(pod *corev1.Pod, owners int) func(*kueue.Workload) error {
	return func(wl *kueue.Workload) error {
		holds := slices.ContainsFunc(wl.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == pod.UID })
		return errors.Join(world.Want(holds, true), world.Want(len(wl.OwnerReferences), owners))
	}
}

// TestQuotaOfADeletedApplication checks that an application that is deleted keeps its quota until its driver has
// stopped. Until then, an application with the same name waits, and does not take the quota away.
func TestQuotaOfADeletedApplication(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, world.Cascade)
	w, q := queueing(t, "cpu", "2")
	app := resources.CreateApache(w, "pi", inQueue)
	driver := admittedDriver(w, q, app, 1)
	w.Ready(driver.Name)
	first := waitWorkload(q, piWorkload, bound(driver, 2))
	goes := w.TakesItsTime(driver)

	if err := w.API.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(app)
	w.WaitDeleting(driver)
	waitWorkload(q, piWorkload, bound(driver, 1))

	again := resources.CreateApache(w, "pi", inQueue)
	w.WaitEvent(again, "KueueAdmissionPending", "whose pods still stop")
	cycle(q)

	if wl := q.Workload(piWorkload); wl == nil || wl.UID != first.UID || !queues.Is(wl, kueue.QuotaReserved) {
		t.Errorf("the quota was given back while the driver still stops: %+v", wl)
	}

	goes()
	kit.Wait(t, "the Workload to be deleted", func(context.Context) error {
		wl := q.Workload(piWorkload)
		return world.Want(wl == nil || wl.UID != first.UID, true)
	})
}

// TestDefinitionsOfKueueComeAndGo checks that applications in a queue wait while the API server does not serve Kueue's
// definitions, that running ones go on when the definitions disappear, and that all continue when they come back. It
// runs before the parallel tests, which need the definitions.
func TestDefinitionsOfKueueComeAndGo(t *testing.T) {
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	cfg.Kueue.Enabled = true
	resources.RunApache(w, cfg, time.Now)

	early := resources.CreateApache(w, "early", inQueue)
	w.WaitEvent(early, "KueueAdmissionRequestFailed", "install Kueue")

	if err := noPods(t.Context(), w); err != nil {
		t.Fatal(err)
	}

	q := queues.New(t, w.Namespace, "cpu", "2")
	resources.TriggerApachePass(w, "early")
	driver := admittedDriver(w, q, early, 1)
	w.Ready(driver.Name)

	definitions, err := queues.Definitions()
	if err != nil {
		t.Fatal(err)
	}

	for _, definition := range definitions {
		if err := w.API.Delete(t.Context(), definition); err != nil {
			t.Fatal(err)
		}
	}

	for _, definition := range definitions {
		w.WaitGone(definition)
	}

	late := resources.CreateApache(w, "late", inQueue)
	w.WaitEvent(late, "KueueAdmissionRequestFailed")
	w.Execute(driver, scene.Exited(0, ""))
	resources.WaitApache(w, "early", sparkv1.ApplicationResourceReleased)

	q = queues.New(t, w.Namespace, "cpu", "2") // the flavor disappeared with its definition
	resources.TriggerApachePass(w, "late")
	admittedDriver(w, q, late, 1)
}

// TestQueuedApplicationsInOddStates plays what can happen to the Workload of an application that runs or waits. The
// application continues, or waits for a named reason.
func TestQueuedApplicationsInOddStates(t *testing.T) {
	t.Parallel()
	w, q := queueing(t, "cpu", "20")

	running := func(name string) (*resources.ApacheApp, *corev1.Pod) {
		app := resources.CreateApache(w, name, inQueue)
		driver := admittedDriver(w, q, app, 1)
		w.Ready(driver.Name)
		resources.WaitApache(w, name, sparkv1.ApplicationRunningHealthy)
		return app, driver
	}

	t.Run("deleted by hand", func(t *testing.T) {
		_, driver := running("deleted")

		if err := q.API.Delete(t.Context(), q.Workload("sparkapplication-deleted")); err != nil {
			t.Fatal(err)
		}

		resources.TriggerApachePass(w, "deleted")
		w.Execute(driver, scene.Exited(0, ""))
		resources.WaitApache(w, "deleted", sparkv1.ApplicationResourceReleased)
	})

	t.Run("deactivated", func(t *testing.T) {
		app, _ := running("inactive")
		name := "sparkapplication-inactive"
		q.Change(name, func(wl *kueue.Workload) { wl.Spec.Active = new(false) })
		cycle(q)
		resources.WaitApache(w, "inactive", sparkv1.ApplicationSuspended)
		waitWorkload(q, name, func(wl *kueue.Workload) error { return world.Want(queues.Is(wl, kueue.QuotaReserved), false) })
		cycle(q)

		if state := resources.GetApache(w, "inactive").Status.CurrentState.CurrentStateSummary; state != sparkv1.ApplicationSuspended {
			t.Errorf("the state is %s", state)
		}

		q.Change(name, func(wl *kueue.Workload) { wl.Spec.Active = new(true) })
		resources.WaitApache(w, "inactive", sparkv1.ApplicationSubmitted)
		admittedDriver(w, q, app, 2)
	})

	t.Run("of somebody else", func(t *testing.T) {
		theirs := &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 1, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}}}}}
		theirs.Namespace, theirs.Name = w.Namespace, "sparkapplication-foreign"

		if err := q.API.Create(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}

		app := resources.CreateApache(w, "foreign", inQueue)
		w.WaitEvent(app, "KueueAdmissionRequestFailed", "does not belong to this resource")

		if err := q.API.Delete(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}

		resources.TriggerApachePass(w, "foreign")
		admittedDriver(w, q, app, 1)
	})

	t.Run("the label is removed while it waits", func(t *testing.T) {
		app := resources.CreateApache(w, "unlabelled", inQueue)

		waitWorkload(q, "sparkapplication-unlabelled", nil)
		resources.PatchApache(w, "unlabelled", `{"metadata":{"labels":null}}`)
		resources.ApacheDriver(w, app, 1)
		kit.Wait(t, "the Workload to be deleted", func(context.Context) error { return world.Want(q.Workload("sparkapplication-unlabelled") == nil, true) })
	})

	t.Run("the flavor cannot be read", func(t *testing.T) {
		flavor := &kueue.ResourceFlavor{}
		if err := q.API.Get(t.Context(), client.ObjectKey{Name: w.Namespace}, flavor); err != nil {
			t.Fatal(err)
		}

		if err := q.API.Delete(t.Context(), flavor.DeepCopy()); err != nil {
			t.Fatal(err)
		}

		app := resources.CreateApache(w, "flavorless", inQueue)

		waitWorkload(q, "sparkapplication-flavorless", nil)
		cycle(q)
		w.WaitEvent(app, "KueueResourceFlavorReadFailed", "ResourceFlavor "+w.Namespace)

		flavor.ResourceVersion = ""
		if err := q.API.Create(t.Context(), flavor); err != nil {
			t.Fatal(err)
		}

		resources.TriggerApachePass(w, "flavorless")
		resources.ApacheDriver(w, app, 1)
	})
}

// TestKueueSwitchedOff checks that an operator without the integration starts applications that wait, leaves their
// Workloads alone, and continues those that run.
func TestKueueSwitchedOff(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	q := queues.New(t, w.Namespace, "cpu", "2")
	cfg := world.Config(w.Namespace)
	cfg.Kueue.Enabled = true
	stop := resources.RunApache(w, cfg, time.Now)
	runs := resources.CreateApache(w, "runs", inQueue)
	driver := admittedDriver(w, q, runs, 1)
	w.Ready(driver.Name)
	resources.WaitApache(w, "runs", sparkv1.ApplicationRunningHealthy)

	waits := resources.CreateApache(w, "waits", inQueue)

	waitWorkload(q, "sparkapplication-waits", nil)
	stop()

	cfg.Kueue.Enabled = false
	resources.RunApache(w, cfg, time.Now)
	resources.ApacheDriver(w, waits, 1)
	w.WaitEvent(waits, "KueueDisabled", "has no effect")
	w.Execute(driver, scene.Exited(0, ""))
	resources.WaitApache(w, "runs", sparkv1.ApplicationResourceReleased)

	for _, name := range []string{"sparkapplication-runs", "sparkapplication-waits"} {
		if q.Workload(name) == nil {
			t.Errorf("Workload %s was deleted", name)
		}
	}
}

// TestQueuedServer plays the life of a Spark Connect server: it waits, runs where its flavor says, is evicted, gives
// its quota back when its pod is gone, and runs again with the same Workload.
func TestQueuedServer(t *testing.T) {
	t.Parallel()

	const workload = "sparkconnect-s"
	w := world.New(t)
	q := queues.New(t, w.Namespace, "cpu", "20")
	cfg := world.Config(w.Namespace)
	cfg.Kueue.Enabled = true
	resources.RunServers(w, cfg, time.Now)

	server := resources.Server(w, "s", func(sc *v1alpha1.SparkConnect) { sc.Labels = map[string]string{kueue.QueueLabel: "research"} })
	first := waitWorkload(q, workload, nil)
	w.WaitEvent(server, "KueueAdmissionPending", workload)

	if err := noPods(t.Context(), w); err != nil {
		t.Errorf("before the admission: %v", err)
	}

	cycle(q)

	pod := resources.ServerPod(w, server, 1)
	if pod.Spec.NodeSelector["flavor"] != w.Namespace {
		t.Errorf("the server runs on nodes %v", pod.Spec.NodeSelector)
	}

	w.Ready(pod.Name)
	resources.WaitServer(w, "s", v1alpha1.SparkConnectStateReady)

	goes := w.TakesItsTime(pod)

	q.EvictNow(workload, "Preempted")
	w.WaitDeleting(pod)

	if !queues.Is(q.Workload(workload), kueue.QuotaReserved) {
		t.Error("the quota was given back while the server still stops")
	}

	goes()
	waitWorkload(q, workload, func(wl *kueue.Workload) error {
		return errors.Join(world.Want(queues.Is(wl, kueue.QuotaReserved), false), world.Want(wl.UID, first.UID))
	})
	cycle(q)
	resources.ServerPod(w, server, 2)
}

// TestQueuedPodSets checks for generated applications that the pod sets of their Workload request what their pods
// request, with the same number of pods.
func TestQueuedPodSets(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 3))
	cfg := config.Default()
	cfg.Kueue.Enabled = true
	kind := configured.For(kinds.ApacheApplication).Build(func() config.Configuration { return cfg }, nil)
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

	checked := 0
	for i := range 400 {
		app := generatedApp(r)

		pods, err := kind.(apply.Queued).Pods(app, lifecycle.Observed{}, now)
		if err != nil {
			t.Logf("application %d is refused: %v", i, err)
			continue
		}

		objects, err := kind.(apply.Launcher).Render(app, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, now)
		if err != nil {
			t.Fatalf("application %d: %v", i, err)
		}

		executor, err := kind.(apply.Prober).Executor(app, 1, 1, "driver", now)
		if err != nil {
			t.Fatalf("application %d: %v", i, err)
		}

		instances, _ := strconv.Atoi(cmp.Or(app.Spec.SparkConf["spark.executor.instances"], "2"))

		sets := kueue.PodSets(pods)
		want := []string{fmt.Sprintf("driver 1 %s", requested(objects.Driver)), fmt.Sprintf("executor %d %s", instances, requested(executor))}

		var got []string
		for _, set := range sets {
			got = append(got, fmt.Sprintf("%s %d %s", set.Name, set.Count, requested(&corev1.Pod{Spec: set.Template.Spec})))
		}

		if instances == 0 {
			want = want[:1]
		}

		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("application %d, conf %v (-pods +pod sets):\n%s", i, app.Spec.SparkConf, diff)
		}

		checked++
	}

	if checked < 200 {
		t.Errorf("only %d applications were checked", checked)
	}
}

// requested returns what a pod requests, and where it can run.
func requested(pod *corev1.Pod) string {
	var texts []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		var list []string
		for name, quantity := range c.Resources.Requests {
			list = append(list, fmt.Sprintf("%s=%d", name, quantity.MilliValue()))
		}

		slices.Sort(list)

		texts = append(texts, c.Name+": "+strings.Join(list, " "))
	}
	return fmt.Sprint(texts, pod.Spec.NodeSelector, pod.Spec.Tolerations, pod.Spec.PriorityClassName)
}

// generatedApp returns an application with random requests.
func generatedApp(r *rand.Rand) *resources.ApacheApp {
	app := &resources.ApacheApp{Spec: sparkv1.ApplicationSpec{
		MainClass: "Pi", Jars: "local:///pi.jar", RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: "4.1.4"},
		SparkConf: map[string]string{"spark.kubernetes.container.image": "spark", "spark.kubernetes.authenticate.driver.serviceAccountName": "default"},
	}}
	app.Namespace, app.Name, app.UID = "team", "pi", "uid"
	app.Labels = map[string]string{kueue.QueueLabel: "research"}

	if r.IntN(3) == 0 {
		app.Spec.MainClass, app.Spec.Jars, app.Spec.PyFiles = "", "", "local:///pi.py"
	}

	pick := func(key string, values ...string) {
		if r.IntN(3) == 0 {
			app.Spec.SparkConf[key] = values[r.IntN(len(values))]
		}
	}
	pick("spark.executor.instances", "0", "1", "5", "40")
	pick("spark.executor.pyspark.memory", "512m", "1g")
	pick("spark.memory.offHeap.size", "1g", "268435456")
	pick("spark.memory.offHeap.enabled", "true", "false")
	pick("spark.kubernetes.memoryOverheadFactor", "0.3", "0.05")
	pick("spark.kubernetes.node.selector.pool", "a", "b")
	pick("spark.executor.resource.gpu.amount", "1", "2")

	if app.Spec.SparkConf["spark.executor.resource.gpu.amount"] != "" {
		app.Spec.SparkConf["spark.executor.resource.gpu.vendor"], app.Spec.SparkConf["spark.executor.resource.gpu.discoveryScript"] = "nvidia.com", "/find"
	}

	for _, role := range []string{"driver", "executor"} {
		pick("spark."+role+".memory", "512m", "3g", "1500m")
		pick("spark."+role+".memoryOverhead", "100m", "2g", "777")
		pick("spark."+role+".minMemoryOverhead", "500m")
		pick("spark."+role+".memoryOverheadFactor", "0.5")
		pick("spark."+role+".cores", "1", "3")
		pick("spark.kubernetes."+role+".request.cores", "100m", "2500m", "2")
		pick("spark.kubernetes."+role+".limit.cores", "4", "8")
		pick("spark.kubernetes."+role+".node.selector.disk", "ssd")

		if r.IntN(3) > 0 {
			continue
		}

		template := &runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"spark","resources":{"requests":{"cpu":"7","ephemeral-storage":"1Gi"}}},
			{"name":"sidecar","resources":{"requests":{"cpu":"250m","memory":"64Mi"}}}],"initContainers":[{"name":"fetch","resources":{"requests":{"cpu":"9"}}}],
			"nodeSelector":{"zone":"x"},"tolerations":[{"key":"spot","operator":"Exists"}],"priorityClassName":"high"}}`)}
		if role == "driver" {
			app.Spec.DriverSpec = &sparkv1.PodTemplate{PodTemplateSpec: template}
		} else {
			app.Spec.ExecutorSpec = &sparkv1.PodTemplate{PodTemplateSpec: template}
		}
	}
	return app
}
