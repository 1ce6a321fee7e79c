package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/testkit"
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

// TestExecutorsAreStoredTogether: many executors that come, run and go make a write a second at most, however fast they are; and the counts are right in the end.
func TestExecutorsAreStoredTogether(t *testing.T) {
	t.Parallel()
	const many = 30
	w := newWorld(t)
	w.runReal()
	app := w.Application("pi", withDriver)
	driver := w.driverOf(app, 1)
	w.kubelet(driver.Name, corev1.PodRunning, running())
	w.ready(driver.Name)
	w.startExecutors(app, driver, 1)
	counts := func(want v1beta2.ExecutorCounts) {
		t.Helper()
		testkit.Wait(t, fmt.Sprintf("%+v executors", want), func(context.Context) error {
			if got := w.Get("pi").Status.Executors; got == nil || *got != want {
				return fmt.Errorf("they are %+v", got)
			}
			return nil
		})
	}
	counts(v1beta2.ExecutorCounts{Running: 1})
	before, began := w.metric("sparkoperator_status_writes_total"), time.Now()
	for id := 2; id < 2+many; id++ {
		executor := w.executor(app, driver, id)
		w.Create(executor)
		w.kubelet(executor.Name, corev1.PodRunning, running())
		w.kubelet(executor.Name, corev1.PodSucceeded, exited(0, ""))
	}
	counts(v1beta2.ExecutorCounts{Running: 1, Completed: many})
	writes, most := w.metric("sparkoperator_status_writes_total")-before, 2+time.Since(began).Seconds()/quiet.Seconds()
	if t.Logf("%v writes in %s", writes, time.Since(began)); writes > most {
		t.Errorf("%v writes for %d executors, want at most %v", writes, many, most)
	}

	// What is more than that is stored at once, and takes the rest along.
	w.Create(w.executor(app, driver, many+2))
	w.Create(w.executor(app, driver, many+3))
	w.kubelet(driver.Name, corev1.PodSucceeded, exited(0, ""))
	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	if n := len(got.Status.ExecutorState); n < many+1 {
		t.Errorf("%d executors are named in the end", n)
	}
}

// still is a clock that stands still but for what a test puts it on. Each pass looks at it.
type still struct {
	began     time.Time
	by, looks atomic.Int64
}

func (s *still) now() time.Time {
	s.looks.Add(1)
	return s.began.Add(time.Duration(s.by.Load()))
}

// TestExecutorsThatAreGoneBeforeTheirDriver: a life whose executors come one after the other, begin late, and are gone long before the driver is, is four status writes: that there
// are too few of them is none of its own.
func TestExecutorsThatAreGoneBeforeTheirDriver(t *testing.T) {
	t.Parallel()
	w, clock := newWorld(t), &still{began: time.Now()}
	var cached client.Client
	w.runWith(testConfig(w.Namespace), clock.now, func(env *Environment) {
		env.wrap = func(inner client.Client) client.Client { cached = inner; return inner }
	})
	w.able()
	const executors = 5
	app := w.Application("pi", withDriver, func(app *v1beta2.SparkApplication) { app.Spec.Executor.Instances = new(int32(executors)) })
	looks := func(executors int, after time.Duration) { // until a pass has ended that began after that time, and that saw so many executors
		t.Helper()
		testkit.Wait(t, "the cache", func(ctx context.Context) error {
			var pods corev1.PodList
			err := cached.List(ctx, &pods, client.InNamespace(w.Namespace), client.MatchingLabels{identity.RoleLabel: identity.RoleExecutor})
			return errors.Join(err, want(len(pods.Items), executors))
		})
		clock.by.Add(int64(after))
		for range 2 {
			before := clock.looks.Load()
			testkit.Wait(t, "a look", func(context.Context) error {
				w.poke("pi")
				return want(clock.looks.Load() > before+2, true) // a look takes the time twice
			})
		}
	}
	writes := func(most float64) {
		t.Helper()
		if got := w.metricOf("sparkoperator_status_writes_total", "result", telemetry.WriteStored); got > most { // one that a poke got ahead of is none
			t.Fatalf("%v status writes, want at most %v; the status is %+v", got, most, w.Get("pi").Status)
		}
	}
	driver := w.driverOf(app, 1)
	w.ready(driver.Name)
	w.waitState("pi", v1beta2.ApplicationStateRunning)
	for id := 1; id <= executors; id++ {
		w.Create(w.executor(app, driver, id))
		looks(id, arrival/2)
		writes(2)
	}
	for id := 1; id <= executors; id++ {
		w.kubelet(fmt.Sprintf("pi-exec-%d", id), corev1.PodRunning, running())
		looks(executors, arrival/10)
	}
	w.waitAllRunning("pi", executors)
	writes(3)

	for id := 1; id <= executors; id++ {
		executor := w.executor(app, driver, id)
		w.kubelet(executor.Name, corev1.PodSucceeded, exited(0, ""))
		if err := w.API.Delete(t.Context(), executor, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
		w.WaitGone(executor)
	}
	looks(0, 0)
	looks(0, arrival/2)
	writes(3)
	w.kubelet(driver.Name, corev1.PodSucceeded, exited(0, ""))
	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	writes(4)
	if diff := cmp.Diff(&v1beta2.ExecutorCounts{Completed: executors}, got.Status.Executors); diff != "" {
		t.Errorf("the executors in the end: %s", diff)
	}
}

// waitAllRunning waits until the status tells that so many executors run.
func (w *world) waitAllRunning(name string, n int32) {
	w.T.Helper()
	testkit.Wait(w.T, "all executors to run", func(context.Context) error {
		if got := w.Get(name).Status.Executors; got == nil || got.Running != n {
			return fmt.Errorf("they are %+v", got)
		}
		return nil
	})
}
