package sparkoperator

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	pending   = v1beta2.ExecutorStatePending
	running   = v1beta2.ExecutorStateRunning
	completed = v1beta2.ExecutorStateCompleted
	failed    = v1beta2.ExecutorStateFailed
)

func executor(name string, phase lifecycle.DriverPhase) lifecycle.Executor {
	return lifecycle.Executor{Name: name, Attempt: 1, Phase: phase, Why: lifecycle.Cause{Reason: "Error", Message: name + " failed"}}
}

func TestTrackExecutors(t *testing.T) {
	live, over, broken := in(lifecycle.Running), in(lifecycle.Retained, ended(lifecycle.Succeeded)), in(lifecycle.Retained, ended(lifecycle.Failed))
	type states = map[string]v1beta2.ExecutorState
	for _, c := range []struct {
		name   string
		m      lifecycle.Memory
		before states
		pods   []lifecycle.Executor
		want   states
		counts v1beta2.ExecutorCounts
		news   []string
	}{
		{"none", live, nil, nil, nil, v1beta2.ExecutorCounts{}, nil},
		{"every state", live, nil, []lifecycle.Executor{
			executor("e1", lifecycle.DriverPending), executor("e2", lifecycle.DriverRunning), executor("e3", lifecycle.DriverSucceeded),
			executor("e4", lifecycle.DriverFailed), executor("e5", lifecycle.DriverUnknown),
		}, states{"e1": pending, "e2": running, "e3": completed, "e4": failed, "e5": v1beta2.ExecutorStateUnknown},
			v1beta2.ExecutorCounts{Pending: 1, Running: 1, Completed: 1, Failed: 1, Unknown: 1}, []string{"e4"}},
		{"of another attempt", live, nil, []lifecycle.Executor{{Name: "old", Attempt: 7, Phase: lifecycle.DriverRunning}}, nil, v1beta2.ExecutorCounts{}, nil},
		{"failed already", live, states{"e4": failed}, []lifecycle.Executor{executor("e4", lifecycle.DriverFailed)}, states{"e4": failed}, v1beta2.ExecutorCounts{Failed: 1}, nil},
		{"gone while all is well", live, states{"e1": running, "e2": pending}, nil, states{"e1": completed, "e2": completed}, v1beta2.ExecutorCounts{Completed: 2}, nil},
		{"gone with a driver that succeeded", over, states{"e1": running}, nil, states{"e1": completed}, v1beta2.ExecutorCounts{Completed: 1}, nil},
		{"gone with a driver that failed", broken, states{"e1": running, "e2": completed}, nil, states{"e1": failed, "e2": completed}, v1beta2.ExecutorCounts{Completed: 1, Failed: 1}, nil},
		{"failed and gone", over, states{"e1": failed}, nil, states{"e1": failed}, v1beta2.ExecutorCounts{Failed: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := v1beta2.SparkApplicationStatus{ExecutorState: c.before}
			if c.before != nil {
				s.Executors = &v1beta2.ExecutorCounts{}
				for _, state := range c.before {
					count(s.Executors, state)
				}
			}
			var names []string
			for _, n := range trackExecutors(&s, c.m, c.pods, 1000) {
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
			if diff := cmp.Diff(c.news, names); diff != "" {
				t.Errorf("news (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCountsBeyondTheMap: as long as the executors that exist at once have room in the map, the counts are those of all that there ever were,
// and a second look adds nothing.
func TestCountsBeyondTheMap(t *testing.T) {
	for _, limit := range []int{10, 25, 1000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(limit), 5))
			var s v1beta2.SparkApplicationStatus
			m := in(lifecycle.Running)
			ends := []lifecycle.DriverPhase{lifecycle.DriverSucceeded, lifecycle.DriverFailed}
			var want v1beta2.ExecutorCounts
			// Executors come in waves; all of a wave end, are seen ended, and are then removed.
			for wave := range 20 {
				var pods []lifecycle.Executor
				for i := range 1 + r.IntN(10) {
					pods = append(pods, executor(fmt.Sprintf("e-%d-%d", wave, i), lifecycle.DriverRunning))
				}
				for range 2 {
					trackExecutors(&s, m, pods, limit)
				}
				for i := range pods {
					pods[i].Phase = ends[r.IntN(2)]
					count(&want, executorStates[pods[i].Phase])
				}
				for _, exist := range [][]lifecycle.Executor{pods, pods, nil, nil} {
					trackExecutors(&s, m, exist, limit)
					if diff := cmp.Diff(&want, s.Executors); diff != "" {
						t.Fatalf("wave %d (-want +got):\n%s", wave, diff)
					}
				}
				if len(s.ExecutorState) > limit {
					t.Fatalf("%d entries", len(s.ExecutorState))
				}
			}
		})
	}
}

// TestMoreExecutorsThanTheMap: those that live are counted whatever the map may hold; a second look changes nothing.
func TestMoreExecutorsThanTheMap(t *testing.T) {
	for _, limit := range []int{0, 1, 5} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			var pods []lifecycle.Executor
			phases := []lifecycle.DriverPhase{lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverUnknown, lifecycle.DriverFailed}
			for i := range 40 {
				pods = append(pods, executor(fmt.Sprintf("e%02d", i), phases[i%4]))
			}
			var s v1beta2.SparkApplicationStatus
			news := trackExecutors(&s, in(lifecycle.Running), pods, limit)
			if e := s.Executors; e.Pending != 10 || e.Running != 10 || e.Unknown != 10 || int(e.Failed) != len(news) || len(s.ExecutorState) != limit {
				t.Errorf("counts %+v, %d events, %d entries", e, len(news), len(s.ExecutorState))
			}
			before := s.DeepCopy()
			if again := trackExecutors(&s, in(lifecycle.Running), pods, limit); len(again) > 0 || cmp.Diff(before, &s) != "" {
				t.Errorf("a second look: %d events\n%s", len(again), cmp.Diff(before, &s))
			}
		})
	}
}

