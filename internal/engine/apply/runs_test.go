package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// existingRun creates a run that exists before the test, as an earlier operator or a user may have created it. If the
// owner is empty, the run has no owner reference. If the label is empty, the run has no label of a schedule.
func existingRun(w *scene.World, s *v1beta2.ScheduledSparkApplication, name string, owner types.UID,
	label string) *v1beta2.SparkApplication {
	w.T.Helper()

	run := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: s.Spec.Template}
	if label != "" {
		run.Labels = map[string]string{sparkoperator.LabelScheduledAppName: label}
	}

	if owner != "" {
		run.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(),
			Kind: "ScheduledSparkApplication", Name: s.Name, UID: owner}}
	}

	w.Create(run)
	return run
}

// TestConfirmRuns checks that a confirmation reads a schedule's runs from the API server. It must add exactly the runs
// with the schedule's label and UID, each of them once.
func TestConfirmRuns(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	s, other := w.Schedule("nightly", scene.Seldom), w.Schedule("weekly", scene.Seldom)
	seen := existingRun(w, s, "nightly-1", s.UID, "nightly")
	existingRun(w, s, "nightly-2", s.UID, "nightly")
	existingRun(w, s, "nightly-3", s.UID, "nightly")
	existingRun(w, s, "nightly-4", "of-one-that-was-deleted", "nightly")
	existingRun(w, s, "nightly-5", "", "nightly")
	existingRun(w, other, "weekly-1", other.UID, "weekly")
	existingRun(w, s, "manual", s.UID, "") // only the cache finds this run, because it selects by owners
	w.EndRun("nightly-3", v1beta2.ApplicationStateCompleted)

	a := Applier{Kind: configured.For(kinds.Schedule).Build(config.Default, nil),
		Dependents: dependents.Client{Live: w.API}}
	view := dependents.View{Owner: s, Set: dependents.Set{Runs: []client.Object{seen}}}

	view.Seen.Runs = []lifecycle.Run{a.Kind.(runs.Kind).RunFacts(seen)}
	for range 2 { // the second read must not add the runs that the first one found
		outcome, err := a.Apply(t.Context(), view,
			Decision{Plan: lifecycle.Plan{Actions: []lifecycle.Action{{Verb: lifecycle.Confirm,
				Part: lifecycle.ScheduledRun}}}})
		if err != nil {
			t.Fatal(err)
		}

		view.Seen.Confirmed = false
		if view = view.Add(outcome.Found, outcome.Created).WithFact(outcome.Fact); !view.Seen.Confirmed {
			t.Error("a live read confirms nothing")
		}
	}

	got := map[string]lifecycle.Outcome{}
	for _, run := range view.Seen.Runs {
		if _, twice := got[run.Name]; twice {
			t.Errorf("%s is seen twice", run.Name)
		}

		got[run.Name] = run.Outcome
	}

	want := map[string]lifecycle.Outcome{"nightly-1": lifecycle.Undecided, "nightly-2": lifecycle.Undecided,
		"nightly-3": lifecycle.Succeeded}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the runs that are seen (-want +got):\n%s", diff)
	}

	if len(view.Set.Runs) != len(want) {
		t.Errorf("%d runs can be acted on, want %d", len(view.Set.Runs), len(want))
	}
}

// TestConfirmRunsIsNotAllowed checks that a confirmation fails and reports no runs if the API server forbids the read.
// This must hold for the confirmation of one run and of all runs.
func TestConfirmRunsIsNotAllowed(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	s := w.Schedule("nightly", scene.Seldom)
	existingRun(w, s, "nightly-1", s.UID, "nightly")

	a := Applier{Kind: configured.For(kinds.Schedule).Build(config.Default, nil),
		Dependents: dependents.Client{Client: w.API, Live: w.Powerless()}}
	for _, name := range []string{"", "nightly-1"} {
		outcome, err := a.Apply(t.Context(), dependents.View{Owner: s},
			Decision{Plan: lifecycle.Plan{Actions: []lifecycle.Action{{Verb: lifecycle.Confirm,
				Part: lifecycle.ScheduledRun, Name: name}}}})
		if err == nil || outcome.Fact != nil || len(outcome.Found.Runs) > 0 ||
			!strings.Contains(err.Error(), "forbidden") {
			t.Errorf("run %q: %v, and %d runs", name, err, len(outcome.Found.Runs))
		}
	}
}
