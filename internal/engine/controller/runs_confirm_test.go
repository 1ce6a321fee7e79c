package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestMissedTicksAreConfirmed checks an operator that restarts after hours, with a cache that shows no run yet. The
// operator starts no second run while a run is running. When that run has ended, the operator starts one run for all
// missed ticks.
func TestMissedTicksAreConfirmed(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	s := w.Schedule("nightly", "0 * * * *", forbid)
	first := s.CreationTimestamp.UTC().Truncate(time.Hour).Add(time.Hour)
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	counted := &listed{Client: w.API}
	at := func(now time.Time) {
		t.Helper()

		r := &Reconciler{
			scope: scene.Everywhere{}, explains: explain.New(w.API, w.API, nil),
			kind:       configured.For(kinds.Schedule).Build(config.Default, nil),
			clock:      func() time.Time { return now },
			dependents: dependents.Client{Client: emptyCache{w.API}, Live: counted},
			reports:    reports{traces: noTraces, metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)},
			term:       term{limit: passTimeout},
		}
		if _, err := r.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil {
			t.Fatal(err)
		}
	}
	at(s.CreationTimestamp.UTC())

	if counted.lists != 0 {
		t.Errorf("%d live reads of all runs while none is due", counted.lists)
	}

	going := machine.RunName("nightly", first, machine.Seconds)
	w.Create(&v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: going,
			Labels: map[string]string{sparkoperator.LabelScheduledAppName: "nightly"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(),
				Kind: "ScheduledSparkApplication", Name: s.Name, UID: s.UID}},
		},
		Spec: s.Spec.Template,
	})

	late := first.Add(2*time.Hour + 10*time.Minute)
	at(late)

	if diff := cmp.Diff([]string{going}, w.RunsOf(s)); diff != "" {
		t.Errorf("beside a running one (-want +got):\n%s", diff)
	}

	if counted.lists == 0 {
		t.Error("a cache without runs is believed")
	}

	w.EndRun(going, v1beta2.ApplicationStateCompleted)
	at(late.Add(time.Minute))
	want := []string{going, machine.RunName("nightly", first.Add(2*time.Hour), machine.Nanos)}
	slices.Sort(want)

	got := w.RunsOf(s)
	slices.Sort(got)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("when it has ended (-want +got):\n%s", diff)
	}

	at(late.Add(2 * time.Minute))

	if again := w.RunsOf(s); len(again) != 2 {
		t.Errorf("later: %v", again)
	}
}

// emptyCache is a cache that shows neither runs nor their pods.
type emptyCache struct{ client.Client }

func (e emptyCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		return nil
	}
	return blindToRuns(e).List(ctx, list, options...)
}

// listed is a client that counts how often the runs are listed live.
type listed struct {
	client.Client
	lists int
}

func (l *listed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, runs := list.(*v1beta2.SparkApplicationList); runs {
		l.lists++
	}
	return l.Client.List(ctx, list, options...)
}
