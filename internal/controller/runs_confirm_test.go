package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/lifecycle"
	machine "github.com/sparkoperator/spark-operator/lifecycle/schedule"
)

// left creates a run as somebody left it: of an owner's UID, or of nobody, with the label of a schedule, or without.
func (w *world) left(s *schedule, name string, owner types.UID, label string) *v1beta2.SparkApplication {
	w.T.Helper()
	run := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Spec: s.Spec.Template}
	if label != "" {
		run.Labels = map[string]string{sparkoperator.LabelScheduledAppName: label}
	}
	if owner != "" {
		run.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "ScheduledSparkApplication", Name: s.Name, UID: owner}}
	}
	w.Create(run)
	return run
}

// TestConfirmRuns reads live which runs there are: those that were not seen are the schedule's by its UID among those that have its label, and nobody
// else's; each is seen once.
func TestConfirmRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, other := w.Schedule("nightly", seldom), w.Schedule("weekly", seldom)
	seen := w.left(s, "nightly-1", s.UID, "nightly")
	w.left(s, "nightly-2", s.UID, "nightly")
	w.left(s, "nightly-3", s.UID, "nightly")
	w.left(s, "nightly-4", "of-one-that-was-deleted", "nightly")
	w.left(s, "nightly-5", "", "nightly")
	w.left(other, "weekly-1", other.UID, "weekly")
	w.left(s, "manual", s.UID, "") // it is in the cache, which looks at owners, or comes there
	w.EndRun("nightly-3", v1beta2.ApplicationStateCompleted)

	r := &Reconciler{kind: kinds.Schedules(config.Default()), dependents: dependents.Client{Live: w.API}}
	p := &pass{stored: s}
	p.children.Runs = []client.Object{seen}
	p.seen.Runs = []lifecycle.Run{r.kind.Runs.Facts(seen)}
	for range 2 { // what the first read found is known to the second
		found, err := r.actOnRun(t.Context(), p, lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.ScheduledRun})
		if err != nil {
			t.Fatal(err)
		}
		p.seen.Confirmed = false
		if found(&p.seen); !p.seen.Confirmed {
			t.Error("a live read confirms nothing")
		}
	}
	got := map[string]lifecycle.Outcome{}
	for _, run := range p.seen.Runs {
		if _, twice := got[run.Name]; twice {
			t.Errorf("%s is seen twice", run.Name)
		}
		got[run.Name] = run.Outcome
	}
	want := map[string]lifecycle.Outcome{"nightly-1": lifecycle.Undecided, "nightly-2": lifecycle.Undecided, "nightly-3": lifecycle.Succeeded}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the runs that are seen (-want +got):\n%s", diff)
	}
	if len(p.children.Runs) != len(want) {
		t.Errorf("%d runs can be acted on, want %d", len(p.children.Runs), len(want))
	}
}

// TestConfirmRunsIsNotAllowed: a read that fails confirms nothing, with runs that are named and with all of them.
func TestConfirmRunsIsNotAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.Schedule("nightly", seldom)
	w.left(s, "nightly-1", s.UID, "nightly")
	r := &Reconciler{kind: kinds.Schedules(config.Default()), dependents: dependents.Client{Client: w.API, Live: w.powerless()}}
	for _, name := range []string{"", "nightly-1"} {
		p := &pass{stored: s}
		found, err := r.actOnRun(t.Context(), p, lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.ScheduledRun, Name: name})
		if err == nil || found != nil || len(p.children.Runs) > 0 || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("run %q: %v, and %d runs", name, err, len(p.children.Runs))
		}
	}
}

// TestMissedTicksAreConfirmed: an operator that comes back after hours, with a cache that shows no run yet, starts none beside one that goes on, and one for
// all that were missed when that has ended.
func TestMissedTicksAreConfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.Schedule("nightly", "0 * * * *", forbid)
	first := s.CreationTimestamp.UTC().Truncate(time.Hour).Add(time.Hour)
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	counted := &listed{Client: w.API}
	at := func(now time.Time) {
		t.Helper()
		r := &Reconciler{
			scope: everywhere{}, explains: explain.New(w.API, w.API, nil), kind: kinds.Schedules(config.Default()),
			clock: func() time.Time { return now }, dependents: dependents.Client{Client: emptyCache{w.API}, Live: counted},
			reports: reports{metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)}, term: term{limit: passTimeout},
		}
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil {
			t.Fatal(err)
		}
	}
	at(s.CreationTimestamp.UTC())
	if counted.lists != 0 {
		t.Errorf("%d live reads of all runs while none is due", counted.lists)
	}
	going := machine.RunName("nightly", first, machine.Seconds)
	w.left(s, going, s.UID, "nightly")

	late := first.Add(2*time.Hour + 10*time.Minute)
	at(late)
	if diff := cmp.Diff([]string{going}, w.RunsOf(s)); diff != "" {
		t.Errorf("beside one that goes on (-want +got):\n%s", diff)
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

// emptyCache shows neither runs nor their pods yet.
type emptyCache struct{ client.Client }

func (e emptyCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		return nil
	}
	return blindToRuns(e).List(ctx, list, options...)
}

// listed counts the live reads of all runs.
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
