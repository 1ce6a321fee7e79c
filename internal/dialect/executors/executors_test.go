package executors

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// executorPod returns the facts of an executor of attempt 1.
func executorPod(id int, phase lifecycle.DriverPhase, reason string) lifecycle.Executor {
	return lifecycle.Executor{Name: fmt.Sprintf("app-exec-%d", id), Attempt: 1, Phase: phase, Why: lifecycle.Cause{Reason: reason}}
}

// countsOf returns counts, of which nil means that all are zero.
func countsOf(counts *statusv1.ExecutorCounts) statusv1.ExecutorCounts {
	if counts == nil {
		return statusv1.ExecutorCounts{}
	}
	return *counts
}

// nextPhases maps the phase of an executor to the phases in which the next pass may observe it.
var nextPhases = map[lifecycle.DriverPhase][]lifecycle.DriverPhase{
	"":                        {lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverFailed},
	lifecycle.DriverPending:   {lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverFailed, lifecycle.DriverUnknown},
	lifecycle.DriverRunning:   {lifecycle.DriverRunning, lifecycle.DriverRunning, lifecycle.DriverUnknown, lifecycle.DriverFailed, lifecycle.DriverSucceeded},
	lifecycle.DriverUnknown:   {lifecycle.DriverUnknown, lifecycle.DriverRunning, lifecycle.DriverFailed},
	lifecycle.DriverSucceeded: {lifecycle.DriverSucceeded},
	lifecycle.DriverFailed:    {lifecycle.DriverFailed},
}

// TestExecutorsAreCountedLikeAModel compares the counts of random executors with a model that remembers the last
// observation of each executor. Only the status is passed from one step to the next, as between two passes. The pods
// have no order. A second call in a step must change nothing.
func TestExecutorsAreCountedLikeAModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		last := map[int]lifecycle.Executor{} // the last observation of each executor
		gone := map[int]bool{}
		reported := map[string]int{}

		status, counts := &statusv1.OperatorStatus{}, (*statusv1.ExecutorCounts)(nil)
		for step := range 30 {
			for range r.IntN(4) {
				last[len(last)+1] = executorPod(len(last)+1, "", "")
			}

			var pods []lifecycle.Executor
			for _, id := range slices.Sorted(maps.Keys(last)) {
				e := last[id]
				if gone[id] = gone[id] || e.Phase != "" && r.IntN(6) == 0; gone[id] {
					continue
				}

				e.Phase = nextPhases[e.Phase][r.IntN(len(nextPhases[e.Phase]))]
				if r.IntN(5) == 0 {
					e.Why.Reason = []string{"", "Evicted", "Preempted", "ImagePullBackOff"}[r.IntN(4)]
				}

				last[id], pods = e, append(pods, e)
			}

			r.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })

			var want statusv1.ExecutorCounts
			for id, e := range last {
				leaving := e.Phase == lifecycle.DriverUnknown || e.Why.Reason == "Evicted" || e.Why.Reason == "Preempted"
				switch {
				case e.Phase == lifecycle.DriverSucceeded:
					want.Completed++
				case e.Phase == lifecycle.DriverFailed, gone[id] && leaving:
					want.Failed++
				case gone[id]:
					want.Completed++
				case e.Phase == lifecycle.DriverPending:
					want.Pending++
				case e.Phase == lifecycle.DriverRunning:
					want.Running++
				default:
					want.Unknown++
				}
			}
			var notices, more []lifecycle.Notice

			counts, notices = Count(status, counts, pods)
			if diff := cmp.Diff(want, countsOf(counts)); diff != "" {
				t.Fatalf("seed %d, step %d (-want +got):\n%s", seed, step, diff)
			}

			for _, n := range notices {
				reported[n.Name]++
			}

			if counts, more = Count(status, counts, pods); countsOf(counts) != want || len(more) > 0 {
				t.Fatalf("seed %d, step %d: a second call counts %+v with %v, want %+v", seed, step, countsOf(counts), more, want)
			}
		}

		for _, e := range last {
			want := 0
			if e.Phase == lifecycle.DriverFailed {
				want = 1
			}

			if reported[e.Name] != want {
				t.Errorf("seed %d: %s (%s) is reported %d times, want %d", seed, e.Name, e.Phase, reported[e.Name], want)
			}
		}
	}
}

