package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// widgets returns a kind that only this test uses, since the test creates and deletes the definition of the kind.
func (w *world) widgets() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: w.Namespace + ".example.com", Version: "v1", Kind: "Widget"}
}

func definition(kind schema.GroupVersionKind) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "widgets." + kind.Group},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	return crd
}

// define installs the definition of a kind. The end of the test deletes it.
func (w *world) define(kind schema.GroupVersionKind) {
	w.T.Helper()
	w.Create(definition(kind))
	w.T.Cleanup(func() { _ = w.API.Delete(context.Background(), definition(kind)) })
	kit.Wait(w.T, kind.Kind+" to be served", func(ctx context.Context) error {
		return w.API.List(ctx, listOf(kind), client.InNamespace(w.Namespace))
	})
}

// undefine deletes the definition of a kind, and with it all objects of the kind.
func (w *world) undefine(kind schema.GroupVersionKind) {
	w.T.Helper()

	if err := w.API.Delete(w.T.Context(), definition(kind)); err != nil {
		w.T.Fatal(err)
	}

	w.WaitGone(definition(kind))
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// widget returns a widget that belongs to an attempt of an application.
func widget(kind schema.GroupVersionKind, app *v1beta2.SparkApplication, attempt int32) *unstructured.Unstructured {
	meta := tiny.Meta(app, "widget", attempt)
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(meta.Namespace)
	object.SetName(meta.Name)
	object.SetLabels(meta.Labels)
	object.SetOwnerReferences(meta.OwnerReferences)
	return object
}

// withWidgets returns the given kind with one change: if an application has arguments, its submission also creates a
// widget.
func withWidgets(kind controller.Kind, dependent schema.GroupVersionKind) controller.Kind {
	render := kind.Render
	kind.Render = typed.Renders(func(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
		objects, err := render(app, action, now)
		if len(app.Spec.Arguments) > 0 {
			objects.Before = append(objects.Before, widget(dependent, app, action.Attempt))
		}
		return objects, err
	})
	return kind
}

func wantsWidget(app *v1beta2.SparkApplication) { app.Spec.Arguments = []string{"widget"} }

// runWidgets starts an operator that serves the given kind and for which the kind of widgets is optional. The operator
// checks often whether widgets are served.
func (w *world) runWidgets(kind controller.Kind) *Operator {
	w.T.Helper()

	op, err := newOperator(w.T.Context(), testConfig(w.Namespace), w.environment())
	if err != nil {
		w.T.Fatal(err)
	}

	op.optional.Kinds, op.optional.Interval = []schema.GroupVersionKind{w.widgets()}, 20*time.Millisecond
	if err := Add(w.T.Context(), op, withWidgets(kind, w.widgets()), time.Now); err != nil {
		w.T.Fatal(err)
	}

	w.run(op)
	return op
}

// waitWatched waits until the operator watches its optional kind. If the argument `watched` is false, it waits until
// the operator does not watch the kind.
func (w *world) waitWatched(op *Operator, watched bool) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("an optional kind to be watched: %t", watched), func(context.Context) error {
		kinds, _ := op.optional.Full()
		return want(len(kinds) > 0, watched)
	})
}

// TestOptionalKindIsMissing checks applications while an optional kind is not installed. Applications that do not need
// the kind run. Applications that need it wait, and report what to install. Once the kind is installed they run,
// without a restart of the operator.
func TestOptionalKindIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op := w.runWidgets(tiny.Kind())
	w.Application("plain")
	w.waitState("plain", v1beta2.ApplicationStateSubmitted)
	early := w.Application("early", wantsWidget)
	w.waitEvent(early, apianswer.ReasonNotServed, "does not serve Widget of ")
	w.waitEvent(early, apianswer.ReasonNotServed, "CustomResourceDefinition widgets."+w.widgets().Group)
	w.WaitGone(tiny.Driver(early, 1)) // no driver exists, because the object that it needs is created first

	w.define(w.widgets())
	w.waitWatched(op, true)
	late := w.Application("late", wantsWidget)
	w.waitState("late", v1beta2.ApplicationStateSubmitted)
	w.waitState("early", v1beta2.ApplicationStateSubmitted)

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(widget(w.widgets(), late, 1)), widget(w.widgets(), late, 1)); err != nil {
		t.Error(err)
	}
}

