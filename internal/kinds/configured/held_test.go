package configured_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// invented is a state that no operator writes yet.
const invented = "Hibernating"

// heldKinds are the kinds of spark.apache.org: their plural names, and the specs of minimal objects.
var heldKinds = map[string]struct{ plural, spec string }{
	"SparkApplication": {"sparkapplications",
		`{"mainClass": "Pi", "jars": "local:///pi.jar", "runtimeVersions": {"sparkVersion": "4.1.4"}, "sparkConf": {"spark.kubernetes.container.image": "spark"}}`},
	"SparkCluster": {"sparkclusters",
		`{"runtimeVersions": {"sparkVersion": "4.1.4"}, "sparkConf": {"spark.kubernetes.container.image": "spark"},
		"clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}}}`},
}

// statesOf returns the states of a kind, from our definition's copy of release 1.1: the empty state and the
// enumeration.
func statesOf(t *testing.T, plural string) []string {
	t.Helper()

	states := []string{""}
	for _, v := range crd.Ours(t,
		"spark.apache.org_"+plural+".yaml").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["currentState"].Properties["currentStateSummary"].Enum {
		states = append(states, strings.Trim(string(v.Raw), `"`))
	}

	if !slices.Contains(states, "Suspended") {
		t.Fatalf("%s has the states %v", plural, states)
	}
	return states
}

// starting and stopped are the states in which a suspended resource is held, and in which it has something to stop. In
// all other states it has ended.
var (
	starting = []string{"", "Submitted", "ScheduledToRestart"}
	stopped  = []string{
		"DriverRequested", "DriverStarted", "DriverReady", "InitializedBelowThresholdExecutors", "RunningHealthy",
		"RunningWithPartialCapacity",
		"RunningWithBelowThresholdExecutors", "Suspended",
	}
)