// TestTallyIsStored checks the stored form: executors that failed and those that are leaving are separate from those
// that were ever observed, and nothing is stored before the first executor.
func TestTallyIsStored(t *testing.T) {
	status := &statusv1.OperatorStatus{}
	if counts, notices := Count(status, nil, nil); counts != nil || notices != nil || status.Executors != nil {
		t.Errorf("without executors: %v, %v, %v", counts, notices, status.Executors)
	}

	pods := []lifecycle.Executor{
		executorPod(1, lifecycle.DriverRunning, ""), executorPod(2, lifecycle.DriverFailed, "OOMKilled"), executorPod(3, lifecycle.DriverUnknown, ""),
		executorPod(5, lifecycle.DriverRunning, "Evicted"), executorPod(6, lifecycle.DriverSucceeded, "Evicted"), executorPod(7, lifecycle.DriverFailed, "Evicted"),
	}

	counts, notices := Count(status, nil, pods)
	if diff := cmp.Diff(&statusv1.OperatorExecutors{Seen: "1-3,5-7", Failed: "2,7", Leaving: "3,5"}, status.Executors); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(&statusv1.ExecutorCounts{Running: 2, Completed: 1, Failed: 2, Unknown: 1}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}

	want := []lifecycle.Notice{
		{Part: lifecycle.Executors, Name: "app-exec-2", Attempt: 1, Cause: lifecycle.Cause{Reason: "OOMKilled"}},
		{Part: lifecycle.Executors, Name: "app-exec-7", Attempt: 1, Cause: lifecycle.Cause{Reason: "Evicted"}},
	}
	if diff := cmp.Diff(want, notices); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}

	tally := Decode(status.Executors)
	for id, want := range map[int64]bool{0: false, 1: true, 3: true, 4: false, 7: true, 8: false} {
		if tally.Has(id) != want {
			t.Errorf("the tally has %d: %v", id, !want)
		}
	}

	counts, _ = Count(status, counts, nil)
	if diff := cmp.Diff(&statusv1.OperatorExecutors{Seen: "1-3,5-7", FailedAndGone: 4}, status.Executors); diff != "" {
		t.Errorf("stored when all pods are gone (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(&statusv1.ExecutorCounts{Completed: 2, Failed: 4}, counts); diff != "" {
		t.Errorf("counts when all pods are gone (-want +got):\n%s", diff)
	}
}

