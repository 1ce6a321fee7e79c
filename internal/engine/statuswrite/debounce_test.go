package statuswrite

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestDelay checks that executor churn is written once the executors have not changed for a while, and that the wait is
// bounded.
func TestDelay(t *testing.T) {
	t.Parallel()
	const few, ms = 10, time.Millisecond

	type look struct {
		after   time.Duration
		content string
		want    time.Duration
	}
	for _, test := range []struct {
		name      string
		executors int
		looks     []look
	}{
		{"one change", few, []look{{0, "a", quiet}, {quiet - 600*ms, "a", 600 * ms}, {quiet, "a", 0}}},
		{"a new delay begins after the write", few, []look{{0, "a", quiet}, {quiet, "a", 0}, {quiet, "b", quiet}}},
		{"another change restarts the quiet period", few,
			[]look{{0, "a", quiet}, {quiet - ms, "b", quiet}, {2*quiet - 2*ms, "b", ms}, {2*quiet - ms, "b", 0}}},
		{"MaxDelay bounds continuous changes", few,
			[]look{{0, "a", quiet}, {maxDelay - quiet, "b", quiet}, {maxDelay - 500*ms, "c", 500 * ms},
				{maxDelay, "d", 0}}},
		{"more executors than manyExecutors", manyExecutors + 1,
			[]look{{0, "a", slower * quiet}, {quiet, "a", quiet}, {slower * quiet, "a", 0}}},
		{"as many executors as manyExecutors", manyExecutors, []look{{0, "a", quiet}}},
		{"the clock was set back", few, []look{{0, "a", quiet}, {-time.Hour, "a", quiet}, {quiet - time.Hour, "a", 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			key, other := types.NamespacedName{Name: "pi"}, types.NamespacedName{Name: "e"}

			var p Debouncer
			for i, l := range test.looks {
				if got := p.Delay(key, noon.Add(l.after), Window{Quiet: quiet, Max: maxDelay}, test.executors,
					[]byte(l.content)); got != l.want {
					t.Errorf("pass %d, after %s: the write waits for %s, want %s", i, l.after, got, l.want)
				}
			}

			if got := p.Delay(other, noon, Window{Quiet: quiet, Max: maxDelay}, few, nil); got != quiet {
				t.Errorf("the write of another object waits for %s", got)
			}

			p.Forget(key)
			p.Forget(other)

			if p.Len() > 0 {
				t.Errorf("%d forgotten objects are still remembered", p.Len())
			}
		})
	}
}

// TestEventDelay checks that the event of the first failed executor is emitted at once, and that the following events
// are delayed.
func TestEventDelay(t *testing.T) {
	t.Parallel()

	key, other := types.NamespacedName{Name: "pi"}, types.NamespacedName{Name: "e"}
	var p Debouncer
	p.Wrote(key, noon, false)

	if rest := p.EventDelay(key, noon); rest != 0 {
		t.Errorf("the first event waits for %s", rest)
	}

	p.Wrote(key, noon, true)

	for after, want := range map[time.Duration]time.Duration{0: quiet, quiet - time.Millisecond: time.Millisecond,
		quiet: 0, -time.Hour: 0} {
		if got := p.EventDelay(key, noon.Add(after)); got != want {
			t.Errorf("after %s the event waits for %s, want %s", after, got, want)
		}
	}

	if rest := p.EventDelay(other, noon); rest != 0 {
		t.Errorf("the event of another object waits for %s", rest)
	}

	if p.Forget(key); p.EventDelay(key, noon) != 0 || p.lastChurnWrite.Len() > 0 {
		t.Error("the Debouncer remembers a forgotten object")
	}
}

// TestWindowOf checks the debounce window of each kind of change. It also checks that the delay after a minor
// transition does not begin anew if the content changes in later passes.
func TestWindowOf(t *testing.T) {
	t.Parallel()

	in := func(phases ...lifecycle.DriverPhase) (executors []lifecycle.Executor) {
		for _, phase := range phases {
			executors = append(executors, lifecycle.Executor{Phase: phase})
		}
		return executors
	}
	const pending, runs, done = lifecycle.DriverPending, lifecycle.DriverRunning, lifecycle.DriverSucceeded

	minor := []lifecycle.Transition{{From: lifecycle.Ready, To: lifecycle.Scaling}}
	for _, test := range []struct {
		name      string
		trail     []lifecycle.Transition
		executors []lifecycle.Executor
		phase     lifecycle.Phase
		short     time.Time
		want      Window
	}{
		{"all executors run", nil, in(runs, runs), lifecycle.Running, time.Time{}, Window{Quiet: quiet, Max: maxDelay}},
		{"one executor is pending", nil, in(runs, pending), lifecycle.Running, time.Time{},
			Window{Quiet: maxDelay, Max: maxDelay}},
		{"one executor has completed", nil, in(done, runs), lifecycle.Running, time.Time{},
			Window{Quiet: maxDelay, Max: maxDelay}},
		{"a wanted executor is gone", nil, in(runs), lifecycle.Running, noon, Window{Quiet: quiet, Max: maxDelay}},
		{"all executors are gone, and none is wanted", nil, nil, lifecycle.Running, time.Time{},
			Window{Quiet: quiet, Max: maxDelay}},
		{"all wanted executors are gone", nil, nil, lifecycle.Running, noon,
			Window{Quiet: arrivalDelay, Max: arrivalDelay}},
		{"all wanted executors have completed", nil, in(done, done), lifecycle.Running, noon,
			Window{Quiet: arrivalDelay, Max: arrivalDelay}},
		{"no wanted executor exists yet", nil, nil, lifecycle.Ready, noon, Window{Quiet: quiet, Max: maxDelay}},
		{"one executor failed", nil, in(lifecycle.DriverFailed, runs), lifecycle.Running, time.Time{},
			Window{Quiet: quiet, Max: maxDelay}},
		{"one executor is on a lost node", nil, in(lifecycle.DriverUnknown, runs), lifecycle.Running, time.Time{},
			Window{Quiet: quiet, Max: maxDelay}},
		{"a minor transition", minor, in(runs, pending), lifecycle.Scaling, noon,
			Window{Quiet: arrivalDelay, Max: arrivalDelay}},
		{"a minor transition, all executors are pending", minor, in(pending, pending), lifecycle.Scaling, noon,
			Window{Quiet: firstArrivalDelay, Max: firstArrivalDelay, First: true}},
		{"a minor transition, all executors are gone", minor, nil, lifecycle.Scaling, noon,
			Window{Quiet: arrivalDelay, Max: arrivalDelay}},
	} {
		plan := lifecycle.Plan{Transitions: test.trail}

		plan.Next.Phase, plan.Next.ShortSince = test.phase, test.short
		if got := WindowOf(plan, test.executors); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}

	var p Debouncer
	for _, l := range []struct{ after, want time.Duration }{{0, arrivalDelay}, {quiet, arrivalDelay - quiet},
		{arrivalDelay, 0}} {
		if got := p.Delay(types.NamespacedName{Name: "pi"}, noon.Add(l.after),
			Window{Quiet: arrivalDelay, Max: arrivalDelay}, 1, []byte(l.after.String())); got != l.want {
			t.Errorf("after %s the write waits for %s, want %s", l.after, got, l.want)
		}
	}
}

// TestFirstArrival checks that the wait for the first executor is longer than the wait for the other executors. The
// wait for the others begins when the first executor has started. It does not begin again if this executor ends.
func TestFirstArrival(t *testing.T) {
	t.Parallel()

	first, others := Window{Quiet: firstArrivalDelay, Max: firstArrivalDelay, First: true},
		Window{Quiet: arrivalDelay, Max: arrivalDelay}

	type look struct {
		after time.Duration
		until Window
		want  time.Duration
	}
	for name, looks := range map[string][]look{
		"no executor starts": {{0, first, firstArrivalDelay},
			{arrivalDelay, first, firstArrivalDelay - arrivalDelay}, {firstArrivalDelay, first, 0}},
		"the first executor starts": {{0, first, firstArrivalDelay}, {arrivalDelay, others, arrivalDelay},
			{2*arrivalDelay - time.Second, others, time.Second}, {2 * arrivalDelay, others, 0}},
		"the first executor starts late": {{0, first, firstArrivalDelay},
			{firstArrivalDelay - time.Second, others, arrivalDelay},
			{firstArrivalDelay - time.Second + arrivalDelay, others, 0}},
		"the first executor ends": {{0, first, firstArrivalDelay}, {arrivalDelay, others, arrivalDelay},
			{arrivalDelay + time.Second, first, firstArrivalDelay - time.Second},
			{arrivalDelay + 2*time.Second, others, arrivalDelay - 2*time.Second}},
		"the only running executor ends": {{0, others, arrivalDelay},
			{time.Second, first, firstArrivalDelay - time.Second},
			{2 * time.Second, others, arrivalDelay - 2*time.Second}},
	} {
		var p Debouncer
		for i, l := range looks {
			if got := p.Delay(types.NamespacedName{Name: "pi"}, noon.Add(l.after), l.until, 1,
				[]byte("the same")); got != l.want {
				t.Errorf("%s: pass %d, after %s: the write waits for %s, want %s", name, i, l.after, got, l.want)
			}
		}
	}
}
