package application

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// The tests in this file check the law of every dialect: the memory that a decision stores is the memory that the next
// decision reads, also after the status was converted to JSON and back.

// TestLawOverLives runs random life cycles of applications, some of which start from a random status of another
// operator. It checks that the memory can be read back from every stored status, and that the status stays within its
// limits. It also checks that a second decision about the same observation does not change the status, so that idle
// passes write nothing.
func TestLawOverLives(t *testing.T) {
	phases, states := map[lifecycle.Phase]int{}, map[sparkv1.ApplicationStateSummary]int{}
	const enough = 150 // so many lives reach all phases and states

	count := effort.Count(t, 40)
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 3))
		a := Applications{Options{MissingGrace: 10 * time.Second, Trim: r.IntN(2) == 0}}

		l := begin(t, a, tolerating(tolerationsAtRandom(r)),
			func(app *sparkv1.SparkApplication) { app.UID = types.UID(fmt.Sprint("uid-", seed)) })
		if r.IntN(3) == 0 {
			l.app.Status = leftAtRandom(r)
		}

		for range 50 {
			if r.IntN(15) == 0 {
				l.app.Generation++
				l.app.Spec.DriverArgs = []string{fmt.Sprint(r.IntN(9))}
			}

			if r.IntN(20) == 0 {
				l.app.Spec.Suspend = new(!dialect.Suspended(l.app.Spec.Suspend))
			}

			seen := observedAt(r, l)
			l.pass(time.Duration(1+r.IntN(40_000_000))*time.Microsecond, seen)
			checkBuilt(t, l)
			checkConcluded(t, l, seen)
			checkAtRest(t, l, seen)
			phases[l.plan.Next.Phase]++
			states[status.Current(&l.app.Status)]++
		}
	}

	if count < enough {
		return
	}

	for _, p := range []lifecycle.Phase{lifecycle.Waiting, lifecycle.Running, lifecycle.Partial, lifecycle.Below,
		lifecycle.Unknown, lifecycle.Retained, lifecycle.Done} {
		if phases[p] == 0 {
			t.Errorf("no life cycle reached the phase %s", p)
		}
	}

	for _, state := range everyState {
		// No simulated pass ends in the state Submitted.
		if state != sparkv1.ApplicationSubmitted && states[state] == 0 {
			t.Errorf("no life cycle reached the state %s", state)
		}
	}
}

func tolerationsAtRandom(r *rand.Rand) sparkv1.ApplicationTolerations {
	millis := func(n int) *int64 {
		if r.IntN(3) == 0 {
			return nil
		}
		return new(int64(r.IntN(n) - 1))
	}
	policies := []sparkv1.RestartPolicy{"", sparkv1.RestartAlways, sparkv1.RestartOnFailure,
		sparkv1.RestartOnInfrastructureFailure}
	retains := []sparkv1.ResourceRetainPolicy{"", sparkv1.RetainAlways, sparkv1.RetainOnFailure}
	return sparkv1.ApplicationTolerations{
		RestartConfig: &sparkv1.RestartConfig{RestartPolicy: policies[r.IntN(len(policies))],
			MaxRestartAttempts: millis(9), RestartBackoffMillis: millis(50_000),
			RestartCounterResetMillis: millis(100_000), MaxRestartOnFailure: millis(5),
			RestartBackoffMillisForFailure: millis(9_000)},
		ApplicationTimeoutConfig: &sparkv1.ApplicationTimeoutConfig{DriverStartTimeoutMillis: millis(100_000),
			DriverReadyTimeoutMillis:   millis(100_000),
			ExecutorStartTimeoutMillis: millis(100_000), ForceTerminationGracePeriodMillis: millis(10_000)},
		InstanceConfig: &sparkv1.InstanceConfig{InitExecutors: millis(3), MinExecutors: millis(4),
			MaxExecutors: millis(6)},
		ResourceRetainPolicy: retains[r.IntN(len(retains))], ResourceRetainDurationMillis: millis(60_000),
	}
}

// leftAtRandom returns a random status that the other operator could have written.
func leftAtRandom(r *rand.Rand) (s sparkv1.ApplicationStatus) {
	s.StateTransitionHistory = map[string]sparkv1.ApplicationState{}
	for i := range 1 + r.IntN(5) {
		entry := sparkv1.ApplicationState{CurrentStateSummary: everyState[r.IntN(len(everyState))],
			Message:            "left by another",
			LastTransitionTime: apache.Timestamp(t0.Add(time.Duration(i-20) * time.Second))}
		s.StateTransitionHistory[fmt.Sprint(i)], s.CurrentState = entry, &entry
	}

	if r.IntN(4) > 0 {
		s.CurrentAttemptSummary = &sparkv1.ApplicationAttemptSummary{AttemptInfo: &sparkv1.AttemptInfo{ID: int64(r.IntN(3)), RestartCounter: int64(r.IntN(3))}}
	}
	return s
}

