package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Selector is a kind of which the operator acts only on some objects.
type Selector interface {
	// Selects reports whether the operator acts on an object at all. The operator does not change other objects,
	// including their status and finalizers.
	Selects(object client.Object) bool
}

// Yielder is a kind whose objects may have to wait while many runs are due.
type Yielder interface {
	// Yields reports whether an object is new and its launch may wait for a few seconds while many runs have to be
	// started.
	Yields(object client.Object) bool
}

// maxYield is the age up to which a custom resource may have its launch postponed (yields).
const maxYield = 15 * time.Second

// yields reports whether the launch of a custom resource is postponed because more runs are due than can start at once.
func (r *Reconciler) yields(stored client.Object) bool {
	yielder, yields := r.kind.(Yielder)
	return yields && yielder.Yields(stored) && r.clock().Sub(stored.GetCreationTimestamp().Time) < maxYield && r.rush != nil && r.rush()
}

// selects reports whether the operator acts on an object.
func (r *Reconciler) selects(object client.Object) bool {
	selector, some := r.kind.(Selector)
	return !some || selector.Selects(object)
}
