package application

import (
	"fmt"
	"testing"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
)

// atWork is an application whose driver and so many executors run, with the status that says so, and what is seen of
// it.
func atWork(b *testing.B, executorsRun int) (*sparkv1.SparkApplication, lifecycle.Observed) {
	b.Helper()
	n := fmt.Sprint(executorsRun)
	l := begin(b, trimmed, func(app *sparkv1.SparkApplication) { app.Spec.SparkConf["spark.executor.instances"] = n })
	l.gone(0)
	seen := lifecycle.Observed{Drivers: []lifecycle.Driver{l.driver(ready)}, Executors: executors(1, executorsRun), Remains: []int32{1}}
	if l.look(0, seen); l.plan.Next.Phase != lifecycle.Running {
		b.Fatalf("the application is %s", l.plan.Next.Phase)
	}
	return l.app, seen
}

// sizes runs a benchmark over a small application and a large one.
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

// BenchmarkDecode tells what it costs to read what an application asks for, and what is remembered of it.
func BenchmarkDecode(b *testing.B) {
	sizes(b, func(b *testing.B, app *sparkv1.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if takeOver(app, trimmed.app(app), seen, t0).Phase != lifecycle.Running {
				b.Fatal("another phase is remembered")
			}
		}
	})
}

// BenchmarkEncode tells what it costs to write a decision into a status that says so already, which is the usual case.
func BenchmarkEncode(b *testing.B) {
	sizes(b, func(b *testing.B, app *sparkv1.SparkApplication, seen lifecycle.Observed) {
		wanted := trimmed.app(app)
		plan := application.Step(wanted, takeOver(app, wanted, seen, t0), seen, t0)
		for b.Loop() {
			trimmed.encode(app, wanted, plan, seen, t0)
		}
	})
}

// BenchmarkDecide tells what a pass over a running application costs of which nothing follows, and what the first look
// at a new one does.
func BenchmarkDecide(b *testing.B) {
	sizes(b, func(b *testing.B, app *sparkv1.SparkApplication, seen lifecycle.Observed) {
		for b.Loop() {
			if plan := trimmed.Decide(app, seen, t0); len(plan.Do)+len(plan.Trail) > 0 {
				b.Fatalf("something follows: %+v", plan)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		app := pi()
		b.ReportAllocs()
		for b.Loop() {
			app.Status = sparkv1.ApplicationStatus{}
			if plan := trimmed.Decide(app, lifecycle.Observed{Confirmed: true}, t0); len(plan.Do) == 0 {
				b.Fatal("it is not launched")
			}
		}
	})
}

// BenchmarkLaunch tells what the first pass over a new application costs: the decision, and the objects of the launch
// that follows from it.
func BenchmarkLaunch(b *testing.B) {
	app := pi()
	b.ReportAllocs()
	for b.Loop() {
		app.Status = sparkv1.ApplicationStatus{}
		plan := trimmed.Decide(app, lifecycle.Observed{Confirmed: true}, t0)
		if _, err := trimmed.Render(app, plan.Do[0], t0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRender tells what the objects of a launch cost of which nothing was built for the decision.
func BenchmarkRender(b *testing.B) {
	app := pi()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trimmed.Render(app, launchOf(1), t0); err != nil {
			b.Fatal(err)
		}
	}
}