// TestOptionalDependents checks that objects of an optional kind are handled like other dependents. An object of an
// older attempt is deleted before a launch that needs its name. Somebody else's object is not changed. If a pass ends
// early, the next pass adopts the objects that the first pass created.
func TestOptionalDependents(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		object func(*v1beta2.SparkApplication, schema.GroupVersionKind) *unstructured.Unstructured
		state  v1beta2.ApplicationStateType
		kept   bool
	}{
		{"object of an older attempt", func(app *v1beta2.SparkApplication, kind schema.GroupVersionKind) *unstructured.Unstructured {
			return widget(kind, app, 7)
		}, v1beta2.ApplicationStateSubmitted, false},
		{"object of this attempt", func(app *v1beta2.SparkApplication, kind schema.GroupVersionKind) *unstructured.Unstructured {
			return widget(kind, app, 1)
		}, v1beta2.ApplicationStateSubmitted, true},
		{"somebody else's object", func(app *v1beta2.SparkApplication, kind schema.GroupVersionKind) *unstructured.Unstructured {
			object := widget(kind, app, 1)
			object.SetOwnerReferences(nil)
			return object
		}, v1beta2.ApplicationStateFailed, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.define(w.widgets())
			app := w.Application("pi", suspended, wantsWidget)
			object := test.object(app, w.widgets())
			w.Create(object)
			op := w.runWidgets(heldKind())
			w.waitWatched(op, true)
			w.release("pi")
			got := w.waitState("pi", test.state)

			now := widget(w.widgets(), app, 1)
			if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil {
				t.Fatal(err)
			}

			if kept := now.GetUID() == object.GetUID(); kept != test.kept {
				t.Errorf("the object still exists: %t, want %t (%s)", kept, test.kept, got.Status.AppState.ErrorMessage)
			}
		})
	}
}

// TestOptionalDependentGoesWithItsAttempt checks that an object of an optional kind is deleted when its attempt is
// lost.
func TestOptionalDependentGoesWithItsAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define(w.widgets())
	op := w.runWidgets(tiny.Kind())
	w.waitWatched(op, true)
	app := w.Application("pi", wantsWidget)
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	// Without its driver the attempt is lost, which deletes its other objects.
	if err := w.API.Delete(t.Context(), w.waitPod("pi-driver"), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.waitState("pi", v1beta2.ApplicationStateFailed)
	w.WaitGone(widget(w.widgets(), app, 1))
}

// TestOptionalKindGoesAway checks that the removal of an optional kind's definition affects only applications that need
// the kind. These applications wait. The removal deletes all objects of the kind. When the definition is installed
// again, the operator watches the kind again.
func TestOptionalKindGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.define(w.widgets())
	op := w.runWidgets(tiny.Kind())
	w.waitWatched(op, true)
	w.Application("first", wantsWidget)
	w.waitState("first", v1beta2.ApplicationStateSubmitted)

	w.undefine(w.widgets())
	w.waitWatched(op, false)
	w.kubelet("first-driver", "Running", running())
	w.waitState("first", v1beta2.ApplicationStateRunning)
	w.waitEvent(w.Application("between", wantsWidget), apianswer.ReasonNotServed, "CustomResourceDefinition widgets.")

	w.define(w.widgets())
	w.waitWatched(op, true)
	w.Application("second", wantsWidget)
	w.waitState("second", v1beta2.ApplicationStateSubmitted)
	w.waitState("between", v1beta2.ApplicationStateSubmitted)
}

// TestOptionalKindIsTriedAgain checks that, if the watch of an optional kind cannot start because the API server does
// not answer, the operator starts the watch later.
func TestOptionalKindIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	env := w.environment()
	flaky := &failingTransport{about: w.widgets().Group, times: 3}
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { flaky.next = next; return flaky })

	op, err := newOperator(t.Context(), testConfig(w.Namespace), env)
	if err != nil {
		t.Fatal(err)
	}

	op.optional.Kinds, op.optional.Interval = []schema.GroupVersionKind{w.widgets()}, 20*time.Millisecond
	w.run(op)
	kit.Wait(t, "requests for the kind", func(context.Context) error {
		return want(strings.Contains(w.Log.String(), "An optional kind is not served yet"), true)
	})
	w.define(w.widgets())
	w.waitWatched(op, true)

	if !strings.Contains(w.Log.String(), "Could not watch an optional kind; retrying") {
		t.Error("no request failed, or no failure was logged")
	}
}

// failingTransport is a transport that lets the first request for a kind succeed and then fails the next requests for
// the kind. The field about is a part of the request's path, and times is the number of failing requests.
type failingTransport struct {
	next  http.RoundTripper
	about string
	times int64

	found  atomic.Bool
	failed atomic.Int64
}

func (d *failingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	about := strings.Contains(request.URL.Path, d.about)
	if about && d.found.Load() && d.failed.Add(1) <= d.times {
		return nil, errors.New("no answer")
	}

	response, err := d.next.RoundTrip(request)
	if about && err == nil && response.StatusCode == http.StatusOK {
		d.found.Store(true)
	}
	return response, err
}