// TestCountsSurviveAForeignStatus checks counts that somebody wrote into the status: they must neither overflow nor
// become negative, because the definition of the custom resource would reject the status.
func TestCountsSurviveAForeignStatus(t *testing.T) {
	for name, c := range map[string]struct {
		stored statusv1.OperatorExecutors
		last   statusv1.ExecutorCounts
		pods   []lifecycle.Executor
		want   statusv1.ExecutorCounts
	}{
		"the largest numbers": {
			statusv1.OperatorExecutors{Seen: "1-9", Failed: "1-3", FailedAndGone: math.MaxInt32},
			statusv1.ExecutorCounts{Pending: math.MaxInt32, Running: math.MaxInt32, Completed: math.MaxInt32, Failed: math.MaxInt32, Unknown: math.MaxInt32},
			nil, statusv1.ExecutorCounts{Completed: math.MaxInt32, Failed: math.MaxInt32},
		},
		"negative numbers": {
			statusv1.OperatorExecutors{Seen: "1", FailedAndGone: math.MinInt32}, statusv1.ExecutorCounts{Completed: math.MinInt32, Running: -1},
			[]lifecycle.Executor{executorPod(1, lifecycle.DriverRunning, "")}, statusv1.ExecutorCounts{Running: 1},
		},
		"no numbers": {
			statusv1.OperatorExecutors{Seen: "x", Failed: "2-1", Leaving: "-"}, statusv1.ExecutorCounts{},
			[]lifecycle.Executor{executorPod(1, lifecycle.DriverFailed, "")}, statusv1.ExecutorCounts{Failed: 1},
		},
		"more executors than were counted": {
			statusv1.OperatorExecutors{Seen: "1-2"}, statusv1.ExecutorCounts{},
			[]lifecycle.Executor{executorPod(1, lifecycle.DriverRunning, ""), executorPod(2, lifecycle.DriverPending, "")}, statusv1.ExecutorCounts{Running: 1, Pending: 1},
		},
	} {
		status := &statusv1.OperatorStatus{Executors: &c.stored}

		counts, _ := Count(status, &c.last, c.pods)
		if diff := cmp.Diff(c.want, countsOf(counts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		if got := status.Executors.FailedAndGone; name == "the largest numbers" && got != math.MaxInt32 {
			t.Errorf("%s: stored is %d", name, got)
		}
	}
}

// TestTallyIsBounded checks an attempt whose executors failed in many separate ranges. The stored sets stay small, and
// no failure is reported twice once the set of failures is full.
func TestTallyIsBounded(t *testing.T) {
	var pods []lifecycle.Executor
	for id := 1; id <= 2*(MaxRanges+50); id += 2 {
		pods = append(pods, executorPod(id, lifecycle.DriverFailed, "Error"))
	}

	status := &statusv1.OperatorStatus{}

	counts, notices := Count(status, nil, pods)
	if counts.Failed != MaxRanges+50 || len(notices) != MaxNotices {
		t.Errorf("%d are counted and %d are reported", counts.Failed, len(notices))
	}

	for name, text := range map[string]string{"seen": status.Executors.Seen, "failed": status.Executors.Failed} {
		if got := strings.Count(text, ",") + 1; got != MaxRanges {
			t.Errorf("%s has %d ranges, want %d", name, got, MaxRanges)
		}
	}

	counts, notices = Count(status, counts, pods)
	if counts.Failed != MaxRanges+50 || len(notices) > 0 {
		t.Errorf("again: %d are counted and %d are reported", counts.Failed, len(notices))
	}
}

// TestFirstFailuresAreReported checks that the executors with the lowest numbers are reported, whatever the order of
// the pods is. The numbers are not compared as text: 9 is below 10.
func TestFirstFailuresAreReported(t *testing.T) {
	var failed []*lifecycle.Executor
	for _, id := range []int{30, 9, 100, 10, 2} {
		e := executorPod(id, lifecycle.DriverFailed, "Error")
		failed = append(failed, &e)
	}

	for most, want := range map[int][]string{0: nil, 1: {"app-exec-2"}, 3: {"app-exec-2", "app-exec-9", "app-exec-10"}, 9: {"app-exec-2", "app-exec-9", "app-exec-10", "app-exec-30", "app-exec-100"}} {
		var got []string
		for _, n := range Notices(failed, most) {
			got = append(got, n.Name)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", most, diff)
		}
	}
}

// TestOf checks that executors of other attempts are left out, and that executors that still run count as
// completed only after the success of the driver.
func TestOf(t *testing.T) {
	old := executorPod(9, lifecycle.DriverRunning, "")
	old.Attempt = 2
	observed := []lifecycle.Executor{
		executorPod(1, lifecycle.DriverPending, ""), old, executorPod(2, lifecycle.DriverRunning, ""), executorPod(3, lifecycle.DriverFailed, ""),
		executorPod(4, lifecycle.DriverUnknown, ""), executorPod(5, lifecycle.DriverSucceeded, ""),
	}
	before := slices.Clone(observed)

	asObserved, completed := "Pending Running Failed Unknown Succeeded", "Succeeded Succeeded Failed Unknown Succeeded"
	for _, c := range []struct {
		phase   lifecycle.Phase
		outcome lifecycle.Outcome
		want    string
	}{
		{lifecycle.Running, "", asObserved}, {lifecycle.Done, lifecycle.Failed, asObserved}, {lifecycle.Ended, lifecycle.Failed, asObserved},
		{lifecycle.Running, lifecycle.Succeeded, asObserved}, // the outcome of the attempt before
		{lifecycle.Ended, lifecycle.Succeeded, completed}, {lifecycle.Retained, lifecycle.Succeeded, completed}, {lifecycle.Done, lifecycle.Succeeded, completed},
	} {
		var words []string
		for _, e := range Of(lifecycle.Memory{Phase: c.phase, Outcome: c.outcome, Attempt: 1}, observed) {
			words = append(words, string(e.Phase))
		}

		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.phase, c.outcome, got, c.want)
		}
	}

	if diff := cmp.Diff(before, observed); diff != "" {
		t.Errorf("the facts were changed (-want +got):\n%s", diff)
	}
}