// TestSuspendedResourcesStartNothing walks all states of release 1.1 of the Apache Spark project's operator, and an
// invented state, for both kinds. No pod and no StatefulSet is created for resources with spec.suspend in each of these
// states, for resources that Kueue evicted, and for resources in a state that this operator does not have. Each
// resource that this operator can continue starts when the suspension is lifted.
//
// Before, the definitions pruned spec.suspend, so that every such resource started.
func TestSuspendedResourcesStartNothing(t *testing.T) {
	w := world.New(t)
	type held struct {
		object        *unstructured.Unstructured
		state, reason string // the reason is that of the condition Ready; empty if the resource has ended
		suspendReason sparkv1.SuspendReason
	}

	var all []held
	add := func(kind, state string, suspendReason sparkv1.SuspendReason, suspend bool) {
		reason := ""
		switch {
		case state == invented && !kit.SinceKubernetes(t, kit.StatusRatchets):
			return // the status cannot be written
		case state == invented:
			reason = dialect.ReasonOtherOperator
		case !suspend:
			reason = apache.ReasonEvicted
		case slices.Contains(starting, state), kind == "SparkCluster" && state == "SchedulingFailure":
			reason = apache.ReasonSuspendHeld
		case slices.Contains(stopped, state):
			reason = lifecycle.ReasonSuspended
		}

		object := parsedObject(w, `{"apiVersion": "spark.apache.org/v1", "kind": "`+kind+`", "spec": `+
			heldKinds[kind].spec+`}`, fmt.Sprintf("%s-%d", strings.ToLower(kind), len(all)))
		object.Object["spec"].(map[string]any)["suspend"] = suspend
		w.Create(object)
		all = append(all, held{object, state, reason, suspendReason})
	}

	for kind, k := range heldKinds {
		for _, state := range append(statesOf(t, k.plural), invented) {
			add(kind, state, "", true)
		}

		add(kind, "Suspended", sparkv1.KueueEviction, false)
		add(kind, invented, "", false)
	}

	storedBefore(w, func() { // by an operator whose definitions have the invented state
		for _, h := range all {
			if h.state == "" {
				continue
			}

			status, err := json.Marshal(map[string]any{"status": map[string]any{"currentState": sparkv1.ClusterState{
				CurrentStateSummary: sparkv1.ClusterStateSummary(h.state), SuspendReason: h.suspendReason,
				LastTransitionTime: "2026-01-02T03:04:05Z"}}})
			if err != nil {
				t.Fatal(err)
			}

			kit.Wait(t, h.object.GetName()+" to have a state", func(ctx context.Context) error {
				return w.API.Status().Patch(ctx, h.object, client.RawPatch(types.MergePatchType, status))
			})
		}
	})
	t.Parallel()

	handled := func() {
		t.Helper()

		for _, h := range all {
			kit.Wait(t, h.object.GetName()+" in state "+h.state+" to be handled", func(ctx context.Context) error {
				ready, _, err := readyOf(ctx, w, h.object)
				if err != nil || h.reason == "" {
					return err
				}

				told := h.reason == lifecycle.ReasonSuspended || w.EventsOf(h.object)[h.reason] != ""
				return errors.Join(world.Want(ready.Status, metav1.ConditionFalse), world.Want(ready.Reason, h.reason),
					world.Want(told, true))
			})
		}
	}

	stop := runHeld(w)

	handled()
	stop()

	stop = runHeld(w) // another process holds them too, and reports nothing again
	for _, h := range all {
		w.PatchWith(h.object, fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, time.Now()))
	}

	begins := parsedObject(w, `{"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "spec": `+
		heldKinds["SparkApplication"].spec+`}`, "begins")
	w.Create(begins)
	w.WaitPod("begins-0-driver")
	handled()
	holdsNothing(w, "begins")

	for _, h := range all {
		warningsOf(w, h.object) // fails if an event was repeated
		w.PatchWith(h.object, `{"spec":{"suspend":false}}`)
	}

	for _, h := range all {
		if h.reason != apache.ReasonSuspendHeld && h.reason != lifecycle.ReasonSuspended {
			continue
		}

		kit.Wait(t, h.object.GetName()+" in state "+h.state+" to start", func(ctx context.Context) error {
			if h.object.GetKind() == "SparkCluster" {
				return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: h.object.GetName() + "-master"},
					&appsv1.StatefulSet{})
			}
			return hasDriver(ctx, w, h.object.GetName())
		})
	}

	for _, h := range all {
		if h.reason != dialect.ReasonOtherOperator && h.reason != apache.ReasonEvicted {
			continue
		}

		if ready, _, err := readyOf(t.Context(), w, h.object); err != nil || ready.Reason != h.reason {
			t.Errorf("%s in state %s is %+v, %v", h.object.GetName(), h.state, ready, err)
		}

		if h.object.GetKind() == "SparkCluster" {
			if err := w.API.Get(t.Context(),
				client.ObjectKey{Namespace: w.Namespace, Name: h.object.GetName() + "-master"},
				&appsv1.StatefulSet{}); err == nil {
				t.Errorf("%s in state %s was started", h.object.GetName(), h.state)
			}
		} else if hasDriver(t.Context(), w, h.object.GetName()) == nil {
			t.Errorf("%s in state %s was started", h.object.GetName(), h.state)
		}
	}

	stop()
}

// hasDriver returns an error if no driver pod of an application of spark.apache.org exists, in whatever attempt.
func hasDriver(ctx context.Context, w *world.World, name string) error {
	var pods corev1.PodList
	if err := w.API.List(ctx, &pods, client.InNamespace(w.Namespace)); err != nil {
		return err
	}

	isDriver := func(pod corev1.Pod) bool {
		attempt, suffix := strings.CutSuffix(pod.Name, "-driver")
		attempt, prefix := strings.CutPrefix(attempt, name+"-")
		_, err := strconv.Atoi(attempt)
		return prefix && suffix && err == nil
	}
	if !slices.ContainsFunc(pods.Items, isDriver) {
		return fmt.Errorf("%s has no driver", name)
	}
	return nil
}

