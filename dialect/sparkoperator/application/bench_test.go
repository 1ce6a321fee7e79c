package application

import (
	"fmt"
	"testing"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
)

// measured is the dialect as the configuration's defaults make it.
var measured = Dialect{Options{MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second}}

// atWork returns an application whose driver and given number of executors run, with a status of the phase Running, and
// the facts of its pods.
func atWork(b *testing.B, executors int) (*v1beta2.SparkApplication, lifecycle.Observed) {
	b.Helper()
	app := sample(func(a *v1beta2.SparkApplication) { a.Spec.Executor.Instances = new(int32(executors)) })
	for range 3 { // launched; then seen
		measured.Decide(app, lifecycle.Observed{Confirmed: true}, t0)
	}
	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{
		Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: t0, StartedAt: t0, ReadyAt: t0, AppID: "spark-1",
	}}, RemainingAttempts: []int32{1}}
	for i := range executors {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("pi-1-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, AppID: "spark-1", Phase: lifecycle.DriverRunning, CreatedAt: t0,
		})
	}
	if plan := measured.Decide(app, seen, t0); plan.Next.Phase != lifecycle.Running {
		b.Fatalf("the application is %s", plan.Next.Phase)
	}
	return app, seen
}

// sizes runs a benchmark over a small application and a large one.
func sizes(b *testing.B, run func(b *testing.B, app *v1beta2.SparkApplication, seen lifecycle.Observed)) {
	b.Helper()
	for _, executors := range []int{5, 1000} {
		b.Run(fmt.Sprintf("%d-executors", executors), func(b *testing.B) {
			app, seen := atWork(b, executors)
			b.ReportAllocs()
			b.ResetTimer()
			run(b, app, seen)
		})
	}
}

// BenchmarkDecode tells what it costs to read what an application asks for, and what is remembered of it.
func BenchmarkDecode(b *testing.B) {
	sizes(b, func(b *testing.B, app *v1beta2.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if measured.app(app); takeOver(app, seen, t0).Phase != lifecycle.Running {
				b.Fatal("another phase is remembered")
			}
		}
	})
}

// BenchmarkEncode measures the cost of writing a decision into a status that already shows it, which is the usual case.
func BenchmarkEncode(b *testing.B) {
	sizes(b, func(b *testing.B, app *v1beta2.SparkApplication, seen lifecycle.Observed) {
		wanted := measured.app(app)
		plan := application.Step(wanted, takeOver(app, seen, t0), seen, t0)
		for b.Loop() {
			measured.encode(app, wanted, plan, seen, t0)
		}
	})
}

// BenchmarkDecide tells what a pass over a running application costs of which nothing follows, and what the first look
// at a new one does.
func BenchmarkDecide(b *testing.B) {
	sizes(b, func(b *testing.B, app *v1beta2.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if plan := measured.Decide(app, seen, t0); len(plan.Actions)+len(plan.Transitions) > 0 {
				b.Fatalf("something follows: %+v", plan)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		app := sample()
		b.ReportAllocs()
		for b.Loop() {
			app.Status = v1beta2.SparkApplicationStatus{}
			if plan := measured.Decide(app, lifecycle.Observed{Confirmed: true}, t0); len(plan.Actions) == 0 {
				b.Fatal("it is not launched")
			}
		}
	})
}

// BenchmarkLaunch tells what the first pass over a new application costs: the decision, and the objects of the launch
// that follows from it.
func BenchmarkLaunch(b *testing.B) {
	app := sample()
	b.ReportAllocs()
	for b.Loop() {
		app.Status = v1beta2.SparkApplicationStatus{}
		plan := measured.Decide(app, lifecycle.Observed{Confirmed: true}, t0)
		if _, err := measured.Render(app, plan.Actions[0], t0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRender tells what the objects of a launch cost of which nothing was built for the decision.
func BenchmarkRender(b *testing.B) {
	app := sample()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := measured.Render(app, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, t0); err != nil {
			b.Fatal(err)
		}
	}
}