func TestID(t *testing.T) {
	for name, want := range map[string]int64{
		"app-exec-1": 1, "app-1f2e3d-exec-4096": 4096, "exec-exec-7": 7, "app-exec-2147483647": math.MaxInt32, "app-exec-0": 0,
		// The known values of FNV-1a for 32 bits, after 2^32.
		"": 0x1_811c9dc5, "a": 0x1_e40c292c, "foobar": 0x1_bf9cf968,
	} {
		if got := ID(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}

	for _, name := range []string{"app-exec-2147483648", "app-exec-", "app-exec-x", "app-exec-+1", "app-exec--1", "app-exec-1 ", "app-exec-1-2", "cluster-worker-0"} {
		if got := ID(name); got < 1<<32 {
			t.Errorf("%q is no executor's name, but has the number %d", name, got)
		}
	}
}

// FuzzID checks that every name has a number that an IDSet can store, and that the number of an executor is not
// lost.
func FuzzID(f *testing.F) {
	f.Add("app-exec-", uint16(3))
	f.Add("", uint16(0))
	f.Fuzz(func(t *testing.T, name string, number uint16) {
		id := ID(name)
		if stored := (IDSet{{id, id}}).String(); id < 0 || !ParseIDs(stored).Has(id) || id > math.MaxInt32 && id < 1<<32 {
			t.Errorf("%q has the number %d, stored as %q", name, id, stored)
		}

		if got := ID(fmt.Sprintf("%s-exec-%d", name, number)); got != int64(number) {
			t.Errorf("number %d of %q is read as %d", number, name, got)
		}
	})
}

func TestIsLeaving(t *testing.T) {
	for _, phase := range []lifecycle.DriverPhase{lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded, lifecycle.DriverUnknown} {
		for reason, leaves := range map[string]bool{"": false, "Evicted": true, "Preempted": true, "Unschedulable": false} {
			e := executorPod(1, phase, reason)

			want := phase == lifecycle.DriverUnknown || leaves && phase != lifecycle.DriverSucceeded
			if got := IsLeaving(&e); got != want {
				t.Errorf("%s with %q: %v", phase, reason, got)
			}
		}
	}
}

// TestEveryPodPhaseHasAState checks that each phase is counted under its own state, and that a state of a later version
// is counted as unknown.
func TestEveryPodPhaseHasAState(t *testing.T) {
	for phase, want := range map[lifecycle.DriverPhase]statusv1.ExecutorCounts{
		lifecycle.DriverPending: {Pending: 1}, lifecycle.DriverRunning: {Running: 1}, lifecycle.DriverSucceeded: {Completed: 1},
		lifecycle.DriverFailed: {Failed: 1}, lifecycle.DriverUnknown: {Unknown: 1}, "APhaseOfLater": {Unknown: 1},
	} {
		var got statusv1.ExecutorCounts
		if Increment(&got, States[phase]); got != want {
			t.Errorf("%s: %+v, want %+v", phase, got, want)
		}
	}
}

func TestNumbersOfExecutors(t *testing.T) {
	for name, want := range map[string]int64{
		"pi-0123-exec-1": 1, "exec-7": 7, "a-exec-b-exec-12": 12, "pi-exec-2147483647": 2147483647,
	} {
		if got := ID(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}

	others := map[int64]string{}
	for _, name := range []string{"pi-exec-", "pi-exec-x", "pi-exec--1", "pi-exec-2147483648", "spark-s-1-0-0", "spark-s-1-1-0", "pi", ""} {
		id := ID(name)
		if id <= 1<<31 || id > maxID || others[id] != "" {
			t.Errorf("%q is %d, as is %q", name, id, others[id])
		}

		others[id] = name
	}
}