// TestRunningResourcesAreSuspended checks that spec.suspend stops an application and a cluster that run: their state is
// Suspended, their pods go, and the Services of the cluster stay. A resume starts both again from their current specs,
// the application in its next attempt although its policy allows no restart.
func TestRunningResourcesAreSuspended(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	runHeld(w)
	resources.CreateApache(w, "pi")
	resources.CreateCluster(w, "c")
	w.Ready(w.WaitPod("pi-0-driver").Name)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1),
		resources.ClusterHolds("Ready", metav1.ConditionTrue))

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "c-master-svc"}}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(service), service); err != nil {
		t.Fatal(err)
	}

	resources.PatchApache(w, "pi",
		`{"spec":{"suspend":true},"metadata":{"annotations":{"sparkoperator.dev/restart":"now"}}}`)
	resources.PatchCluster(w, "c",
		`{"spec":{"suspend":true,"clusterTolerations":{"instanceConfig":{"initWorkers":2,"minWorkers":2,"maxWorkers":2}}}}`)
	resources.WaitApache(w, "pi", sparkv1.ApplicationSuspended, func(app *resources.ApacheApp) error {
		return errors.Join(world.Want(app.Status.CurrentState.SuspendReason, sparkv1.SpecSuspend),
			world.Want(meta.IsStatusConditionTrue(app.Status.Conditions, dialect.ConditionSuspended), true))
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterSuspended,
		resources.ClusterHolds(dialect.ConditionSuspended, metav1.ConditionTrue),
		resources.ClusterHolds("Ready", metav1.ConditionFalse, "Suspended"))
	w.WaitEvent(resources.GetApache(w, "pi"), string(sparkv1.ApplicationSuspended))
	w.WaitEvent(resources.GetCluster(w, "c"), string(sparkv1.ApplicationSuspended))
	holdsNothing(w)

	kept := service.DeepCopy()
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil || kept.UID != service.UID {
		t.Errorf("the Service of the master: %v, UID %s, before %s", err, kept.UID, service.UID)
	}

	resources.TriggerApachePass(w, "pi")
	resources.CreateApache(w, "later")
	w.WaitPod("later-0-driver")
	holdsNothing(w, "later")

	resources.PatchApache(w, "pi", `{"spec":{"suspend":false}}`)
	resources.PatchCluster(w, "c", `{"spec":{"suspend":false}}`)
	w.WaitPod("pi-1-driver")
	resources.WaitApache(w, "pi", sparkv1.ApplicationRunningHealthy)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(2),
		resources.ClusterHolds("Ready", metav1.ConditionTrue))
	w.WaitEvent(resources.GetApache(w, "pi"), string(sparkv1.ApplicationSubmitted))
}

// TestUnseenFailureComesBeforeASuspension checks that a driver that failed before the suspension is stored ends the
// application, although the operator's cache still shows the driver as running.
func TestUnseenFailureComesBeforeASuspension(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	hears, made := &world.LaggingWatch{Resource: "pods"}, &world.Requests{}
	resources.RunApache(w, world.Config(w.Namespace), time.Now, func(env *operator.Environment) {
		env.Rest.Wrap(hears.Over)
		env.Rest.Wrap(made.Over)
	})

	driver := resources.ReadyDriver(w, resources.CreateApache(w, "pi"), 1)
	end, before := hears.Begin(), made.Since(nil)

	w.Kubelet(driver.Name, corev1.PodFailed, scene.Exited(3, "unseen"))
	resources.PatchApache(w, "pi", `{"spec":{"suspend":true}}`)
	kit.Wait(t, "a live read", func(context.Context) error {
		return world.Want(made.Since(before)["GET pods"] > 0, true)
	})
	end()

	got := resources.WaitApache(w, "pi", sparkv1.ApplicationResourceReleased)
	checkHistory(t, got, resources.Ran(sparkv1.ApplicationFailed, sparkv1.ApplicationResourceReleased))
}

