package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestPaces: what is written for the crowd alone waits until that is quiet, and not for ever.
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
		{"one change", few, []look{{0, "a", quiet}, {quiet - 600*ms, "a", 600 * ms}, {quiet, "a", 0}}},
		{"it begins anew when that was written", few, []look{{0, "a", quiet}, {quiet, "a", 0}, {quiet, "b", quiet}}},
		{"another change is waited for as long", few, []look{{0, "a", quiet}, {quiet - ms, "b", quiet}, {2*quiet - 2*ms, "b", ms}, {2*quiet - ms, "b", 0}}},
		{"changes without an end", few, []look{{0, "a", quiet}, {patience - quiet, "b", quiet}, {patience - 500*ms, "c", 500 * ms}, {patience, "d", 0}}},
		{"of many", manyOfThem + 1, []look{{0, "a", slower * quiet}, {quiet, "a", quiet}, {slower * quiet, "a", 0}}},
		{"not of so many", manyOfThem, []look{{0, "a", quiet}}},
		{"by a clock that was set back", few, []look{{0, "a", quiet}, {-time.Hour, "a", quiet}, {quiet - time.Hour, "a", 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			key, other := types.NamespacedName{Name: "pi"}, types.NamespacedName{Name: "e"}
			var p paces
			for i, l := range test.looks {
				if got := p.rest(key, noon.Add(l.after), pause{quiet: quiet, most: patience}, test.executors, []byte(l.content)); got != l.want {
					t.Errorf("look %d, after %s: it rests for %s, want %s", i, l.after, got, l.want)
				}
			}
			if got := p.rest(other, noon, pause{quiet: quiet, most: patience}, few, nil); got != quiet {
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

// TestNewsRest: the first news of executors that failed is told at once, and what comes after it a while later.
func TestNewsRest(t *testing.T) {
	t.Parallel()
	key, other := types.NamespacedName{Name: "pi"}, types.NamespacedName{Name: "e"}
	var p paces
	p.wrote(key, noon, false)
	if rest := p.newsRest(key, noon); rest != 0 {
		t.Errorf("the first rests for %s", rest)
	}
	p.wrote(key, noon, true)
	for after, want := range map[time.Duration]time.Duration{0: quiet, quiet - time.Millisecond: time.Millisecond, quiet: 0, -time.Hour: 0} {
		if got := p.newsRest(key, noon.Add(after)); got != want {
			t.Errorf("after %s it rests for %s, want %s", after, got, want)
		}
	}
	if rest := p.newsRest(other, noon); rest != 0 {
		t.Errorf("another rests for %s", rest)
	}
	if p.Forget(key); p.newsRest(key, noon) != 0 || p.news.Len() > 0 {
		t.Error("what is gone is remembered")
	}
}

// TestOfTheCrowd: nothing but the coming and going of executors that fail nobody is ever put off.
func TestOfTheCrowd(t *testing.T) {
	t.Parallel()
	const comes = `{"metadata":{"uid":"u"},"status":{"executorState":{"e-2":"RUNNING"},"executors":{"running":2},"operator":{"executors":{"seen":"1-2"},"shortSince":null}}}`
	const scales = `{"status":{"conditions":[],"executors":{"pending":1},"operator":{"executors":{"seen":"1"},"phase":"Scaling","since":"s","history":[]}}}`
	scaling := func(p *pass) {
		p.plan.Trail = []lifecycle.Transition{{From: lifecycle.Ready, To: lifecycle.Scaling}}
	}
	kind := kinds.SparkApplications(config.Default())
	for _, test := range []struct {
		name   string
		patch  string
		change func(*pass)
		want   bool
	}{
		{"an executor comes", comes, nil, true},
		{"the map alone", `{"status":{"executorState":{"e-2":null}}}`, nil, true},
		{"a state", `{"status":{"applicationState":{"state":"COMPLETED"},"executors":{"running":2}}}`, nil, false},
		{"a condition", `{"status":{"conditions":[],"executors":{"running":2}}}`, nil, false},
		{"a failure", `{"status":{"executors":{"failed":1},"operator":{"executors":{"failed":"1"}}}}`, nil, false},
		{"one that is being lost", `{"status":{"executors":{"unknown":1},"operator":{"executors":{"leaving":"1"}}}}`, nil, false},
		{"an attempt's executors are forgotten", `{"status":{"executors":null,"operator":{"executors":null}}}`, nil, false},
		{"nothing", `{"status":{}}`, nil, false},
		{"no patch", `{`, nil, false},
		{"a transition", comes, func(p *pass) { p.plan.Trail = []lifecycle.Transition{{}} }, false},
		{"the first executors are there", scales, scaling, true},
		{"and there is a state", `{"status":{"applicationState":{"state":"RUNNING"},"operator":{"phase":"Scaling"}}}`, scaling, false},
		{"and another transition", scales, func(p *pass) {
			scaling(p)
			p.plan.Trail = append(p.plan.Trail, lifecycle.Transition{})
		}, false},
		{"what it changes, without it", scales, nil, false},
		{"an event", comes, func(p *pass) { p.plan.Tell = []lifecycle.Notice{{}} }, false},
		{"an event of what stands beside the driver", comes, func(p *pass) { p.told = []Event{{}} }, false},
		{"a warning", comes, func(p *pass) { p.warnings = []string{"w"} }, false},
		{"something was made", comes, func(p *pass) { p.made = []client.Object{&corev1.Pod{}} }, false},
		{"something cannot be deleted", comes, func(p *pass) { p.hindered = &apianswer.Wait{} }, false},
		{"there are too few from now on", comes, func(p *pass) { p.plan.Next.ShortSince = noon }, true},
		{"there were too few already", comes, func(p *pass) { p.plan.Next.ShortSince = noon.Add(-time.Second) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &pass{now: noon}
			if test.change != nil {
				test.change(p)
			}
			r := &Reconciler{kind: kind}
			if got := r.ofTheCrowd(p, []byte(test.patch)); got != test.want {
				t.Errorf("got %v", got)
			}
			r.kind.Crowd.Fields = nil
			if r.ofTheCrowd(p, []byte(test.patch)) {
				t.Error("a kind without a crowd has something put off")
			}
		})
	}
}

// TestPauseOf: a minor transition waits for the one that takes its place, however often it is looked at meanwhile; and executors that come or go for the others.
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
		want      pause
	}{
		{"all run", nil, in(runs, runs), lifecycle.Running, time.Time{}, pause{quiet: quiet, most: patience}},
		{"one is yet to come", nil, in(runs, pending), lifecycle.Running, time.Time{}, pause{quiet: patience, most: patience}},
		{"one is done", nil, in(done, runs), lifecycle.Running, time.Time{}, pause{quiet: patience, most: patience}},
		{"one is gone that is wanted", nil, in(runs), lifecycle.Running, noon, pause{quiet: quiet, most: patience}},
		{"all are gone", nil, nil, lifecycle.Running, time.Time{}, pause{quiet: quiet, most: patience}},
		{"all are gone that are wanted", nil, nil, lifecycle.Running, noon, pause{quiet: arrival, most: arrival}},
		{"all are done that are wanted", nil, in(done, done), lifecycle.Running, noon, pause{quiet: arrival, most: arrival}},
		{"none has come that is wanted", nil, nil, lifecycle.Ready, noon, pause{quiet: quiet, most: patience}},
		{"one failed", nil, in(lifecycle.DriverFailed, runs), lifecycle.Running, time.Time{}, pause{quiet: quiet, most: patience}},
		{"one is lost", nil, in(lifecycle.DriverUnknown, runs), lifecycle.Running, time.Time{}, pause{quiet: quiet, most: patience}},
		{"a minor transition", minor, in(runs, pending), lifecycle.Scaling, noon, pause{quiet: arrival, most: arrival}},
		{"and none runs yet", minor, in(pending, pending), lifecycle.Scaling, noon, pause{quiet: firstArrival, most: firstArrival, first: true}},
		{"and none is there any more", minor, nil, lifecycle.Scaling, noon, pause{quiet: arrival, most: arrival}},
	} {
		p := &pass{plan: lifecycle.Plan{Trail: test.trail}, seen: lifecycle.Observed{Executors: test.executors}}
		p.plan.Next.Phase, p.plan.Next.ShortSince = test.phase, test.short
		if got := pauseOf(p); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	var p paces
	for _, l := range []struct{ after, want time.Duration }{{0, arrival}, {quiet, arrival - quiet}, {arrival, 0}} {
		if got := p.rest(types.NamespacedName{Name: "pi"}, noon.Add(l.after), pause{quiet: arrival, most: arrival}, 1, []byte(l.after.String())); got != l.want {
			t.Errorf("after %s it rests for %s, want %s", l.after, got, l.want)
		}
	}
}

// TestFirstArrival: the first executor is waited for longer than the others are from then on, and only once.
func TestFirstArrival(t *testing.T) {
	t.Parallel()
	first, others := pause{quiet: firstArrival, most: firstArrival, first: true}, pause{quiet: arrival, most: arrival}
	type look struct {
		after time.Duration
		until pause
		want  time.Duration
	}
	for name, looks := range map[string][]look{
		"none comes":                             {{0, first, firstArrival}, {arrival, first, firstArrival - arrival}, {firstArrival, first, 0}},
		"the others are waited for from then on": {{0, first, firstArrival}, {arrival, others, arrival}, {2*arrival - time.Second, others, time.Second}, {2 * arrival, others, 0}},
		"the first is there late":                {{0, first, firstArrival}, {firstArrival - time.Second, others, arrival}, {firstArrival - time.Second + arrival, others, 0}},
		"the first goes":                         {{0, first, firstArrival}, {arrival, others, arrival}, {arrival + time.Second, first, firstArrival - time.Second}, {arrival + 2*time.Second, others, arrival - 2*time.Second}},
		"one was there":                          {{0, others, arrival}, {time.Second, first, firstArrival - time.Second}, {2 * time.Second, others, arrival - 2*time.Second}},
	} {
		var p paces
		for i, l := range looks {
			if got := p.rest(types.NamespacedName{Name: "pi"}, noon.Add(l.after), l.until, 1, []byte("the same")); got != l.want {
				t.Errorf("%s: look %d, after %s: it rests for %s, want %s", name, i, l.after, got, l.want)
			}
		}
	}
}
