package shard

import (
	"context"
	"errors"
	"time"
)

// Lease is what a replica needs to know of a Lease of the API server.
type Lease struct {
	Name string
	// Holder is who has it; empty: nobody.
	Holder string
	// Duration for which others leave it alone after they saw it change.
	Duration time.Duration
	// Version changes with every write; empty: there is no such Lease.
	Version string
}

// ErrChanged is returned by Store.Put where another write was first.
var ErrChanged = errors.New("the lease was changed by another")

// Store is where the Leases are. Its reads are never older than the call.
type Store interface {
	// List returns the Leases of the set but for that of the leader election, all as they were at one moment.
	List(ctx context.Context) ([]Lease, error)
	// Get returns one; without a Version, and without an error, where there is none.
	Get(ctx context.Context, name string) (Lease, error)
	// Put creates the Lease where it has no Version, and else writes over that version. It returns what is stored then, or ErrChanged.
	Put(ctx context.Context, lease Lease) (Lease, error)
}
