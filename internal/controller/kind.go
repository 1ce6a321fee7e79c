// Package controller turns decisions into API calls. It holds the one reconciler of the operator, whose passes all go the same way:
// observe, decide, render, apply, record, tell.
//
// What is particular to a custom resource is a kind. Each step returns what came of it. Here that is put together: one status write at the end, events after
// it, and the time of the next look.
package controller

import (
	"time"

	"github.com/sparkoperator/spark-operator/internal/kind"
)

// Names of package kind for what the reconciler knows of a custom resource.
type (
	// Kind is what it needs to know.
	Kind = kind.Kind
	// Runs is what it needs to know of children that are applications.
	Runs = kind.Runs
	// Surroundings is what is to stand beside a driver.
	Surroundings = kind.Surroundings
	// Event is a Kubernetes Event about the custom resource.
	Event = kind.Event
)

// Clock tells the time. The decisions get it as an argument.
type Clock func() time.Time
