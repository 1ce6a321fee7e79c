package application

import (
	"fmt"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// steady returns a running application with a ready driver. The application has as many executors as it wants.
func steady(executors int) (lifecycle.App, lifecycle.Memory, lifecycle.Observed) {
	app := appWith(func(a *lifecycle.App) { a.InitialExecutors, a.MinExecutors = int32(executors), int32(executors) })

	seen := driver(lifecycle.DriverRunning, readyAt(10))
	for i := range executors {
		seen.Executors = append(seen.Executors, lifecycle.Executor{
			Name: fmt.Sprintf("app-exec-%d", i+1), ID: fmt.Sprint(i + 1), Attempt: 1, Phase: lifecycle.DriverRunning,
			CreatedAt: at(12),
		})
	}
	return app, memoryIn(lifecycle.Running), seen
}

// BenchmarkStep measures the most frequent decision: an executor of a running application changed, and the change has
// no consequence.
func BenchmarkStep(b *testing.B) {
	for _, executors := range []int{5, 1000} {
		b.Run(fmt.Sprintf("%d-executors", executors), func(b *testing.B) {
			app, mem, seen := steady(executors)

			b.ReportAllocs()

			for b.Loop() {
				if plan := Step(app, mem, seen, at(60)); plan.Next.Phase != lifecycle.Running {
					b.Fatalf("the application is %s", plan.Next.Phase)
				}
			}
		})
	}
}
