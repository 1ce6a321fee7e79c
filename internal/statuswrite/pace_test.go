package statuswrite

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestPaces checks that executor churn is written after it has been quiet, and that the wait is bounded.
func TestPaces(t *testing.T) {
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
		{"one change", few, []look{{0, "a", Quiet}, {Quiet - 600*ms, "a", 600 * ms}, {Quiet, "a", 0}}},
		{"it begins anew when that was written", few, []look{{0, "a", Quiet}, {Quiet, "a", 0}, {Quiet, "b", Quiet}}},
		{"another change is waited for as long", few, []look{{0, "a", Quiet}, {Quiet - ms, "b", Quiet}, {2*Quiet - 2*ms, "b", ms}, {2*Quiet - ms, "b", 0}}},
		{"changes without an end", few, []look{{0, "a", Quiet}, {Patience - Quiet, "b", Quiet}, {Patience - 500*ms, "c", 500 * ms}, {Patience, "d", 0}}},
		{"of many", manyOfThem + 1, []look{{0, "a", slower * Quiet}, {Quiet, "a", Quiet}, {slower * Quiet, "a", 0}}},
		{"not of so many", manyOfThem, []look{{0, "a", Quiet}}},
		{"by a clock that was set back", few, []look{{0, "a", Quiet}, {-time.Hour, "a", Quiet}, {Quiet - time.Hour, "a", 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			key, other := types.NamespacedName{Name: "pi"}, types.NamespacedName{Name: "e"}
			var p Paces
			for i, l := range test.looks {
				if got := p.Rest(key, noon.Add(l.after), Pause{Quiet: Quiet, Most: Patience}, test.executors, []byte(l.content)); got != l.want {
					t.Errorf("look %d, after %s: it rests for %s, want %s", i, l.after, got, l.want)
				}
			}
			if got := p.Rest(other, noon, Pause{Quiet: Quiet, Most: Patience}, few, nil); got != Quiet {
				t.Errorf("another rests for %s", got)
			}
			p.Forget(key)
			p.Forget(other)
			if p.Len() > 0 {
				t.Errorf("%d are remembered that are forgotten", p.Len())
			}
		})
	}
}

// TestNewsRest checks that the first event of a failed executor is sent at once, and the next ones after a while.
func TestNewsRest(t *testing.T) {
	t.Parallel()
	key, other := types.NamespacedName{Name: "pi"}, types.NamespacedName{Name: "e"}
	var p Paces
	p.Wrote(key, noon, false)
	if rest := p.NewsRest(key, noon); rest != 0 {
		t.Errorf("the first rests for %s", rest)
	}
	p.Wrote(key, noon, true)
	for after, want := range map[time.Duration]time.Duration{0: Quiet, Quiet - time.Millisecond: time.Millisecond, Quiet: 0, -time.Hour: 0} {
		if got := p.NewsRest(key, noon.Add(after)); got != want {
			t.Errorf("after %s it rests for %s, want %s", after, got, want)
		}
	}
	if rest := p.NewsRest(other, noon); rest != 0 {
		t.Errorf("another rests for %s", rest)
	}
	if p.Forget(key); p.NewsRest(key, noon) != 0 || p.news.Len() > 0 {
		t.Error("what is gone is remembered")
	}
}

