package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

func TestFewWarnings(t *testing.T) {
	many := []string{"1", "2", "3", "4", "5", "6", "7"}
	for n, want := range map[int][]string{0: {}, 5: many[:5], 6: {"1", "2", "3", "4", "5", "and 1 more"},
		7: {"1", "2", "3", "4", "5", "and 2 more"}} {
		if diff := cmp.Diff(want, fewWarnings(many[:n:n])); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
	}
}

// TestLogDoesNotQuoteTheDriver checks that the log contains the reason and the exit code of a failed driver but not its
// last output, which belongs to the application's owner.
func TestLogDoesNotQuoteTheDriver(t *testing.T) {
	var message scene.Lines

	log, err := telemetry.NewLogger(&message, "debug", "text")
	if err != nil {
		t.Fatal(err)
	}

	kind := tiny.Kind()
	kind.OnEvents = func(*v1beta2.SparkApplication, lifecycle.Plan) []dialect.Event { return nil }
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	r := &Reconciler{
		kind: kind, dependents: dependents.Client{Client: kit.Client(t, v1beta2.AddToScheme)},
		reports: reports{traces: noTraces, metrics: metrics},
	}
	r.report(ctrllog.IntoContext(t.Context(), log), outcome{
		View: dependents.View{
			Owner: &v1beta2.SparkApplication{}, Now: scene.Noon,
			Seen: lifecycle.Observed{Drivers: []lifecycle.Driver{{Attempt: 1, HasExit: true, ExitCode: 3}}},
		},
		object: &v1beta2.SparkApplication{},
		plan: lifecycle.Plan{Transitions: []lifecycle.Transition{{To: lifecycle.Ended, Attempt: 1,
			Outcome: lifecycle.Failed,
			Cause:   lifecycle.Cause{Reason: "Error", Message: "password=hunter2"}}}},
	}, time.Now())

	got := message.String()
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "exitCode=3") ||
		!strings.Contains(got, "reason=Error") {
		t.Errorf("logged: %s", got)
	}
}

// TestWarningsOfALaunchThatWasNotStored checks that a launch reports its warnings even if its status write meets a
// conflict. The next pass finds the objects and does not render them again.
func TestWarningsOfALaunchThatWasNotStored(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	w.Patch("pi", `{"metadata":{"labels":{"edited":"yes"}}}`) // after the cache has read the application

	kind := tiny.Kind()
	kind.OnRender = func(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects,
		error) {
		objects, err := tiny.Render(app, action, now)
		objects.Warnings = []string{"spark.a has no effect"}
		return objects, err
	}
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	recorder := telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)
	ctx, cancel := context.WithCancel(t.Context())

	written := make(chan error, 1)
	go func() { written <- recorder.Start(ctx) }()

	r := &Reconciler{
		scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: kind,
		clock:      func() time.Time { return scene.Noon },
		dependents: dependents.Client{Client: frozen{w.API, app}, Live: w.API},
		reports:    reports{traces: noTraces, metrics: metrics, events: recorder}, term: term{limit: passTimeout},
	}

	result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
	if state := w.Get("pi").Status.AppState.State; err != nil || result.RequeueAfter != requeueSoon || state != "" {
		t.Errorf("the pass ended with %v, %v, and the state is %q", result, err, state)
	}

	cancel()

	if err := <-written; err != nil {
		t.Fatal(err)
	}

	if got := w.EventsOf(app); got[dialect.EventSubmissionWarning] != "spark.a has no effect" ||
		got["TinyLaunched"] != "" {
		t.Errorf("the events are %v", got)
	}
}