// checkBuilt checks that a launch has the same objects in two cases: Render reuses the objects that the decision has
// built (Action.Built), or Render builds them itself. It calls Render twice for the time of the decision, because the
// caller may change the objects of the first call. It also calls Render for a later time, for which Render must not
// reuse the built objects.
func checkBuilt(t *testing.T, l *life) {
	for _, launch := range l.plan.Actions {
		if launch.Verb != lifecycle.Create || launch.Part != lifecycle.Submission {
			continue
		}

		if launch.Built == nil {
			t.Fatalf("the action that launches attempt %d lacks the objects that the decision built", launch.Attempt)
		}

		for _, at := range []time.Time{l.now, l.now, l.now.Add(time.Second)} {
			want, err := l.a.Render(l.app, launchOf(launch.Attempt), at)
			if err != nil {
				t.Fatal(err)
			}

			got, err := l.a.Render(l.app, launch, at)
			if err != nil {
				t.Fatal(err)
			}

			if !equality.Semantic.DeepEqual(want, got) {
				t.Fatalf("attempt %d, %s after the decision: Render returns other objects with the built objects than without them:\n%v\n%v", launch.Attempt, at.Sub(l.now), want, got)
			}

			got.Driver.Labels["ours"] = "no more" // the caller may change the result
		}
	}
}

// checkConcluded checks that a pass leaves nothing to do if it does not requeue. Another pass over the stored status
// must then have no action, transition or notice, because there will be no other pass: the watch event of the
// operator's own status write does not start one (Kind.Concludes).
func checkConcluded(t *testing.T, l *life, seen lifecycle.Observed) {
	next := l.a.Decide(l.app.DeepCopy(), seen, l.now)
	if l.plan.RequeueAfter == 0 && len(next.Transitions)+len(next.Actions)+len(next.Notices) > 0 {
		t.Fatalf("phase %s: the pass did not requeue, but another pass would have the actions %+v, the transitions %+v and the notices %+v", l.plan.Next.Phase, next.Actions, next.Transitions, next.Notices)
	}
}

// checkAtRest runs a second decision about the stored status, with the same observed objects, and checks that it does
// not change the status. It accepts a change if the second decision enters another phase or requests a live read.
func checkAtRest(t *testing.T, l *life, seen lifecycle.Observed) {
	if seen.Rejection != nil {
		return // a rejection is valid only in its own pass
	}

	seen.Confirmed, seen.PodsConfirmed, seen.CacheBehind, seen.ProbeResult = false, false, false, nil
	again := l.app.DeepCopy()

	plan := l.a.Decide(again, seen, l.now)
	if len(plan.Transitions) > 0 || asks(plan) {
		return
	}

	if diff := cmp.Diff(jsonOf(t, &l.app.Status), jsonOf(t, &again.Status)); diff != "" {
		t.Fatalf("a second pass in phase %s changes the status:\n%s", plan.Next.Phase, diff)
	}
}

func observedAt(r *rand.Rand, l *life) lifecycle.Observed {
	seen := lifecycle.Observed{Confirmed: r.IntN(2) == 0}
	if seen.Confirmed {
		seen.PodsConfirmed, seen.CacheBehind = r.IntN(2) == 0, r.IntN(3) == 0
	}

	attempt := takeover.Memory(l.app, l.a.app(l.app), lifecycle.Observed{}, l.now).Attempt

	phases := []lifecycle.DriverPhase{
		lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverRunning, lifecycle.DriverSucceeded,
		lifecycle.DriverFailed, lifecycle.DriverUnknown,
	}
	if attempt > 0 && r.IntN(3) > 0 {
		d := lifecycle.Driver{Name: "pi-driver", Attempt: attempt, Phase: phases[r.IntN(len(phases))],
			Ready: r.IntN(2) == 0, CreatedAt: l.now}
		switch d.Phase {
		case lifecycle.DriverPending:
			d.Ready, d.Why = false, lifecycle.Cause{Reason: "Unschedulable", Message: "0/3 nodes are available"}
		case lifecycle.DriverFailed:
			crashed(&d)
		}

		seen.Drivers = append(seen.Drivers, d)
	}

	for i := range r.IntN(6) {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprint("exec-", i), Attempt: attempt, Phase: phases[r.IntN(len(phases))],
			Why: lifecycle.Cause{Reason: "Error", Message: "e"},
		})
	}

	if r.IntN(3) > 0 {
		seen.ProbeResult = &lifecycle.Cause{}
		if r.IntN(2) == 0 {
			seen.ProbeResult = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "q"}
		}
	}

	if r.IntN(8) == 0 {
		seen.Rejection = &lifecycle.Cause{Reason: "Forbidden", Message: "no"}
	}
	return seen
}
