package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// invented is a state that no operator writes yet.
const invented = "Hibernating"

// heldKinds are the kinds of spark.apache.org: their plural names, and the specs of minimal objects.
var heldKinds = map[string]struct{ plural, spec string }{
	"SparkApplication": {"sparkapplications", `{"mainClass": "Pi", "jars": "local:///pi.jar", "runtimeVersions": {"sparkVersion": "4.1.4"}, "sparkConf": {"spark.kubernetes.container.image": "spark"}}`},
	"SparkCluster": {"sparkclusters", `{"runtimeVersions": {"sparkVersion": "4.1.4"}, "sparkConf": {"spark.kubernetes.container.image": "spark"},
		"clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}}}`},
}

// statesOf returns the states of a kind, from our definition's copy of release 1.1: the empty state and the
// enumeration.
func statesOf(t *testing.T, plural string) []string {
	t.Helper()

	states := []string{""}
	for _, v := range crd.Ours(t, "spark.apache.org_"+plural+".yaml").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["currentState"].Properties["currentStateSummary"].Enum {
		states = append(states, strings.Trim(string(v.Raw), `"`))
	}

	if !slices.Contains(states, "Suspended") {
		t.Fatalf("%s has the states %v", plural, states)
	}
	return states
}

// TestHeldResourcesStartNothing walks all states of release 1.1 of the Apache Spark project's operator, and an invented
// state, for both kinds. Resources with spec.suspend in each of these states, and resources in states that this
// operator does not have, are held: no pod and no StatefulSet is created, Ready is False, and an event of the type
// Warning names the state. Each resource that this operator can continue starts, or is taken over, when the hold ends.
//
// Before, the definitions pruned spec.suspend, so that every such resource started; and a cluster in the state
// Suspended or in an unknown one was started even if the field was kept.
func TestHeldResourcesStartNothing(t *testing.T) {
	w := newWorld(t)
	type held struct {
		object  *unstructured.Unstructured
		state   string
		suspend bool
	}

	var all []held
	for kind, k := range heldKinds {
		for i, state := range append(statesOf(t, k.plural), invented) {
			for _, suspend := range []bool{true, false} {
				if unknown := state == "Suspended" || state == invented; !suspend && !unknown {
					continue
				}

				object := w.object(`{"apiVersion": "spark.apache.org/v1", "kind": "`+kind+`", "spec": `+k.spec+`}`, fmt.Sprintf("%s-%d-%t", strings.ToLower(kind), i, suspend))
				object.Object["spec"].(map[string]any)["suspend"] = suspend
				w.Create(object)
				all = append(all, held{object, state, suspend})
			}
		}
	}

	w.storedBefore(func() { // by an operator whose definitions have the invented state
		for _, h := range all {
			if h.state == "" {
				continue
			}

			status := fmt.Appendf(nil, `{"status": {"currentState": {"currentStateSummary": %q, "suspendReason": "SpecSuspend", "lastTransitionTime": "2026-01-02T03:04:05Z"}}}`, h.state)
			kit.Wait(t, h.object.GetName()+" to have a state", func(ctx context.Context) error {
				return w.API.Status().Patch(ctx, h.object, client.RawPatch(types.MergePatchType, status))
			})
		}
	})
	t.Parallel()

	stop := w.runHeld()
	for _, h := range all {
		reason, says := apache.ReasonSuspendHeld, fmt.Sprintf("%q", h.state)
		if h.state == "" {
			says = "before its start"
		}

		if h.state == "Suspended" || h.state == invented {
			reason = dialect.ReasonOtherOperator
		}

		kit.Wait(t, h.object.GetName()+" to be held", func(ctx context.Context) error {
			ready, stored, err := w.readyOf(ctx, h.object)
			if err != nil {
				return err
			}

			event := w.warningsOf(h.object)[reason]
			return errors.Join(want(ready.Status, metav1.ConditionFalse), want(ready.Reason, reason), want(strings.Contains(event, says), true),
				want(strings.Contains(ready.Message, says), true), want(stored, h.suspend))
		})
	}

	stop()

	stop = w.runHeld() // another process holds them too, and reports nothing again
	for _, h := range all {
		w.patchWith(h.object, fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, time.Now()))
	}

	begins := w.object(`{"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "spec": `+heldKinds["SparkApplication"].spec+`}`, "begins")
	w.Create(begins)
	w.waitPod("begins-0-driver")
	w.holdsNothing("begins")

	for _, h := range all {
		w.patchWith(h.object, `{"spec":{"suspend":false}}`)
	}

	for _, h := range all {
		if h.state != "" && h.state != "Submitted" {
			continue
		}

		kit.Wait(t, h.object.GetName()+" to start", func(ctx context.Context) error {
			if h.object.GetKind() == "SparkCluster" {
				return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: h.object.GetName() + "-master"}, &appsv1.StatefulSet{})
			}
			return w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: h.object.GetName() + "-0-driver"}, &corev1.Pod{})
		})
	}

	for _, h := range all {
		if h.state != "Suspended" && h.state != invented {
			continue
		}

		if ready, _, err := w.readyOf(t.Context(), h.object); err != nil || ready.Reason != dialect.ReasonOtherOperator {
			t.Errorf("%s in state %s is %+v, %v", h.object.GetName(), h.state, ready, err)
		}

		if h.object.GetKind() == "SparkCluster" {
			if err := w.API.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: h.object.GetName() + "-master"}, &appsv1.StatefulSet{}); err == nil {
				t.Errorf("%s in state %s was started", h.object.GetName(), h.state)
			}
		}
	}

	stop()
}

