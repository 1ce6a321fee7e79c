package application

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// These tests check a rule of every dialect: each decision reads the same memory that the previous decision stored in
// the JSON of the status.

// TestLawOverLives simulates random life cycles of applications and checks every stored status (sparkapp.CheckShape).
// It also checks that a pass over an unchanged application leaves the status unchanged, so that the pass writes
// nothing.
func TestLawOverLives(t *testing.T) {
	d := Dialect{Options{MaxTrackedExecutors: 3, MissingGrace: 10 * time.Second}}

	phases := map[lifecycle.Phase]int{}
	for seed := range uint64(effort.Count(t, 20)) {
		r := rand.New(rand.NewPCG(seed, 3))

		app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.UID = types.UID(fmt.Sprint("uid-", seed)) })
		if r.IntN(2) == 0 {
			app.Spec.RestartPolicy.Type = v1beta2.RestartPolicyAlways
		}

		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 60 {
			now = now.Add(time.Duration(1+r.IntN(20_000_000)) * time.Microsecond)
			switch r.IntN(25) {
			case 0:
				app.Spec.Suspend = new(r.IntN(2) == 0)
			case 1:
				app.Spec.Arguments = []string{fmt.Sprint(r.IntN(4))}
			}

			seen := observedAt(r, app.Status, now)

			plan := d.Decide(app, seen, now)
			if sparkapp.Asks(plan) {
				continue // never stored
			}

			sparkapp.RoundTrip(t, &app.Status)

			if diff := cmp.Diff(plan.Next, status.Memory(&app.Status)); diff != "" {
				t.Fatalf("life %d: memory (-decided +read):\n%s", seed, diff)
			}

			sparkapp.CheckShape(t, app)
			checkBuilt(t, d, app, plan, now)
			checkConcluded(t, d, app, plan, seen, now)
			checkAtRest(t, d, app, seen, now)
			phases[plan.Next.Phase]++
		}
	}

	for _, p := range []lifecycle.Phase{lifecycle.Waiting, lifecycle.Running, lifecycle.Unknown, lifecycle.Suspended,
		lifecycle.Retained, lifecycle.Editing} {
		if phases[p] == 0 {
			t.Errorf("no life came through %s", p)
		}
	}
}

// checkAtRest repeats the decision with the status that was just stored. The status must not change, unless the
// application makes progress.
func checkAtRest(t *testing.T, d Dialect, app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) {
	if seen.Rejection != nil {
		return // a rejection is a fact of one pass only
	}

	seen.Confirmed, seen.ProbeResult = false, nil
	again := app.DeepCopy()

	plan := d.Decide(again, seen, now)
	if len(plan.Transitions) > 0 || sparkapp.Asks(plan) {
		return
	}

	sparkapp.RoundTrip(t, &again.Status)

	if diff := cmp.Diff(app.Status, again.Status); diff != "" {
		t.Fatalf("a second pass in phase %s changes the status:\n%s", plan.Next.Phase, diff)
	}
}

// checkBuilt checks that a launch contains the objects that were rendered to decide on it (Action.Built). Render must
// return the same objects with Built and without it, however often it is called. If Render is called for a later time,
// it must render the objects again.
func checkBuilt(t *testing.T, d Dialect, app *v1beta2.SparkApplication, plan lifecycle.Plan, now time.Time) {
	for _, launch := range plan.Actions {
		if launch.Verb != lifecycle.Create || launch.Part != lifecycle.Submission {
			continue
		}

		if launch.Built == nil {
			t.Fatalf("the launch of attempt %d does not contain the objects that the decision rendered", launch.Attempt)
		}

		for _, at := range []time.Time{now, now, now.Add(time.Second)} {
			want, err := d.Render(app, createAttempt(launch.Attempt), at)
			if err != nil {
				t.Fatal(err)
			}

			got, err := d.Render(app, launch, at)
			if err != nil {
				t.Fatal(err)
			}

			if !equality.Semantic.DeepEqual(want, got) {
				t.Fatalf("attempt %d of %s, %s after the decision (-built for it +built for the decision):\n%s",
					launch.Attempt, app.Name, at.Sub(now),
					cmp.Diff(fieldtable.Plain(t, want), fieldtable.Plain(t, got)))
			}
			// The caller may change the returned objects, so a change must not affect the next result.
			got.Driver.Labels["ours"], got.Before = "no more", slices.Insert(got.Before, 0, got.Before[0])
		}
	}
}

// checkConcluded checks that a plan requests a requeue if the next pass has something to do although nothing has
// changed. The requeue is necessary because the operator's own status write starts no pass (Traits.Concludes).
func checkConcluded(t *testing.T, d Dialect, app *v1beta2.SparkApplication, first lifecycle.Plan,
	seen lifecycle.Observed, now time.Time) {
	next := d.Decide(app.DeepCopy(), seen, now)
	if first.RequeueAfter == 0 && len(next.Transitions)+len(next.Actions)+len(next.Notices) > 0 {
		t.Fatalf("phase %s: nothing starts the pass with the actions %+v, the transitions %+v and the notices %+v",
			first.Next.Phase, next.Actions, next.Transitions, next.Notices)
	}
}

func observedAt(r *rand.Rand, s v1beta2.SparkApplicationStatus, now time.Time) lifecycle.Observed {
	seen := lifecycle.Observed{Confirmed: r.IntN(2) == 0}
	phases := []lifecycle.DriverPhase{
		lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverRunning, lifecycle.DriverSucceeded,
		lifecycle.DriverFailed, lifecycle.DriverUnknown,
	}

	if s.Operator == nil {
		return seen
	}

	if r.IntN(3) > 0 {
		d := lifecycle.Driver{Name: "pi-driver", Attempt: s.Operator.Attempt, Phase: phases[r.IntN(len(phases))],
			Ready: r.IntN(2) == 0, CreatedAt: now}
		if d.Phase == lifecycle.DriverPending {
			d.Why = lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes are available"}
		}

		seen.Drivers = append(seen.Drivers, d)
	}

	for i := range r.IntN(6) {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprint("exec-", i), Attempt: s.Operator.Attempt, Phase: phases[r.IntN(len(phases))],
			Why: lifecycle.Cause{Reason: "Error", Message: "e"},
		})
	}

	if r.IntN(3) > 0 {
		seen.ProbeResult = &lifecycle.Cause{}
		if r.IntN(2) == 0 {
			seen.ProbeResult = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "q"}
		}
	}

	if r.IntN(6) == 0 {
		seen.Rejection = &lifecycle.Cause{Reason: "Forbidden", Message: "no"}
	}
	return seen
}
