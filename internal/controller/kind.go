// Package controller turns decisions into API calls. It holds the one reconciler of the operator. Every pass has the
// same steps: observe, decide, render, apply, record, report.
//
// The differences between custom resources are in their kinds (package kind). Each step returns its result. This
// package combines the results into one status write at the end, the events after it, and the time of the next pass.
package controller

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/kind"
)

// Names of package kind for what the reconciler needs to know about a custom resource.
type (
	// Kind describes one kind of custom resource.
	Kind = kind.Kind
	// Runs describes the dependents of a kind that are applications.
	Runs = kind.Runs
	// AuxiliaryObjects is the wanted auxiliary objects of a driver.
	AuxiliaryObjects = kind.AuxiliaryObjects
	// Event is a Kubernetes Event about the custom resource.
	Event = kind.Event
)

// Clock returns the time. Decisions get it as an argument.
type Clock func() time.Time
