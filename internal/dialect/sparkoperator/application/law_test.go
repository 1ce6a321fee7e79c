package application

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
)

// These tests check a rule of every dialect: each decision reads the same memory that the previous decision stored in
// the JSON of the status.

// roundTrip encodes a status as JSON and decodes it again, as the API server would return it.
func roundTrip(t testing.TB, s *v1beta2.SparkApplicationStatus) {
	t.Helper()

	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}

	*s = v1beta2.SparkApplicationStatus{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
}

func FuzzMemory(f *testing.F) {
	f.Add("Waiting", "Failed", "OOMKilled", "it was too big", "1:abc", int32(3), int64(1_770_000_000_000_001), int64(0))
	f.Add("Done", "", "", "", "", int32(0), int64(0), int64(-5))
	f.Fuzz(func(t *testing.T, phase, outcome, reason, message, digest string, n int32, at, later int64) {
		moment := func(us int64) time.Time {
			if us == 0 {
				return time.Time{}
			}
			return time.UnixMicro(us % (1 << 52)).UTC()
		}

		m := lifecycle.Memory{
			Phase: lifecycle.Phase(valid(phase)), Since: moment(at), Attempt: n, AttemptID: valid(digest), Runs: n, Submissions: n + 1, SuspendedRuns: n / 2,
			SubmittedAt: moment(at), UngatedAt: moment(at + 1), EndedAt: moment(later), NextAttempt: moment(at ^ later), ShortSince: moment(later + at), FailedExecutorCreatedAt: moment(at + 2), Outcome: lifecycle.Outcome(valid(outcome)),
			Cause: lifecycle.Cause{Reason: valid(reason), Message: valid(message)},
		}
		if digest := valid(digest); digest != "" {
			m.SpecHash = fmt.Sprintf("%d:%s", hashVersion, digest)
		}
		var s v1beta2.SparkApplicationStatus
		encodeMemory(&s, m)
		roundTrip(t, &s)

		if diff := cmp.Diff(m, decodeMemory(&s)); diff != "" {
			t.Errorf("memory (-encoded +decoded):\n%s", diff)
		}
	})
}

// valid returns the text without the bytes that JSON cannot represent.
func valid(text string) string {
	quoted, _ := json.Marshal(text)
	_ = json.Unmarshal(quoted, &text)
	return text
}

// TestLawOverLives simulates random life cycles of applications and checks every stored status (checkShape). It also
// checks that a pass over an unchanged application leaves the status unchanged, so that the pass writes nothing.
func TestLawOverLives(t *testing.T) {
	d := Dialect{Options{MaxTrackedExecutors: 3, MissingGrace: 10 * time.Second}}

	phases := map[lifecycle.Phase]int{}
	for seed := range uint64(effort.Count(t, 20)) {
		r := rand.New(rand.NewPCG(seed, 3))

		app := sample(func(a *v1beta2.SparkApplication) { a.UID = types.UID(fmt.Sprint("uid-", seed)) })
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
			if asks(plan) {
				continue // never stored
			}

			roundTrip(t, &app.Status)

			if diff := cmp.Diff(plan.Next, decodeMemory(&app.Status)); diff != "" {
				t.Fatalf("life %d: memory (-decided +read):\n%s", seed, diff)
			}

			checkShape(t, app)
			checkBuilt(t, d, app, plan, now)
			checkConcluded(t, d, app, plan, seen, now)
			checkAtRest(t, d, app, seen, now)
			phases[plan.Next.Phase]++
		}
	}

	for _, p := range []lifecycle.Phase{lifecycle.Waiting, lifecycle.Running, lifecycle.Unknown, lifecycle.Suspended, lifecycle.Retained, lifecycle.Editing} {
		if phases[p] == 0 {
			t.Errorf("no life came through %s", p)
		}
	}
}

