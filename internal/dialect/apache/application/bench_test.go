package application

import (
	"fmt"
	"testing"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
)

// atWork returns an application whose driver and executors run: the custom resource with its status, and the
// observation of the pods.
func atWork(b *testing.B, executorsRun int) (*sparkv1.SparkApplication, lifecycle.Observed) {
	b.Helper()

	n := fmt.Sprint(executorsRun)
	l := begin(b, trimmed, func(app *sparkv1.SparkApplication) { app.Spec.SparkConf["spark.executor.instances"] = n })
	l.passWithoutObjects(0)

	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: executors(1, executorsRun),
		RemainingAttempts: []int32{1}}
	if l.pass(0, seen); l.plan.Next.Phase != lifecycle.Running {
		b.Fatalf("the application is %s", l.plan.Next.Phase)
	}
	return l.app, seen
}

// sizes runs a benchmark with a small application and with a large one.
func sizes(b *testing.B, run func(b *testing.B, app *sparkv1.SparkApplication, seen lifecycle.Observed)) {
	b.Helper()

	for _, n := range []int{5, 1000} {
		b.Run(fmt.Sprintf("%d-executors", n), func(b *testing.B) {
			app, seen := atWork(b, n)
			b.ReportAllocs()
			b.ResetTimer()
			run(b, app, seen)
		})
	}
}

// BenchmarkDecode measures converting an application to the input of the state machine (lifecycle.App and Memory).
func BenchmarkDecode(b *testing.B) {
	sizes(b, func(b *testing.B, app *sparkv1.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if takeover.Memory(app, trimmed.app(app), seen, t0).Phase != lifecycle.Running {
				b.Fatal("another phase is remembered")
			}
		}
	})
}

// BenchmarkEncode measures writing a decision into a status that already contains this decision. This is the usual
// case, because most passes change nothing.
func BenchmarkEncode(b *testing.B) {
	sizes(b, func(b *testing.B, app *sparkv1.SparkApplication, seen lifecycle.Observed) {
		wanted := trimmed.app(app)

		plan := application.Step(wanted, takeover.Memory(app, wanted, seen, t0), seen, t0)
		for b.Loop() {
			status.Encode(app, status.Decision{Wanted: wanted, Seen: seen, Plan: plan, At: t0, Trim: true})
		}
	})
}

// BenchmarkDecide measures two passes: a pass that changes nothing, over a running application, and the first pass over
// a new application.
func BenchmarkDecide(b *testing.B) {
	sizes(b, func(b *testing.B, app *sparkv1.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if plan := trimmed.Decide(app, seen, t0); len(plan.Actions)+len(plan.Transitions) > 0 {
				b.Fatalf("something follows: %+v", plan)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		app := pi()

		b.ReportAllocs()

		for b.Loop() {
			app.Status = sparkv1.ApplicationStatus{}
			if plan := trimmed.Decide(app, lifecycle.Observed{Confirmed: true}, t0); len(plan.Actions) == 0 {
				b.Fatal("it is not launched")
			}
		}
	})
}

// BenchmarkLaunch measures the first pass over a new application: the decision, and rendering the objects of the
// launch.
func BenchmarkLaunch(b *testing.B) {
	app := pi()

	b.ReportAllocs()

	for b.Loop() {
		app.Status = sparkv1.ApplicationStatus{}

		plan := trimmed.Decide(app, lifecycle.Observed{Confirmed: true}, t0)
		if _, err := trimmed.Render(app, plan.Actions[0], t0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRender measures rendering the objects of a launch outside Decide.
func BenchmarkRender(b *testing.B) {
	app := pi()

	b.ReportAllocs()

	for b.Loop() {
		if _, err := trimmed.Render(app, launchOf(1), t0); err != nil {
			b.Fatal(err)
		}
	}
}
