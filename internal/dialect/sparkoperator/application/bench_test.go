package application

import (
	"fmt"
	"testing"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// defaultDialect is a dialect with the defaults of the configuration.
var defaultDialect = Dialect{Options{MaxTrackedExecutors: 1000, MissingGrace: 10 * time.Second}}

// atWork returns an application in the phase Running, and the observed facts about its driver and its executors.
func atWork(b *testing.B, executors int) (*v1beta2.SparkApplication, lifecycle.Observed) {
	b.Helper()

	app := sparkapp.Sample(func(a *v1beta2.SparkApplication) { a.Spec.Executor.Instances = new(int32(executors)) })
	for range 3 { // launched; then seen
		defaultDialect.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
	}

	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{{
		Name: "pi-driver", Attempt: 1, Phase: lifecycle.DriverRunning, Ready: true, CreatedAt: sparkapp.T0,
		StartedAt: sparkapp.T0, ReadyAt: sparkapp.T0, AppID: "spark-1",
	}}, RemainingAttempts: []int32{1}}
	for i := range executors {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("pi-1-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, AppID: "spark-1",
			Phase: lifecycle.DriverRunning, CreatedAt: sparkapp.T0,
		})
	}

	if plan := defaultDialect.Decide(app, seen, sparkapp.T0); plan.Next.Phase != lifecycle.Running {
		b.Fatalf("the application is %s", plan.Next.Phase)
	}
	return app, seen
}

// sizes runs a benchmark for a small application and for a large one.
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

// BenchmarkDecode measures the cost of reading an application's spec, and the operator's memory that is stored in its
// status.
func BenchmarkDecode(b *testing.B) {
	sizes(b, func(b *testing.B, app *v1beta2.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if defaultDialect.app(app); memoryOf(app, seen, sparkapp.T0).Phase != lifecycle.Running {
				b.Fatal("the memory has another phase")
			}
		}
	})
}

// BenchmarkEncode measures the cost of writing a decision into a status that already contains the decision, which is
// the usual case.
func BenchmarkEncode(b *testing.B) {
	sizes(b, func(b *testing.B, app *v1beta2.SparkApplication, seen lifecycle.Observed) {
		wanted := defaultDialect.app(app)

		plan := application.Step(wanted, memoryOf(app, seen, sparkapp.T0), seen, sparkapp.T0)
		for b.Loop() {
			defaultDialect.encode(app, wanted, plan, seen, sparkapp.T0)
		}
	})
}

// BenchmarkDecide measures the cost of two passes: a pass that changes nothing about a running application, and the
// first pass over a new application.
func BenchmarkDecide(b *testing.B) {
	sizes(b, func(b *testing.B, app *v1beta2.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if plan := defaultDialect.Decide(app, seen, sparkapp.T0); len(plan.Actions)+len(plan.Transitions) > 0 {
				b.Fatalf("something follows: %+v", plan)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		app := sparkapp.Sample()

		b.ReportAllocs()

		for b.Loop() {
			app.Status = v1beta2.SparkApplicationStatus{}
			if plan := defaultDialect.Decide(app, lifecycle.Observed{Confirmed: true},
				sparkapp.T0); len(plan.Actions) == 0 {
				b.Fatal("it is not launched")
			}
		}
	})
}

// BenchmarkLaunch measures the cost of the first pass over a new application: the decision, and rendering the objects
// of its launch.
func BenchmarkLaunch(b *testing.B) {
	app := sparkapp.Sample()

	b.ReportAllocs()

	for b.Loop() {
		app.Status = v1beta2.SparkApplicationStatus{}

		plan := defaultDialect.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
		if _, err := defaultDialect.Render(app, plan.Actions[0], sparkapp.T0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRender measures the cost of rendering the objects of a launch. The action contains no objects that were
// built before (Action.Built), so Render has to build them.
func BenchmarkRender(b *testing.B) {
	app := sparkapp.Sample()

	b.ReportAllocs()

	for b.Loop() {
		if _, err := defaultDialect.Render(app,
			lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}, sparkapp.T0); err != nil {
			b.Fatal(err)
		}
	}
}
