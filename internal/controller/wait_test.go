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
	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/testkit/scene"
	"github.com/sparkoperator/spark-operator/internal/testkit/tiny"
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
		scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: tiny.Kind(), clock: func() time.Time { return now },
		dependents: dependents.Client{Client: frozen{w.Powerless(), w.Get("pi")}, Live: w.API},
		reports:    reports{metrics: metrics, events: recorder}, term: term{limit: passTimeout},
	}
	pass := func() time.Duration {
		result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	for _, test := range []struct{ at, again time.Duration }{
		{0, time.Second}, {time.Second, time.Second}, {2 * time.Second, time.Second}, {3 * time.Second, 3 * time.Second}, {6 * time.Second, 6 * time.Second},
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
	if reported := w.EventsOf(app)[apianswer.ReasonOperatorForbidden]; !strings.Contains(reported, "cannot create resource") || strings.Contains(reported, "\n") {
		t.Errorf("reported: %q", reported)
	}
	if log := w.Log.String(); strings.Count(log, "msg=waiting") != 1 {
		t.Errorf("logged:\n%s", log)
	}
}
