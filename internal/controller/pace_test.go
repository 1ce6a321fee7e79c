package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

func TestPaces(t *testing.T) {
	t.Parallel()
	key, other := types.NamespacedName{Name: "pi"}, types.NamespacedName{Name: "e"}
	var p paces
	if rest := p.rest(key, noon, 1000); rest != 0 {
		t.Errorf("the first write rests for %s", rest)
	}
	p.set(key, noon)
	for _, test := range []struct {
		name      string
		key       types.NamespacedName
		after     time.Duration
		executors int
		want      time.Duration
	}{
		{"at once after another", key, 0, 10, time.Second},
		{"soon after another", key, 300 * time.Millisecond, manyOfThem, 700 * time.Millisecond},
		{"at rest", key, time.Second, 10, 0},
		{"of many", key, time.Second, manyOfThem + 1, time.Second},
		{"of many, at rest", key, 2 * time.Second, manyOfThem + 1, 0},
		{"of another", other, 0, 10, 0},
		{"by a clock that was set back", key, -time.Hour, 10, 0},
	} {
		if got := p.rest(test.key, noon.Add(test.after), test.executors); got != test.want {
			t.Errorf("%s: it rests for %s, want %s", test.name, got, test.want)
		}
	}
	p.forget(key)
	if rest := p.rest(key, noon, 1); rest != 0 || len(p.keys) != 0 {
		t.Errorf("what is forgotten rests for %s", rest)
	}
}

// TestOfTheCrowd: nothing but the coming and going of executors that fail nobody is ever put off.
func TestOfTheCrowd(t *testing.T) {
	t.Parallel()
	const comes = `{"metadata":{"uid":"u"},"status":{"executorState":{"e-2":"RUNNING"},"executors":{"running":2},"operator":{"executors":{"seen":"1-2"},"shortSince":null}}}`
	kind := sparkApplications(config.Default())
	for _, test := range []struct {
		name   string
		patch  string
		change func(*pass[*v1beta2.SparkApplication])
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
		{"a transition", comes, func(p *pass[*v1beta2.SparkApplication]) { p.plan.Trail = []lifecycle.Transition{{}} }, false},
		{"an event", comes, func(p *pass[*v1beta2.SparkApplication]) { p.plan.Tell = []lifecycle.Notice{{}} }, false},
		{"an event of what stands beside the driver", comes, func(p *pass[*v1beta2.SparkApplication]) { p.told = []Event{{}} }, false},
		{"a warning", comes, func(p *pass[*v1beta2.SparkApplication]) { p.warnings = []string{"w"} }, false},
		{"something was made", comes, func(p *pass[*v1beta2.SparkApplication]) { p.made = []client.Object{&corev1.Pod{}} }, false},
		{"something cannot be deleted", comes, func(p *pass[*v1beta2.SparkApplication]) { p.hindered = &waitError{} }, false},
		{"there are too few from now on", comes, func(p *pass[*v1beta2.SparkApplication]) { p.plan.Next.ShortSince = noon }, false},
		{"there were too few already", comes, func(p *pass[*v1beta2.SparkApplication]) { p.plan.Next.ShortSince = noon.Add(-time.Second) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &pass[*v1beta2.SparkApplication]{now: noon}
			if test.change != nil {
				test.change(p)
			}
			r := &Reconciler[*v1beta2.SparkApplication]{kind: kind}
			if got := r.ofTheCrowd(p, []byte(test.patch)); got != test.want {
				t.Errorf("got %v", got)
			}
			r.kind.Crowd = nil
			if r.ofTheCrowd(p, []byte(test.patch)) {
				t.Error("a kind without a crowd has something put off")
			}
		})
	}
}

// TestExecutorsAreStoredTogether: many executors that come, run and go make a write a second, however fast they are; and the counts are right in the end.
func TestExecutorsAreStoredTogether(t *testing.T) {
	t.Parallel()
	const many = 30
	w := newWorld(t)
	w.runReal()
	app := w.application("pi", withDriver)
	driver := w.driverOf(app, 1)
	w.kubelet(driver.Name, corev1.PodRunning, running())
	w.ready(driver.Name)
	w.startExecutors(app, driver, 1)
	counts := func(want v1beta2.ExecutorCounts) {
		t.Helper()
		testkit.Wait(t, fmt.Sprintf("%+v executors", want), func(context.Context) error {
			if got := w.get("pi").Status.Executors; got == nil || *got != want {
				return fmt.Errorf("they are %+v", got)
			}
			return nil
		})
	}
	counts(v1beta2.ExecutorCounts{Running: 1})
	before, began := w.metric("sparkoperator_status_writes_total"), time.Now()
	for id := 2; id < 2+many; id++ {
		executor := w.executor(app, driver, id)
		w.create(executor)
		w.kubelet(executor.Name, corev1.PodRunning, running())
		w.kubelet(executor.Name, corev1.PodSucceeded, exited(0, ""))
	}
	counts(v1beta2.ExecutorCounts{Running: 1, Completed: many})
	writes, most := w.metric("sparkoperator_status_writes_total")-before, 2+time.Since(began).Seconds()/pace.Seconds()
	if t.Logf("%v writes in %s", writes, time.Since(began)); writes > most {
		t.Errorf("%v writes for %d executors, want at most %v", writes, many, most)
	}

	// What is more than that is stored at once, and takes the rest along.
	w.create(w.executor(app, driver, many+2))
	w.create(w.executor(app, driver, many+3))
	w.kubelet(driver.Name, corev1.PodSucceeded, exited(0, ""))
	got := w.waitState("pi", v1beta2.ApplicationStateCompleted)
	if n := len(got.Status.ExecutorState); n < many+1 {
		t.Errorf("%d executors are named in the end", n)
	}
}