func asks(plan lifecycle.Plan) bool {
	for _, a := range plan.Actions {
		if a.Verb == lifecycle.Confirm {
			return true
		}
	}
	return false
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
	if len(plan.Transitions) > 0 || asks(plan) {
		return
	}

	roundTrip(t, &again.Status)

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
				t.Fatalf("attempt %d of %s, %s after the decision (-built for it +built for the decision):\n%s", launch.Attempt, app.Name, at.Sub(now), cmp.Diff(fieldtable.Plain(t, want), fieldtable.Plain(t, got)))
			}
			// The caller may change the returned objects, so a change must not affect the next result.
			got.Driver.Labels["ours"], got.Before = "no more", slices.Insert(got.Before, 0, got.Before[0])
		}
	}
}

// checkConcluded checks that a plan requests a requeue if the next pass has something to do although nothing has
// changed. The requeue is necessary because the operator's own status write starts no pass (Progress.Concludes).
func checkConcluded(t *testing.T, d Dialect, app *v1beta2.SparkApplication, first lifecycle.Plan, seen lifecycle.Observed, now time.Time) {
	next := d.Decide(app.DeepCopy(), seen, now)
	if first.RequeueAfter == 0 && len(next.Transitions)+len(next.Actions)+len(next.Notices) > 0 {
		t.Fatalf("phase %s: nothing starts the pass with the actions %+v, the transitions %+v and the notices %+v", first.Next.Phase, next.Actions, next.Transitions, next.Notices)
	}
}

// checkShape checks that the API server would accept the status, and that the status has the properties that clients of
// this API rely on.
func checkShape(t *testing.T, app *v1beta2.SparkApplication) {
	s := app.Status
	if len(s.Operator.History) > v1beta2.MaxHistory || len(s.ExecutorState) > 3 {
		t.Fatalf("%d transitions, %d executors in the status", len(s.Operator.History), len(s.ExecutorState))
	}

	ready := 0
	for _, c := range s.Conditions {
		if dialect.UsableReason(c.Reason) != c.Reason || c.LastTransitionTime.IsZero() || len(c.Message) > 32768 {
			t.Fatalf("an API server would reject the condition %+v", c)
		}

		if c.Type == dialect.ConditionReady {
			ready++
		}
	}

	if ready != 1 {
		t.Fatalf("%d Ready conditions", ready)
	}
}

func observedAt(r *rand.Rand, s v1beta2.SparkApplicationStatus, now time.Time) lifecycle.Observed {
	seen := lifecycle.Observed{Confirmed: r.IntN(2) == 0}
	phases := []lifecycle.DriverPhase{
		lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverFailed, lifecycle.DriverUnknown,
	}

	if s.Operator == nil {
		return seen
	}

	if r.IntN(3) > 0 {
		d := lifecycle.Driver{Name: "pi-driver", Attempt: s.Operator.Attempt, Phase: phases[r.IntN(len(phases))], Ready: r.IntN(2) == 0, CreatedAt: now}
		if d.Phase == lifecycle.DriverPending {
			d.Why = lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes are available"}
		}

		seen.Drivers = append(seen.Drivers, d)
	}

	for i := range r.IntN(6) {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprint("exec-", i), Attempt: s.Operator.Attempt, Phase: phases[r.IntN(len(phases))], Why: lifecycle.Cause{Reason: "Error", Message: "e"},
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

// sample returns a valid SparkApplication to which the given changes are applied.
func sample(change ...func(*v1beta2.SparkApplication)) *v1beta2.SparkApplication {
	app := &v1beta2.SparkApplication{}
	app.Name, app.Namespace, app.UID, app.Generation = "pi", "jobs", "11111111-2222-4333-8444-555555555555", 1
	app.Spec = v1beta2.SparkApplicationSpec{
		Type: v1beta2.SparkApplicationTypeJava, Mode: v1beta2.DeployModeCluster, SparkVersion: "4.1.4", Image: new("spark:4.1.4"),
		MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
	}

	app.Spec.Executor.Instances = new(int32(2))
	for _, c := range change {
		c(app)
	}
	return app
}