// TestRunningResourcesOutliveSuspend checks that setting spec.suspend stops nothing that runs: the driver and the
// StatefulSets stay, Ready becomes False with the reason, and neither an edit nor a restart request is carried out.
// When the application's attempt ends, its next attempt starts only after the hold has ended.
func TestRunningResourcesOutliveSuspend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.kubelets()
	w.runHeld()
	w.apacheApp("pi", withTolerations(sparkv1.ApplicationTolerations{RestartConfig: restartConfig(sparkv1.RestartAlways, 5)}))
	w.sparkCluster("c")
	w.ready(w.waitPod("pi-0-driver").Name)
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(1), clusterHolds("Ready", metav1.ConditionTrue))
	driver, before := w.uidOf("pi-0-driver"), w.uidsOf("c")
	w.patchApache("pi", `{"spec":{"suspend":true},"metadata":{"annotations":{"sparkoperator.dev/restart":"now"}}}`)
	w.patchCluster("c", `{"spec":{"suspend":true,"clusterTolerations":{"instanceConfig":{"initWorkers":2,"minWorkers":2,"maxWorkers":2}}}}`)

	app, sc := w.getApache("pi"), w.getCluster("c")
	for _, object := range []client.Object{app, sc} {
		kit.Wait(t, object.GetName()+" to be reported", func(ctx context.Context) error {
			if err := w.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}

			conditions := app.Status.Conditions
			if object == client.Object(sc) {
				conditions = sc.Status.Conditions
			}

			ready := meta.FindStatusCondition(conditions, dialect.ConditionReady)
			if ready == nil {
				return errors.New("no condition Ready")
			}
			return errors.Join(want(ready.Reason, apache.ReasonSuspendHeld), want(ready.Status, metav1.ConditionFalse), want(w.EventsOf(object)[apache.ReasonSuspendHeld] != "", true))
		})
	}

	if set := w.set("c-worker"); *set.Spec.Replicas != 1 || w.uidOf("pi-0-driver") != driver || fmt.Sprint(w.uidsOf("c")) != fmt.Sprint(before) {
		t.Errorf("%d workers; the pods or the StatefulSets were changed", *set.Spec.Replicas)
	}

	w.kubelet("pi-0-driver", corev1.PodSucceeded, scene.Exited(0, ""))
	w.waitApache("pi", sparkv1.ApplicationScheduledToRestart, func(app *apacheApp) error {
		return want(meta.FindStatusCondition(app.Status.Conditions, dialect.ConditionReady).Reason, apache.ReasonSuspendHeld)
	})
	w.WaitGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "pi-0-driver"}})
	w.triggerApachePass("pi")
	w.apacheApp("later")
	w.waitPod("later-0-driver")
	w.holdsNothing("c", "later")
	w.patchApache("pi", `{"spec":{"suspend":false}}`)
	w.patchCluster("c", `{"spec":{"suspend":false}}`)
	w.waitPod("pi-1-driver")
	w.waitCluster("c", sparkv1.ClusterRunningHealthy, readyWorkers(2), clusterHolds("Ready", metav1.ConditionTrue))
}

// runHeld starts an operator that serves both kinds of spark.apache.org.
func (w *world) runHeld() (stop func()) {
	w.T.Helper()
	kit.NeedsControllers(w.T, podsOfSets)

	op, err := newOperator(w.T.Context(), testConfig(w.Namespace), w.environment())
	if err != nil {
		w.T.Fatal(err)
	}

	op.optional.Interval = 100 * time.Millisecond
	for _, kind := range []func() error{
		func() error {
			return AddWhenServed(w.T.Context(), op, kinds.ApacheApplications(op.Settings, nil), time.Now)
		},
		func() error { return AddWhenServed(w.T.Context(), op, kinds.SparkClusters(op.Settings, nil), time.Now) },
	} {
		if err := kind(); err != nil {
			w.T.Fatal(err)
		}
	}
	return w.run(op)
}

// holdsNothing checks that no pod and no StatefulSet exists, except those of the given custom resources.
func (w *world) holdsNothing(except ...string) {
	w.T.Helper()
	var pods corev1.PodList

	var sets appsv1.StatefulSetList
	for _, list := range []client.ObjectList{&pods, &sets} {
		if err := w.API.List(w.T.Context(), list, client.InNamespace(w.Namespace)); err != nil {
			w.T.Fatal(err)
		}

		_ = meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			if !slices.ContainsFunc(except, func(name string) bool { return strings.HasPrefix(object.GetName(), name+"-") }) {
				w.T.Errorf("%T %s exists", object, object.GetName())
			}
			return nil
		})
	}
}

// readyOf reads the condition Ready of an object, and its field spec.suspend.
func (w *world) readyOf(ctx context.Context, object *unstructured.Unstructured) (ready metav1.Condition, suspend bool, err error) {
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
func (w *world) warningsOf(object client.Object) map[string]string {
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
