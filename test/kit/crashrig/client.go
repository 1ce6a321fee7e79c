package crashrig

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errCrashed is the error that every write of a crashed operator returns.
var errCrashed = errors.New("the operator has crashed")

// Crashing is a client that simulates a crash of its operator at the n-th write, either before or after the API server
// carries out this write. It sends no writes after the crash.
type Crashing struct {
	client.Client
	At     int
	After  bool
	Killed chan struct{}

	Mu   sync.Mutex
	Seen int
}

func (c *Crashing) write(do func() error) error { return c.Write(do, func() {}) }

// Write carries out a write, or simulates the crash. If the operator crashes before the write is complete, Write calls
// the function part instead, which may carry out a part of the write.
func (c *Crashing) Write(do func() error, part func()) error {
	c.Mu.Lock()
	c.Seen++
	n := c.Seen
	c.Mu.Unlock()

	if n < c.At {
		return do()
	}

	if n == c.At {
		defer close(c.Killed)

		if c.After {
			_ = do()
		} else {
			part()
		}
	}
	return errCrashed
}

// Create implements client.Client.
func (c *Crashing) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if _, isEvent := object.(*corev1.Event); isEvent {
		return c.Client.Create(ctx, object, options...)
	}
	return c.write(func() error { return c.Client.Create(ctx, object, options...) })
}

// Update implements client.Client.
func (c *Crashing) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return c.write(func() error { return c.Client.Update(ctx, object, options...) })
}

// Delete implements client.Client.
func (c *Crashing) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.write(func() error { return c.Client.Delete(ctx, object, options...) })
}

// DeleteAllOf implements client.Client.
func (c *Crashing) DeleteAllOf(ctx context.Context, object client.Object, options ...client.DeleteAllOfOption) error {
	return c.write(func() error { return c.Client.DeleteAllOf(ctx, object, options...) })
}

// Patch implements client.Client.
func (c *Crashing) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.write(func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

// Apply implements client.Client.
func (c *Crashing) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	return c.write(func() error { return c.Client.Apply(ctx, object, options...) })
}

// Status implements client.Client.
func (c *Crashing) Status() client.SubResourceWriter { return &crashingStatus{c.Client.Status(), c} }

type crashingStatus struct {
	client.SubResourceWriter
	Crashing *Crashing
}

func (c *crashingStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return c.Crashing.write(func() error { return c.SubResourceWriter.Patch(ctx, object, patch, options...) })
}
