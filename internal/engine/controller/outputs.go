package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// reports are the outputs of a pass: events, metrics and traces.
type reports struct {
	events  Recorder
	metrics Metrics
	traces  Tracer
}

// Recorder writes Kubernetes Events in the background.
type Recorder interface {
	Event(source string, about corev1.ObjectReference, now time.Time, level, reason, message string)
}

// Metrics counts what passes do. Its argument kind is the name of the controller.
type Metrics interface {
	// Record sets the state of a custom resource, and RecordFirst sets it if it is unknown. RecordWait sets only its
	// wait reason, and Remove drops a custom resource.
	RecordFirst(subject lifecycle.Subject, now lifecycle.Standing)
	Record(subject lifecycle.Subject, now lifecycle.Standing)
	RecordWait(kind string, key types.NamespacedName, reason string)
	Remove(kind string, key types.NamespacedName)

	// Stored counts the transitions of a stored plan, and StatusWrite each attempt to store a status.
	Stored(subject lifecycle.Subject, before lifecycle.Standing, plan lifecycle.Plan)
	StatusWrite(kind string, err error)

	// Used counts what pods have requested since the last status write, multiplied by time.
	Used(subject lifecycle.Subject, more statusv1.UsageSums)

	// Submitted counts how long a launch took, and which part of this time the API server took. Lag counts the time from
	// a change of a driver's container until the status shows it.
	Submitted(kind string, total, api time.Duration)
	Lag(kind string, phase lifecycle.Phase, happened, stored time.Time)

	// RunStarted counts a run of a schedule that started, and Run counts one by its result.
	RunStarted(kind string, due, start time.Time)
	Run(kind, result string)
}

// Tracer creates the span of a pass.
type Tracer interface {
	// Pass begins the span. The pass uses the returned context for its requests and calls the function end at its end.
	Pass(ctx context.Context, kind string, key types.NamespacedName) (_ context.Context, end func(error))
	// Decided adds a decision to the span, with the phase before it.
	Decided(ctx context.Context, from lifecycle.Phase, plan lifecycle.Plan)
}