// TestManyFailuresAtOnce: a node that goes takes many executors along; the events stay few.
func TestManyFailuresAtOnce(t *testing.T) {
	var s v1beta2.SparkApplicationStatus
	var pods []lifecycle.Executor
	for i := range 500 {
		pods = append(pods, executor(fmt.Sprint("e", i), lifecycle.DriverFailed))
	}
	if news := trackExecutors(&s, in(lifecycle.Running), pods, 1000); len(news) != maxExecutorNews || s.Executors.Failed != 500 {
		t.Errorf("%d events, %d counted", len(news), s.Executors.Failed)
	}
}

// TestMapKeepsWhatExists: when the map is full, executors that exist have a place before those that are gone.
func TestMapKeepsWhatExists(t *testing.T) {
	s := v1beta2.SparkApplicationStatus{ExecutorState: map[string]v1beta2.ExecutorState{"a1": completed, "a2": failed}}
	trackExecutors(&s, in(lifecycle.Running), []lifecycle.Executor{executor("z9", lifecycle.DriverRunning), executor("z10", lifecycle.DriverPending)}, 3)
	want := map[string]v1beta2.ExecutorState{"z9": running, "z10": pending, "a1": completed}
	if diff := cmp.Diff(want, s.ExecutorState); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// TestCountsOfALaterAttempt start anew.
func TestCountsOfALaterAttempt(t *testing.T) {
	app := sample()
	seen := lifecycle.Observed{Executors: []lifecycle.Executor{executor("e1", lifecycle.DriverFailed)}}
	dialect.encode(app, lifecycle.App{}, lifecycle.Plan{Next: in(lifecycle.Running)}, seen, t0)
	if app.Status.Executors == nil || app.Status.Executors.Failed != 1 {
		t.Fatalf("executors %+v", app.Status.Executors)
	}
	second := in(lifecycle.Launched, func(m *lifecycle.Memory) { m.Attempt, m.AttemptID = 2, "id2" })
	dialect.encode(app, lifecycle.App{}, lifecycle.Plan{Next: second}, seen, t0)
	if app.Status.Executors != nil || app.Status.ExecutorState != nil {
		t.Errorf("executors %+v, %v", app.Status.Executors, app.Status.ExecutorState)
	}
}
