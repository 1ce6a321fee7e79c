package dependents_test

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
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// widgets returns a kind that only this test uses, since the test creates and deletes the definition of the kind.
func widgets(w *world.World) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: w.Namespace + ".example.com", Version: "v1", Kind: "Widget"}
}

// define installs the definition of a kind. The end of the test deletes it.
func define(w *world.World, kind schema.GroupVersionKind) {
	w.T.Helper()
	w.Create(world.Definition(kind))
	w.T.Cleanup(func() { _ = w.API.Delete(context.Background(), world.Definition(kind)) })
	kit.Wait(w.T, kind.Kind+" to be served", func(ctx context.Context) error {
		return w.API.List(ctx, world.ListOf(kind), client.InNamespace(w.Namespace))
	})
}

// undefine deletes the definition of a kind, and with it all objects of the kind.
func undefine(w *world.World, kind schema.GroupVersionKind) {
	w.T.Helper()

	if err := w.API.Delete(w.T.Context(), world.Definition(kind)); err != nil {
		w.T.Fatal(err)
	}

	w.WaitGone(world.Definition(kind))
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
func withWidgets(kind *tiny.Applications, dependent schema.GroupVersionKind) *tiny.Applications {
	render := kind.OnRender
	kind.OnRender = func(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects,
		error) {
		objects, err := render(app, action, now)
		if len(app.Spec.Arguments) > 0 {
			objects.Before = append(objects.Before, widget(dependent, app, action.Attempt))
		}
		return objects, err
	}
	return kind
}

func wantsWidget(app *v1beta2.SparkApplication) { app.Spec.Arguments = []string{"widget"} }

// runWidgets starts an operator that serves the given kind and for which the kind of widgets is optional. The operator
// checks often whether widgets are served.
func runWidgets(w *world.World, kind *tiny.Applications) *operator.Operator {
	w.T.Helper()

	op, err := operator.NewEmpty(w.T.Context(), world.Config(w.Namespace), w.Environment())
	if err != nil {
		w.T.Fatal(err)
	}

	op.Optional.Kinds, op.Optional.Interval = []schema.GroupVersionKind{widgets(w)}, 20*time.Millisecond
	if err := operator.Add(w.T.Context(), op, withWidgets(kind, widgets(w)), time.Now); err != nil {
		w.T.Fatal(err)
	}

	w.Run(op)
	return op
}

// waitWatched waits until the operator watches its optional kind. If the argument `watched` is false, it waits until
// the operator does not watch the kind.
func waitWatched(w *world.World, op *operator.Operator, watched bool) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("an optional kind to be watched: %t", watched), func(context.Context) error {
		kinds, _ := op.Optional.Full()
		return world.Want(len(kinds) > 0, watched)
	})
}

// TestOptionalKindIsMissing checks applications while an optional kind is not installed. Applications that do not need
// the kind run. Applications that need it wait, and report what to install. Once the kind is installed they run,
// without a restart of the operator.
func TestOptionalKindIsMissing(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	op := runWidgets(w, tiny.Kind())
	w.Application("plain")
	w.WaitState("plain", v1beta2.ApplicationStateSubmitted)
	early := w.Application("early", wantsWidget)
	w.WaitEvent(early, apianswer.ReasonNotServed, "does not serve Widget of ")
	w.WaitEvent(early, apianswer.ReasonNotServed, "CustomResourceDefinition widgets."+widgets(w).Group)
	w.WaitGone(tiny.Driver(early, 1)) // no driver exists, because the object that it needs is created first

	define(w, widgets(w))
	waitWatched(w, op, true)
	late := w.Application("late", wantsWidget)
	w.WaitState("late", v1beta2.ApplicationStateSubmitted)
	w.WaitState("early", v1beta2.ApplicationStateSubmitted)

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(widget(widgets(w), late, 1)),
		widget(widgets(w), late, 1)); err != nil {
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
		{"object of an older attempt",
			func(app *v1beta2.SparkApplication, kind schema.GroupVersionKind) *unstructured.Unstructured {
				return widget(kind, app, 7)
			}, v1beta2.ApplicationStateSubmitted, false},
		{"object of this attempt", func(app *v1beta2.SparkApplication,
			kind schema.GroupVersionKind) *unstructured.Unstructured {
			return widget(kind, app, 1)
		}, v1beta2.ApplicationStateSubmitted, true},
		{"somebody else's object", func(app *v1beta2.SparkApplication,
			kind schema.GroupVersionKind) *unstructured.Unstructured {
			object := widget(kind, app, 1)
			object.SetOwnerReferences(nil)
			return object
		}, v1beta2.ApplicationStateFailed, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			define(w, widgets(w))
			app := w.Application("pi", world.Suspended, wantsWidget)
			object := test.object(app, widgets(w))
			w.Create(object)
			op := runWidgets(w, world.HeldKind())
			waitWatched(w, op, true)
			w.Release("pi")
			got := w.WaitState("pi", test.state)

			now := widget(widgets(w), app, 1)
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
	w := world.New(t)
	define(w, widgets(w))
	op := runWidgets(w, tiny.Kind())
	waitWatched(w, op, true)
	app := w.Application("pi", wantsWidget)
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	// Without its driver the attempt is lost, which deletes its other objects.
	if err := w.API.Delete(t.Context(), w.WaitPod("pi-driver"), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}

	w.WaitState("pi", v1beta2.ApplicationStateFailed)
	w.WaitGone(widget(widgets(w), app, 1))
}

// TestOptionalKindGoesAway checks that the removal of an optional kind's definition affects only applications that need
// the kind. These applications wait. The removal deletes all objects of the kind. When the definition is installed
// again, the operator watches the kind again.
func TestOptionalKindGoesAway(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	define(w, widgets(w))
	op := runWidgets(w, tiny.Kind())
	waitWatched(w, op, true)
	w.Application("first", wantsWidget)
	w.WaitState("first", v1beta2.ApplicationStateSubmitted)

	undefine(w, widgets(w))
	waitWatched(w, op, false)
	w.Kubelet("first-driver", "Running", world.Running())
	w.WaitState("first", v1beta2.ApplicationStateRunning)
	w.WaitEvent(w.Application("between", wantsWidget), apianswer.ReasonNotServed, "CustomResourceDefinition widgets.")

	define(w, widgets(w))
	waitWatched(w, op, true)
	w.Application("second", wantsWidget)
	w.WaitState("second", v1beta2.ApplicationStateSubmitted)
	w.WaitState("between", v1beta2.ApplicationStateSubmitted)
}

// TestOptionalKindIsTriedAgain checks that, if the watch of an optional kind cannot start because the API server does
// not answer, the operator starts the watch later.
func TestOptionalKindIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	env := w.Environment()
	flaky := &failingTransport{about: widgets(w).Group, times: 3}
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper { flaky.next = next; return flaky })

	op, err := operator.NewEmpty(t.Context(), world.Config(w.Namespace), env)
	if err != nil {
		t.Fatal(err)
	}

	op.Optional.Kinds, op.Optional.Interval = []schema.GroupVersionKind{widgets(w)}, 20*time.Millisecond
	w.Run(op)
	kit.Wait(t, "requests for the kind", func(context.Context) error {
		return world.Want(strings.Contains(w.Log.String(), "An optional kind is not served yet"), true)
	})
	define(w, widgets(w))
	waitWatched(w, op, true)

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
