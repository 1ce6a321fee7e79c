package status

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

const (
	pending   = v1beta2.ExecutorStatePending
	running   = v1beta2.ExecutorStateRunning
	completed = v1beta2.ExecutorStateCompleted
	failed    = v1beta2.ExecutorStateFailed
)

func executor(name string, phase lifecycle.DriverPhase) lifecycle.Executor {
	return lifecycle.Executor{Name: name, Attempt: 1, Phase: phase,
		Why: lifecycle.Cause{Reason: "Error", Message: name + " failed"}}
}

// track calls trackExecutors, and then converts the status to JSON and back, as the API server does.
func track(t testing.TB, s *v1beta2.SparkApplicationStatus, m lifecycle.Memory, pods []lifecycle.Executor,
	limit int) []lifecycle.Notice {
	t.Helper()
	return trackBoth(t, s, m, pods, nil, limit)
}

// trackBoth calls trackExecutors with existing executors (pods) and with executors whose pods no longer exist (gone).
// Then it converts the status to JSON and back, as the API server does.
func trackBoth(t testing.TB, s *v1beta2.SparkApplicationStatus, m lifecycle.Memory, pods, gone []lifecycle.Executor,
	limit int) []lifecycle.Notice {
	t.Helper()

	if s.Operator == nil {
		s.Operator = &v1beta2.OperatorStatus{}
	}

	notices := trackExecutors(s, m, pods, gone, limit)
	sparkapp.RoundTrip(t, s)
	return notices
}

// asStates returns one executor for each given name. The executor's phase corresponds to the state of this name.
func asStates(states map[string]v1beta2.ExecutorState) (pods []lifecycle.Executor) {
	for name, state := range states {
		for phase, word := range executors.States {
			if word == state {
				pods = append(pods, executor(name, phase))
			}
		}
	}
	return pods
}

// TestTrackGoneExecutors checks that an executor whose pod disappeared before it was counted is counted exactly once.
// The map contains this executor only if it has room after the existing executors.
func TestTrackGoneExecutors(t *testing.T) {
	m := sparkapp.In(lifecycle.Running)
	m.Attempt = 1
	live := []lifecycle.Executor{executor("exec-4", lifecycle.DriverRunning)}
	gone := []lifecycle.Executor{executor("exec-1", lifecycle.DriverSucceeded),
		executor("exec-2", lifecycle.DriverSucceeded), executor("exec-3", lifecycle.DriverFailed)}
	gone = append(gone, lifecycle.Executor{Name: "exec-9", Attempt: 2, Phase: lifecycle.DriverSucceeded})
	s := &v1beta2.SparkApplicationStatus{Operator: &v1beta2.OperatorStatus{}}
	notices := trackExecutors(s, m, live, gone, 3)
	counts := &v1beta2.ExecutorCounts{Running: 1, Completed: 2, Failed: 1}

	states := map[string]v1beta2.ExecutorState{"exec-1": completed, "exec-2": completed, "exec-4": running}
	if diff := cmp.Diff(counts, s.Executors) + cmp.Diff(states, s.ExecutorState); diff != "" || len(notices) != 1 ||
		notices[0].Name != "exec-3" {
		t.Errorf("%v: %s", notices, diff)
	}

	notices = track(t, s, m, live, 3)
	if diff := cmp.Diff(counts, s.Executors) + cmp.Diff(states, s.ExecutorState); diff != "" || len(notices) != 0 {
		t.Errorf("in the next pass, %v: %s", notices, diff)
	}
}

