package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestNameIsTaken checks what the operator does if the name of an object that it is about to create is already in use.
// The cases differ in the existing object.
func TestNameIsTaken(t *testing.T) {
	t.Parallel()

	foreign := func(app *v1beta2.SparkApplication) client.Object {
		return scene.ForeignPod(app.Namespace, world.DriverName(app.Name))
	}

	configMap := func(change func(*corev1.ConfigMap)) func(*v1beta2.SparkApplication) client.Object {
		return func(app *v1beta2.SparkApplication) client.Object {
			object := &corev1.ConfigMap{ObjectMeta: tiny.Meta(app, "conf", 1), Immutable: new(true),
				Data: map[string]string{"class": *app.Spec.MainClass}}
			change(object)
			return object
		}
	}
	for _, test := range []struct {
		name  string
		taken []func(*v1beta2.SparkApplication) client.Object
		state v1beta2.ApplicationStateType
		cause string
		kept  bool // whether the first of taken still exists in the end
	}{
		{"a pod without an owner", []func(*v1beta2.SparkApplication) client.Object{foreign},
			v1beta2.ApplicationStateFailed, dependents.ReasonNameTaken, true},
		{"a pod of another application with our label",
			[]func(*v1beta2.SparkApplication) client.Object{func(app *v1beta2.SparkApplication) client.Object {
				pod := tiny.Driver(app, 1)
				pod.OwnerReferences[0].Controller = nil
				return pod
			}}, v1beta2.ApplicationStateFailed, dependents.ReasonNameTaken, true},
		{"a ConfigMap without an owner",
			[]func(*v1beta2.SparkApplication) client.Object{configMap(func(c *corev1.ConfigMap) { c.OwnerReferences = nil })},
			v1beta2.ApplicationStateFailed, dependents.ReasonNameTaken, true},
		{"our pod", []func(*v1beta2.SparkApplication) client.Object{func(app *v1beta2.SparkApplication) client.Object { return tiny.Driver(app, 1) }},
			v1beta2.ApplicationStateSubmitted, "", true},
		{"our ConfigMap", []func(*v1beta2.SparkApplication) client.Object{configMap(func(*corev1.ConfigMap) {})},
			v1beta2.ApplicationStateSubmitted, "", true},
		{"our ConfigMap with outdated content",
			[]func(*v1beta2.SparkApplication) client.Object{configMap(func(c *corev1.ConfigMap) { c.Data["class"] = "Old" })},
			v1beta2.ApplicationStateSubmitted, "", false},
		{"our ConfigMap with outdated content, used by our pod", []func(*v1beta2.SparkApplication) client.Object{
			configMap(func(c *corev1.ConfigMap) { c.Data["class"] = "Old" }),
			func(app *v1beta2.SparkApplication) client.Object { return tiny.Driver(app, 1) },
		}, v1beta2.ApplicationStateSubmitted, "", true},
		{"our ConfigMap of another attempt",
			[]func(*v1beta2.SparkApplication) client.Object{configMap(func(c *corev1.ConfigMap) { c.Labels[identity.AttemptLabel] = "7" })},
			v1beta2.ApplicationStateSubmitted, "", false},
		{"our pod of another attempt",
			[]func(*v1beta2.SparkApplication) client.Object{func(app *v1beta2.SparkApplication) client.Object { return tiny.Driver(app, 7) }},
			v1beta2.ApplicationStateSubmitted, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			app := w.Application("pi", world.Suspended)

			var objects []client.Object
			for _, taken := range test.taken {
				object := taken(app)
				object.SetNamespace(w.Namespace)
				w.Create(object)
				objects = append(objects, object)
			}

			w.RunTiny(world.HeldKind())
			w.Release("pi")

			got := w.WaitState("pi", test.state)
			if got.Status.SubmissionID != test.cause {
				t.Errorf("cause %q (%s), want %q", got.Status.SubmissionID, got.Status.AppState.ErrorMessage,
					test.cause)
			}

			if test.cause != "" && !strings.Contains(got.Status.AppState.ErrorMessage, objects[0].GetName()) {
				t.Errorf("the message does not name %s: %s", objects[0].GetName(), got.Status.AppState.ErrorMessage)
			}

			uid := objects[0].GetUID()
			if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(objects[0]), objects[0]); err != nil {
				t.Fatal(err)
			}

			if kept := uid == objects[0].GetUID(); kept != test.kept {
				t.Errorf("kept is %t, want %t", kept, test.kept)
			}
		})
	}
}

func TestObjectBeingDeletedIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	app := w.Application("pi", world.Suspended)
	held := &corev1.ConfigMap{ObjectMeta: tiny.Meta(app, "conf", 1)}
	held.Finalizers = []string{"example.com/hold"}
	w.Create(held)

	if err := w.API.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}

	w.RunTiny(world.HeldKind())
	w.Release("pi")
	kit.Wait(t, "the wait in the log", func(context.Context) error {
		return world.Want(strings.Contains(w.Log.String(), "ConfigMap pi-conf is being deleted"), true)
	})

	if state := w.Get("pi").Status.AppState.State; state != "" {
		t.Errorf("the application did not wait and is in state %s", state)
	}

	if err := w.API.Patch(t.Context(), held,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}

	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
}

// TestRefusedByTheServer checks that a rejection by the API server fails the application, with the reason, and that no
// object of the application remains.
func TestRefusedByTheServer(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name    string
		prepare func(*world.World)
		change  func(*corev1.Pod)
		reason  string
		says    string
	}{
		{"quota", func(w *world.World) {
			w.NoPods()
		}, func(*corev1.Pod) {}, apianswer.ReasonQuota, "no-pods"},
		{"pod security", func(w *world.World) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}

			patch := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
			if err := w.API.Patch(w.T.Context(), namespace, client.RawPatch(types.MergePatchType, patch)); err != nil {
				w.T.Fatal(err)
			}
		}, func(*corev1.Pod) {}, apianswer.ReasonPodSecurity, "runAsNonRoot"},
		{"service account", func(*world.World) {}, func(p *corev1.Pod) { p.Spec.ServiceAccountName = "nobody" },
			apianswer.ReasonServiceAccount, "nobody"},
		{"invalid", func(*world.World) {}, func(p *corev1.Pod) { p.Spec.Containers[0].ImagePullPolicy = "Sometimes" },
			apianswer.ReasonInvalid, "imagePullPolicy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			test.prepare(w)

			kind := tiny.Kind()
			kind.OnRender = func(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects,
				error) {
				objects, err := tiny.Render(app, action, now)
				test.change(objects.Driver)
				return objects, err
			}
			w.RunTiny(kind)
			app := w.Application("pi")

			got := w.WaitState("pi", v1beta2.ApplicationStateFailed)
			if got.Status.SubmissionID != test.reason ||
				!strings.Contains(got.Status.AppState.ErrorMessage, test.says) {
				t.Errorf("%s: %s; want %s with %q", got.Status.SubmissionID, got.Status.AppState.ErrorMessage,
					test.reason, test.says)
			}

			for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.ServiceList{},
				&corev1.PodList{}} {
				if err := w.API.List(t.Context(), list, client.InNamespace(w.Namespace),
					client.MatchingLabels{identity.AppUIDLabel: string(app.UID)}); err != nil {
					t.Fatal(err)
				}

				if n := world.MetaLen(list); n != 0 {
					t.Errorf("%d left in %T", n, list)
				}
			}

			w.WaitMetric("spark_application_failed_submission_count", 1)
		})
	}
}

// TestNewApplicationHasAState checks an application whose first launch waits for the name of somebody else's pod. Its
// status has conditions and the empty state, which Argo CD's health script reads. The launch follows when the name is
// free, although no watch of the operator reports that.
func TestNewApplicationHasAState(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	pod := scene.ForeignPod(w.Namespace, world.DriverName("pi"))
	w.Create(pod)

	goes := w.TakesItsTime(pod)
	if err := w.API.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	w.RunReal()
	app := w.Application("pi")
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
	kit.Wait(t, "a condition about the name", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(app), stored); err != nil {
			return err
		}

		conditions, _, err := unstructured.NestedSlice(stored.Object, "status", "conditions")
		return errors.Join(err, world.Want(strings.Contains(fmt.Sprint(conditions), dependents.ReasonNameTaken), true))
	})

	if state, found, err := unstructured.NestedString(stored.Object, "status", "applicationState",
		"state"); err != nil || !found || state != "" {
		t.Errorf("the state is %q, found %v, %v", state, found, err)
	}

	goes()
	w.DriverOf(app, 1)
}
