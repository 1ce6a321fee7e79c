package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// TestForbiddenOperatorWaits checks that an application does not fail if the operator lacks a right. The application
// waits, the operator retries at growing intervals and reports why, and the application continues as soon as the
// operator has the right.
func TestForbiddenOperatorWaits(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	log, now := w.Logger(), scene.Noon
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	recorder := telemetry.NewRecorder(w.API, w.API, log, metrics)
	ctx, cancel := context.WithCancel(ctrllog.IntoContext(t.Context(), log))

	written := make(chan error, 1)
	go func() { written <- recorder.Start(ctx) }()

	r := &Reconciler{
		scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: tiny.Kind(),
		clock:      func() time.Time { return now },
		dependents: dependents.Client{Client: frozen{w.Powerless(), w.Get("pi")}, Live: w.API},
		reports:    reports{traces: noTraces, metrics: metrics, events: recorder}, term: term{limit: passTimeout},
	}

	pass := func() time.Duration {
		result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	for _, test := range []struct{ at, again time.Duration }{
		{0, time.Second}, {time.Second, time.Second}, {2 * time.Second, time.Second},
		{3 * time.Second, 3 * time.Second}, {6 * time.Second, 6 * time.Second},
		{time.Minute, 15 * time.Second},
	} {
		now = scene.Noon.Add(test.at)
		if again := pass(); again != test.again {
			t.Errorf("after %s: again after %s, want %s", test.at, again, test.again)
		}
	}

	if state := w.Get("pi").Status.AppState.State; state != "" {
		t.Errorf("the state is %s", state)
	}

	r.dependents.Client = frozen{w.API, w.Get("pi")}

	pass()

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted || r.waits.Len() != 0 {
		t.Errorf("the state is %s, %d waits", state, r.waits.Len())
	}

	cancel()

	if err := <-written; err != nil {
		t.Fatal(err)
	}

	if reported := w.EventsOf(app)[apianswer.ReasonOperatorForbidden]; !strings.Contains(reported,
		"cannot create resource") || strings.Contains(reported, "\n") {
		t.Errorf("reported: %q", reported)
	}

	if log := w.Log.String(); strings.Count(log, "msg=waiting") != 1 {
		t.Errorf("logged:\n%s", log)
	}
}

// TestErrorAfterRejectionsIsNew checks a transient error after a budget has been rejected for an hour. The passes with
// a rejected budget succeed otherwise, so the error counts from its own beginning: the pass returns it, and no decision
// sees an error that has lasted for an hour.
func TestErrorAfterRejectionsIsNew(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	now, part := scene.Noon, lifecycle.DriverBudget
	kind := tiny.Kind()
	kind.OnDecide = func(_ *v1beta2.SparkApplication, seen lifecycle.Observed, _ time.Time) lifecycle.Plan {
		if seen.TransientError != nil {
			t.Errorf("at %s, the decision sees the error %+v", now, seen.TransientError)
		}
		return lifecycle.Plan{Actions: []lifecycle.Action{{Verb: lifecycle.Create, Part: part, Attempt: 1}}}
	}
	kind.OnRender = func(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects,
		error) {
		objects, err := tiny.Render(app, action, now)
		if part == lifecycle.Submission {
			objects.Driver.OwnerReferences = nil // a bug of the operator, which is retried like a transient error
		}
		return objects, err
	}
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	r := &Reconciler{
		scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: kind,
		clock:      func() time.Time { return now },
		dependents: dependents.Client{Client: frozen{w.Powerless(), w.Get("pi")}, Live: w.API},
		reports:    reports{traces: noTraces, metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)},
		term:       term{limit: passTimeout},
	}

	pass := func() error {
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		return err
	}
	for range 4 {
		if err := pass(); err != nil || r.waits.Len() != 0 || r.refusals.Len() != 1 {
			t.Fatalf("a pass with a rejected budget ends with %v; %d waits and %d rejections are remembered", err,
				r.waits.Len(), r.refusals.Len())
		}

		now = now.Add(20 * time.Minute)
	}

	part = lifecycle.Submission

	if err := pass(); !lifecycle.IsBug(err) {
		t.Errorf("the first pass with an error ends with %v", err)
	}

	if r.forget(client.ObjectKeyFromObject(app)); r.refusals.Len() != 0 {
		t.Error("a rejection is remembered after the application was forgotten")
	}
}