// TestPauseOf checks that a minor transition waits for the next transition, however many passes there are. Executors
// that start or end wait for the others.
func TestPauseOf(t *testing.T) {
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
		want      Pause
	}{
		{"all run", nil, in(runs, runs), lifecycle.Running, time.Time{}, Pause{Quiet: Quiet, Most: Patience}},
		{"one is yet to come", nil, in(runs, pending), lifecycle.Running, time.Time{}, Pause{Quiet: Patience, Most: Patience}},
		{"one is done", nil, in(done, runs), lifecycle.Running, time.Time{}, Pause{Quiet: Patience, Most: Patience}},
		{"one is gone that is wanted", nil, in(runs), lifecycle.Running, noon, Pause{Quiet: Quiet, Most: Patience}},
		{"all are gone", nil, nil, lifecycle.Running, time.Time{}, Pause{Quiet: Quiet, Most: Patience}},
		{"all are gone that are wanted", nil, nil, lifecycle.Running, noon, Pause{Quiet: Arrival, Most: Arrival}},
		{"all are done that are wanted", nil, in(done, done), lifecycle.Running, noon, Pause{Quiet: Arrival, Most: Arrival}},
		{"none has come that is wanted", nil, nil, lifecycle.Ready, noon, Pause{Quiet: Quiet, Most: Patience}},
		{"one failed", nil, in(lifecycle.DriverFailed, runs), lifecycle.Running, time.Time{}, Pause{Quiet: Quiet, Most: Patience}},
		{"one is lost", nil, in(lifecycle.DriverUnknown, runs), lifecycle.Running, time.Time{}, Pause{Quiet: Quiet, Most: Patience}},
		{"a minor transition", minor, in(runs, pending), lifecycle.Scaling, noon, Pause{Quiet: Arrival, Most: Arrival}},
		{"and none runs yet", minor, in(pending, pending), lifecycle.Scaling, noon, Pause{Quiet: FirstArrival, Most: FirstArrival, First: true}},
		{"and none is there any more", minor, nil, lifecycle.Scaling, noon, Pause{Quiet: Arrival, Most: Arrival}},
	} {
		plan := lifecycle.Plan{Trail: test.trail}
		plan.Next.Phase, plan.Next.ShortSince = test.phase, test.short
		if got := PauseOf(plan, test.executors); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	var p Paces
	for _, l := range []struct{ after, want time.Duration }{{0, Arrival}, {Quiet, Arrival - Quiet}, {Arrival, 0}} {
		if got := p.Rest(types.NamespacedName{Name: "pi"}, noon.Add(l.after), Pause{Quiet: Arrival, Most: Arrival}, 1, []byte(l.after.String())); got != l.want {
			t.Errorf("after %s it rests for %s, want %s", l.after, got, l.want)
		}
	}
}

// TestFirstArrival checks that the wait for the first executor is longer than the wait for the others, and happens
// once.
func TestFirstArrival(t *testing.T) {
	t.Parallel()
	first, others := Pause{Quiet: FirstArrival, Most: FirstArrival, First: true}, Pause{Quiet: Arrival, Most: Arrival}
	type look struct {
		after time.Duration
		until Pause
		want  time.Duration
	}
	for name, looks := range map[string][]look{
		"none comes":                             {{0, first, FirstArrival}, {Arrival, first, FirstArrival - Arrival}, {FirstArrival, first, 0}},
		"the others are waited for from then on": {{0, first, FirstArrival}, {Arrival, others, Arrival}, {2*Arrival - time.Second, others, time.Second}, {2 * Arrival, others, 0}},
		"the first is there late":                {{0, first, FirstArrival}, {FirstArrival - time.Second, others, Arrival}, {FirstArrival - time.Second + Arrival, others, 0}},
		"the first goes":                         {{0, first, FirstArrival}, {Arrival, others, Arrival}, {Arrival + time.Second, first, FirstArrival - time.Second}, {Arrival + 2*time.Second, others, Arrival - 2*time.Second}},
		"one was there":                          {{0, others, Arrival}, {time.Second, first, FirstArrival - time.Second}, {2 * time.Second, others, Arrival - 2*time.Second}},
	} {
		var p Paces
		for i, l := range looks {
			if got := p.Rest(types.NamespacedName{Name: "pi"}, noon.Add(l.after), l.until, 1, []byte("the same")); got != l.want {
				t.Errorf("%s: look %d, after %s: it rests for %s, want %s", name, i, l.after, got, l.want)
			}
		}
	}
}