// TestInheritedClusterIsSuspended checks that a suspension stops clusters that another operator made: their
// StatefulSets, which lack our labels, are deleted with their pods, also if the other operator had not deleted them.
func TestInheritedClusterIsSuspended(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)

	suspended := func(sc *resources.SparkCluster) { sc.Spec.Suspend = new(true) }
	resources.CreateInheritedCluster(w, "runs", sparkv1.ClusterRunningHealthy, suspended)
	resources.CreateInheritedCluster(w, "stops", sparkv1.ClusterSuspended, suspended)
	w.Ready("runs-master-0")
	w.Ready("stops-master-0")

	runHeld(w)

	for _, name := range []string{"runs", "stops"} {
		resources.WaitCluster(w, name, sparkv1.ClusterSuspended,
			resources.ClusterHolds(dialect.ConditionSuspended, metav1.ConditionTrue))
	}

	holdsNothing(w)

	resources.PatchCluster(w, "runs", `{"spec":{"suspend":false}}`)
	resources.WaitCluster(w, "runs", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
}

// runHeld starts an operator that serves both kinds of spark.apache.org.
func runHeld(w *world.World) (stop func()) {
	w.T.Helper()
	kit.NeedsControllers(w.T, resources.PodsOfSets)

	op, err := operator.NewEmpty(w.T.Context(), world.Config(w.Namespace), w.Environment())
	if err != nil {
		w.T.Fatal(err)
	}

	op.Optional.Interval = 100 * time.Millisecond
	for _, kind := range []func() error{
		func() error {
			return operator.AddWhenServed(w.T.Context(), op,
				configured.For(kinds.ApacheApplication).Build(op.Settings, nil), time.Now)
		},
		func() error {
			return operator.AddWhenServed(w.T.Context(), op, configured.For(kinds.SparkCluster).Build(op.Settings, nil),
				time.Now)
		},
	} {
		if err := kind(); err != nil {
			w.T.Fatal(err)
		}
	}
	return w.Run(op)
}

// holdsNothing checks that no pod and no StatefulSet exists, except those of the given custom resources.
func holdsNothing(w *world.World, except ...string) {
	w.T.Helper()
	var pods corev1.PodList

	var sets appsv1.StatefulSetList
	for _, list := range []client.ObjectList{&pods, &sets} {
		if err := w.API.List(w.T.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.T.Fatal(err)
		}

		_ = meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			if !slices.ContainsFunc(except,
				func(name string) bool { return strings.HasPrefix(object.GetName(), name+"-") }) {
				w.T.Errorf("%T %s exists", object, object.GetName())
			}
			return nil
		})
	}
}

// readyOf reads the condition Ready of an object, and its field spec.suspend.
func readyOf(ctx context.Context, w *world.World, object *unstructured.Unstructured) (ready metav1.Condition,
	suspend bool, err error) {
	if err := w.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return ready, false, err
	}
	var decoded struct {
		Spec   struct{ Suspend bool }
		Status struct{ Conditions []metav1.Condition }
	}

	raw, err := json.Marshal(object.Object)
	if err != nil {
		return ready, false, err
	}

	if err := json.Unmarshal(raw, &decoded); err != nil {
		return ready, false, err
	}

	found := meta.FindStatusCondition(decoded.Status.Conditions, dialect.ConditionReady)
	if found == nil {
		return ready, decoded.Spec.Suspend, errors.New("no condition Ready")
	}
	return *found, decoded.Spec.Suspend, nil
}

// warningsOf returns the messages of the Events of the type Warning about an object, by their reason.
func warningsOf(w *world.World, object client.Object) map[string]string {
	w.T.Helper()

	var list corev1.EventList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}

	warnings := map[string]string{}
	for _, event := range list.Items {
		if event.InvolvedObject.UID == object.GetUID() && event.Type == corev1.EventTypeWarning {
			warnings[event.Reason] += event.Message
			if event.Count > 1 {
				w.T.Errorf("%s of %s is reported %d times", event.Reason, object.GetName(), event.Count)
			}
		}
	}
	return warnings
}
