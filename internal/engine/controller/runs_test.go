package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

type schedule = v1beta2.ScheduledSparkApplication

func forbid(s *schedule) { s.Spec.ConcurrencyPolicy = v1beta2.ConcurrencyForbid }

func lastRun(name string) func(*v1beta2.ScheduledSparkApplicationStatus) bool {
	return func(s *v1beta2.ScheduledSparkApplicationStatus) bool { return s.LastRunName == name }
}

// TestRunMissingInTheCacheIsFound checks a pass over an up-to-date schedule while the cache does not show its runs. The
// pass starts no run twice, and no second run while a run exists, because it finds the existing run by a live read.
func TestRunMissingInTheCacheIsFound(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	s := w.Schedule("nightly", "a", forbid)
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	pass := func() {
		t.Helper()

		r := &Reconciler{
			scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil), kind: tiny.Schedules(),
			clock:      time.Now,
			dependents: dependents.Client{Client: blindToRuns{w.API}, Live: w.API},
			reports:    reports{traces: noTraces, metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)},
			term:       term{limit: passTimeout},
		}
		if _, err := r.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil {
			t.Fatal(err)
		}
	}
	pass()

	first := w.Get("nightly-a")
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}

	s.Status.LastRunName = "" // the operator crashed before it wrote that
	if err := w.API.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}

	pass()

	if got := w.Get("nightly-a"); got.UID != first.UID {
		t.Error("the run was made twice")
	}

	w.WaitSchedule("nightly", "the run that was found", lastRun("nightly-a"))

	w.EditSchedule("nightly", `{"schedule":"b"}`)
	pass()

	if diff := cmp.Diff([]string{"nightly-a"}, w.RunsOf(s)); diff != "" {
		t.Errorf("beside a running one (-want +got):\n%s", diff)
	}

	w.EndRun("nightly-a", v1beta2.ApplicationStateFailed)
	pass()

	if diff := cmp.Diff([]string{"nightly-a", "nightly-b"}, w.RunsOf(s)); diff != "" {
		t.Errorf("after its end (-want +got):\n%s", diff)
	}

	if err := w.API.Delete(t.Context(), w.Get("nightly-b")); err != nil {
		t.Fatal(err)
	}

	w.EditSchedule("nightly", `{"schedule":"c"}`)
	pass()

	if diff := cmp.Diff([]string{"nightly-a", "nightly-c"}, w.RunsOf(s)); diff != "" {
		t.Errorf("after the last run was deleted (-want +got):\n%s", diff)
	}
}

// blindToRuns is a cache that shows no SparkApplications.
type blindToRuns struct{ client.Client }

func (b blindToRuns) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, runs := list.(*v1beta2.SparkApplicationList); runs {
		return nil
	}
	return b.Client.List(ctx, list, options...)
}
