package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxYield is how old a custom resource may be that still yields to a rush.
const maxYield = 15 * time.Second

// yields reports whether a custom resource's launch is put off since there is a rush.
func (r *Reconciler) yields(stored client.Object) bool {
	return r.kind.Served.Yields != nil && r.kind.Served.Yields(stored) && r.clock().Sub(stored.GetCreationTimestamp().Time) < maxYield && r.rush != nil && r.rush()
}
