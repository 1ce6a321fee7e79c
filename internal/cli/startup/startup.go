// Package startup tells how long the parts of the start of an attempt took: from a queue to the first task. The times
// of pods are in the status. Those of Spark are in the driver's log and in Spark's REST API, which are read with the
// rights of the user.
package startup

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Times tells when Spark reached the steps of a start that pods do not show. A zero time is unknown or still to come.
type Times struct {
	ContextBegan       time.Time `json:"contextBegan,omitzero"`       // the JVM runs and Spark begins
	ExecutorRegistered time.Time `json:"executorRegistered,omitzero"` // the first one
	FirstTask          time.Time `json:"firstTask,omitzero"`
}

// Step is a part of a start.
type Step struct {
	Name string    `json:"name"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Duration returns how long the step took. Times of pods are whole seconds, so a step may seem to end before it begins.
func (s Step) Duration() time.Duration { return max(s.To.Sub(s.From), 0) }

// Steps returns the parts of the start of the current or last attempt: until the driver got a node, its container
// started, and it asked for executors, and likewise for the first executor. If the times of Spark are known, they
// divide the parts of the JVMs further, until the first task.
func Steps(s *kube.Summary, spark *Times) (steps []Step) {
	if s.Start == nil {
		return nil
	}

	if spark == nil {
		spark = &Times{}
	}

	last := queued(s)
	for _, next := range []struct {
		name string
		at   time.Time
	}{
		{"queue", kube.TimeOf(s.Start.DriverCreated)}, {"driver's node", kube.TimeOf(s.Start.DriverScheduled)}, {"volumes and image", kube.TimeOf(s.Start.DriverStarted)},
		{"JVM", spark.ContextBegan}, {"SparkContext", kube.TimeOf(s.Start.ExecutorCreated)}, {"executor's node", kube.TimeOf(s.Start.ExecutorScheduled)},
		{"volumes and image", kube.TimeOf(s.Start.ExecutorStarted)}, {"executor's JVM", spark.ExecutorRegistered}, {"first task", spark.FirstTask},
	} {
		if next.at.IsZero() {
			continue
		}

		if !last.IsZero() {
			steps = append(steps, Step{next.name, last.UTC(), next.at.UTC()})
		}

		last = next.at
	}
	return steps
}

// queued returns when an attempt that waited for a queue began to wait; otherwise the zero time.
func queued(s *kube.Summary) time.Time {
	for _, h := range s.History {
		if h.At != nil && max(h.Attempt, 1) == s.Start.Attempt && lifecycle.IsQuotaWait(h.Reason) && h.At.Time.Before(kube.TimeOf(s.Start.DriverCreated)) {
			return h.At.Time
		}
	}
	return time.Time{}
}

// earlier returns the earlier one of two times. Zero times do not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
