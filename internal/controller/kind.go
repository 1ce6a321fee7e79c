// Package controller turns decisions into API calls. It contains the operator's only reconciler. Every pass has the
// same steps: observe, decide, render, apply, record, report.
//
// A kind (package kind) describes what is special about one type of custom resource. Each step returns its result. This
// package combines the results into one status write at the end, the events after that write, and the time of the next
// pass.
package controller

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/kind"
)

// These aliases give short names to the types of package kind that describe a custom resource to the reconciler.
type (
	// Kind describes one kind of custom resource.
	Kind = kind.Kind
	// Runs describes the dependents of a kind that are applications.
	Runs = kind.Runs
	// AuxiliaryObjects are the wanted auxiliary objects of a driver.
	AuxiliaryObjects = kind.AuxiliaryObjects
	// Event is a Kubernetes Event about the custom resource.
	Event = kind.Event
)

// Clock returns the current time. Decisions do not call it; they get the time as an argument.
type Clock func() time.Time
