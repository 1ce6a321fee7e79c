package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxYield is the age up to which a custom resource may have its launch postponed (yields).
const maxYield = 15 * time.Second

// yields reports whether the launch of a custom resource is postponed because more runs are due than can start at once.
func (r *Reconciler) yields(stored client.Object) bool {
	return r.kind.Served.Yields != nil && r.kind.Served.Yields(stored) && r.clock().Sub(stored.GetCreationTimestamp().Time) < maxYield && r.rush != nil && r.rush()
}