func TestTrackExecutors(t *testing.T) {
	live, over, broken := sparkapp.In(lifecycle.Running),
		sparkapp.In(lifecycle.Retained, sparkapp.Ended(lifecycle.Succeeded)),
		sparkapp.In(lifecycle.Retained, sparkapp.Ended(lifecycle.Failed))
	type states = map[string]v1beta2.ExecutorState

	for _, c := range []struct {
		name    string
		m       lifecycle.Memory
		before  states
		pods    []lifecycle.Executor
		want    states
		counts  v1beta2.ExecutorCounts
		notices []string
	}{
		{"no executors", live, nil, nil, nil, v1beta2.ExecutorCounts{}, nil},
		{"every state", live, nil, []lifecycle.Executor{
			executor("e1", lifecycle.DriverPending), executor("e2", lifecycle.DriverRunning),
			executor("e3", lifecycle.DriverSucceeded),
			executor("e4", lifecycle.DriverFailed), executor("e5", lifecycle.DriverUnknown),
		}, states{"e1": pending, "e2": running, "e3": completed, "e4": failed, "e5": v1beta2.ExecutorStateUnknown},
			v1beta2.ExecutorCounts{Pending: 1, Running: 1, Completed: 1, Failed: 1, Unknown: 1}, []string{"e4"}},
		{"an executor of another attempt", live, nil,
			[]lifecycle.Executor{{Name: "old", Attempt: 7, Phase: lifecycle.DriverRunning}}, nil,
			v1beta2.ExecutorCounts{}, nil},
		{"a failure that was already reported", live, states{"e4": failed},
			[]lifecycle.Executor{executor("e4", lifecycle.DriverFailed)}, states{"e4": failed},
			v1beta2.ExecutorCounts{Failed: 1}, nil},
		{"deleted while the driver runs", live, states{"e1": running, "e2": pending}, nil,
			states{"e1": completed, "e2": completed}, v1beta2.ExecutorCounts{Completed: 2}, nil},
		{"deleted after the driver succeeded", over, states{"e1": running}, nil, states{"e1": completed},
			v1beta2.ExecutorCounts{Completed: 1}, nil},
		{"still existing after the driver succeeded", over, states{"e1": running},
			[]lifecycle.Executor{executor("e1", lifecycle.DriverRunning), executor("e2", lifecycle.DriverPending),
				executor("e3", lifecycle.DriverUnknown)},
			states{"e1": completed, "e2": completed, "e3": v1beta2.ExecutorStateUnknown},
			v1beta2.ExecutorCounts{Completed: 2, Unknown: 1}, nil},
		{"failed after the driver succeeded", over, states{"e1": completed},
			[]lifecycle.Executor{executor("e1", lifecycle.DriverFailed)},
			states{"e1": failed}, v1beta2.ExecutorCounts{Failed: 1}, []string{"e1"}},
		{"still existing after the driver failed", broken, states{"e1": running},
			[]lifecycle.Executor{executor("e1", lifecycle.DriverRunning)},
			states{"e1": running}, v1beta2.ExecutorCounts{Running: 1}, nil},
		{"deleted after the driver failed", broken, states{"e1": running, "e2": completed}, nil,
			states{"e1": completed, "e2": completed}, v1beta2.ExecutorCounts{Completed: 2}, nil},
		{"deleted with its lost node", live, states{"e1": v1beta2.ExecutorStateUnknown, "e2": running},
			[]lifecycle.Executor{executor("e2", lifecycle.DriverRunning)},
			states{"e1": failed, "e2": running}, v1beta2.ExecutorCounts{Running: 1, Failed: 1}, nil},
		{"the lost node is back", live, states{"e1": v1beta2.ExecutorStateUnknown},
			[]lifecycle.Executor{executor("e1", lifecycle.DriverRunning)},
			states{"e1": running}, v1beta2.ExecutorCounts{Running: 1}, nil},
		{"failed on a lost node", live, states{"e1": v1beta2.ExecutorStateUnknown},
			[]lifecycle.Executor{executor("e1", lifecycle.DriverFailed)},
			states{"e1": failed}, v1beta2.ExecutorCounts{Failed: 1}, []string{"e1"}},
		{"one failed and was deleted, another one starts", live, states{"e1": failed, "e2": running},
			[]lifecycle.Executor{executor("e2", lifecycle.DriverRunning), executor("e3", lifecycle.DriverPending)},
			states{"e1": failed, "e2": running, "e3": pending},
			v1beta2.ExecutorCounts{Pending: 1, Running: 1, Failed: 1}, nil},
		{"failed and deleted", over, states{"e1": failed}, nil, states{"e1": failed},
			v1beta2.ExecutorCounts{Failed: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s v1beta2.SparkApplicationStatus
			track(t, &s, live, asStates(c.before), 1000)

			var names []string
			for _, n := range track(t, &s, c.m, c.pods, 1000) {
				names = append(names, n.Name)
			}

			if diff := cmp.Diff(c.want, s.ExecutorState); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}

			var got v1beta2.ExecutorCounts
			if s.Executors != nil {
				got = *s.Executors
			}

			if diff := cmp.Diff(c.counts, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(c.notices, names); diff != "" {
				t.Errorf("news (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCountsAreExact simulates applications with up to 50 executors, which start, wait, run, end, are evicted, are lost
// and are deleted at random. For every limit of the map, the counts must agree with the last observed state of each
// executor. A deleted executor must be reported once, even if it had already been counted as completed. A second pass
// with the same facts must change nothing.
func TestCountsAreExact(t *testing.T) {
	for seed := range uint64(effort.Count(t, 4)) {
		r := rand.New(rand.NewPCG(seed, 5))
		limit := []int{0, 1, 5, 1000}[r.IntN(4)]
		crowd := 1 + r.IntN(50)
		var s v1beta2.SparkApplicationStatus
		var pods []lifecycle.Executor
		saw := map[string]v1beta2.ExecutorState{} // the last observed state of each executor
		going := map[string]bool{}                // whether the executor was leaving when it was last observed
		reported := map[string]int{}
		var late []lifecycle.Executor // deleted executors that trackExecutors receives one pass late

		next := 0
		for range 60 {
			for range r.IntN(1 + crowd/4) {
				next += 1 + r.IntN(2)*r.IntN(3) // the API server rejects some pods, so ids have gaps
				if len(pods) < crowd {
					pods = append(pods, executor(fmt.Sprintf("pi-exec-%d", next), lifecycle.DriverPending))
				}
			}

			for i := range pods {
				worldMoves(r, &pods[i])
			}
			var gone []lifecycle.Executor
			gone, late = late, nil
			pods = slices.DeleteFunc(pods, func(e lifecycle.Executor) bool {
				_, wasSeen := saw[e.Name]

				leaves := (wasSeen || r.IntN(2) == 0) && r.IntN(10) == 0
				if leaves && e.Phase == lifecycle.DriverRunning && !executors.IsLeaving(&e) && r.IntN(2) == 0 {
					if wasSeen && !going[e.Name] && r.IntN(2) == 0 {
						late = append(late, e.AsDeleted())
					} else {
						gone = append(gone, e.AsDeleted())
					}
				}
				return leaves
			})
			r.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })

			notices := trackBoth(t, &s, sparkapp.In(lifecycle.Running), pods, gone, limit)
			for _, n := range notices {
				reported[n.Name]++
			}

			for i := range gone {
				if saw[gone[i].Name] = failed; reported[gone[i].Name] != 1 && len(notices) < executors.MaxNotices {
					t.Fatalf("life %d: the deleted executor %s is reported %d times, want once", seed, gone[i].Name,
						reported[gone[i].Name])
				}
			}

			want, exists := v1beta2.ExecutorCounts{}, map[string]bool{}
			for i := range pods {
				exists[pods[i].Name], saw[pods[i].Name], going[pods[i].Name] = true, executors.States[pods[i].Phase],
					executors.IsLeaving(&pods[i])
			}

			for name, state := range saw {
				if !exists[name] {
					state = lastState(state, going[name])
				}

				executors.Increment(&want, state)

				if kept, tracked := s.ExecutorState[name]; tracked && kept != state {
					t.Fatalf("life %d: %s is %s, want %s", seed, name, kept, state)
				}
			}

			if want != (v1beta2.ExecutorCounts{}) && cmp.Diff(&want, s.Executors) != "" {
				t.Fatalf("life %d, at most %d entries (-want +got):\n%s", seed, limit, cmp.Diff(&want, s.Executors))
			}

			if len(s.ExecutorState) > limit {
				t.Fatalf("life %d: %d entries", seed, len(s.ExecutorState))
			}

			if len(gone) > 0 { // from now on the tally only contains their number
				if notices := track(t, &s, sparkapp.In(lifecycle.Running), pods, limit); len(notices) > 0 ||
					cmp.Diff(&want, s.Executors) != "" {
					t.Fatalf("life %d: deleted executors are reported again, or the counts differ: %v", seed, notices)
				}
			}

			before := s.DeepCopy()
			if notices := track(t, &s, sparkapp.In(lifecycle.Running), pods, limit); cmp.Diff(before, &s) != "" ||
				len(notices) > 0 {
				t.Fatalf("life %d: a second pass returns %d notices and changes the status:\n%s", seed, len(notices),
					cmp.Diff(before, &s))
			}
		}
	}
}

// worldMoves changes the phase of an executor at random, as the events of a cluster would.
func worldMoves(r *rand.Rand, e *lifecycle.Executor) {
	switch e.Phase {
	case lifecycle.DriverPending:
		if r.IntN(2) == 0 {
			e.Phase, e.Why = lifecycle.DriverRunning, lifecycle.Cause{}
		}
	case lifecycle.DriverUnknown:
		if r.IntN(3) == 0 {
			e.Phase = lifecycle.DriverRunning
		}
	case lifecycle.DriverRunning:
		switch r.IntN(20) {
		case 0:
			e.Phase = lifecycle.DriverSucceeded
		case 1, 2:
			e.Phase = lifecycle.DriverFailed
		case 3:
			e.Phase = lifecycle.DriverUnknown
		case 4:
			e.Why.Reason = lifecycle.ReasonEvicted
		}
	}
}

// TestTallyIsBounded checks that the tally in the status stays small, even if executor ids have gaps and many failed
// pods exist. Executors that do not fit into the tally are counted too, and are not reported again in every pass.
func TestTallyIsBounded(t *testing.T) {
	var s v1beta2.SparkApplicationStatus

	var pods []lifecycle.Executor
	for i := range 3000 {
		pods = append(pods, executor(fmt.Sprintf("pi-exec-%d", 2*i+1), lifecycle.DriverFailed))
	}

	track(t, &s, sparkapp.In(lifecycle.Running), pods, 10)

	if o := s.Operator.Executors; len(o.Seen)+len(o.Failed) > 10_000 || s.Executors.Failed != 3000 ||
		s.Executors.Completed != 0 {
		t.Errorf("%d and %d bytes, counts %+v", len(o.Seen), len(o.Failed), s.Executors)
	}

	before := s.DeepCopy()
	if notices := track(t, &s, sparkapp.In(lifecycle.Running), pods, 10); len(notices) > 0 ||
		cmp.Diff(before, &s) != "" {
		t.Errorf("a second pass returns %d notices and changes\n%s", len(notices), cmp.Diff(before, &s))
	}
}

// TestMoreExecutorsThanTheMap checks that all existing executors are counted, even if they are more than the limit of
// the map. A second pass must change nothing.
func TestMoreExecutorsThanTheMap(t *testing.T) {
	for _, limit := range []int{0, 1, 5} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			var pods []lifecycle.Executor

			phases := []lifecycle.DriverPhase{lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverUnknown,
				lifecycle.DriverFailed}
			for i := range 40 {
				pods = append(pods, executor(fmt.Sprintf("e%02d", i), phases[i%4]))
			}
			var s v1beta2.SparkApplicationStatus

			notices := track(t, &s, sparkapp.In(lifecycle.Running), pods, limit)
			if e := s.Executors; e.Pending != 10 || e.Running != 10 || e.Unknown != 10 || e.Failed != 10 ||
				len(notices) != 10 || len(s.ExecutorState) != limit {
				t.Errorf("counts %+v, %d events, %d entries", e, len(notices), len(s.ExecutorState))
			}

			before := s.DeepCopy()
			if again := track(t, &s, sparkapp.In(lifecycle.Running), pods, limit); len(again) > 0 ||
				cmp.Diff(before, &s) != "" {
				t.Errorf("a second pass: %d events\n%s", len(again), cmp.Diff(before, &s))
			}
		})
	}
}

// TestManyFailuresAtOnce checks that the number of events is limited if many executors fail at once, for example with
// their node. The events report the executors with the lowest numbers, in any order of the pods.
func TestManyFailuresAtOnce(t *testing.T) {
	var s v1beta2.SparkApplicationStatus
	var pods []lifecycle.Executor

	var first []string
	for i := range 500 {
		pods = append(pods, executor(fmt.Sprint("e-exec-", 500-i), lifecycle.DriverFailed))
		if i < executors.MaxNotices {
			first = append(first, fmt.Sprint("e-exec-", i+1))
		}
	}

	notices := track(t, &s, sparkapp.In(lifecycle.Running), pods, 1000)

	var reported []string
	for _, n := range notices {
		reported = append(reported, n.Name)
	}

	if diff := cmp.Diff(first, reported); diff != "" || s.Executors.Failed != 500 {
		t.Errorf("%d counted; events (-want +got):\n%s", s.Executors.Failed, diff)
	}
}

// TestMapKeepsWhatExists checks that existing executors have precedence over deleted ones if the map is full.
func TestMapKeepsWhatExists(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{ExecutorState: map[string]v1beta2.ExecutorState{"a1": completed, "a2": failed}}
	track(t, &s, sparkapp.In(lifecycle.Running),
		[]lifecycle.Executor{executor("z9", lifecycle.DriverRunning), executor("z10", lifecycle.DriverPending)}, 3)

	want := map[string]v1beta2.ExecutorState{"z9": running, "z10": pending, "a1": completed}
	if diff := cmp.Diff(want, s.ExecutorState); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// TestCountsOfALaterAttempt checks that the counts of each attempt start from zero.
func TestCountsOfALaterAttempt(t *testing.T) {
	app := sparkapp.Sample()
	seen := lifecycle.Observed{Executors: []lifecycle.Executor{executor("e1", lifecycle.DriverFailed)}}
	Encode(app, lifecycle.App{}, lifecycle.Plan{Next: sparkapp.In(lifecycle.Running)}, seen, sparkapp.T0)

	if app.Status.Executors == nil || app.Status.Executors.Failed != 1 {
		t.Fatalf("executors %+v", app.Status.Executors)
	}

	second := sparkapp.In(lifecycle.Launched, func(m *lifecycle.Memory) { m.Attempt, m.AttemptID = 2, "id2" })
	Encode(app, lifecycle.App{}, lifecycle.Plan{Next: second}, seen, sparkapp.T0)

	if app.Status.Executors != nil || app.Status.ExecutorState != nil || app.Status.Operator.Executors != nil {
		t.Errorf("executors %+v, %v, %+v", app.Status.Executors, app.Status.ExecutorState,
			app.Status.Operator.Executors)
	}
}
