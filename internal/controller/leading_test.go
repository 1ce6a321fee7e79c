package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/shard"
	"github.com/sparkoperator/spark-operator/internal/testkit"
)

// hanging is an API server that does not answer creations of pods.
type hanging struct {
	client.Client
	begun chan struct{}
	ended chan error // why the creation was given up
	once  sync.Once
}

func (h *hanging) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if _, isPod := object.(*corev1.Pod); !isPod {
		return h.Client.Create(ctx, object, options...)
	}
	h.once.Do(func() { close(h.begun) })
	<-ctx.Done()
	select {
	case h.ended <- context.Cause(ctx):
	default:
	}
	return ctx.Err()
}

// TestLostLeaseEndsPasses: a pass that is in flight when another replica has the lease is ended, and does not use up its time.
func TestLostLeaseEndsPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := testConfig(w.namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.LeaseName = new(true), w.namespace, "lock"
	election.LeaseDuration.Duration, election.RenewDeadline.Duration, election.RetryPeriod.Duration = 6*time.Second, 4*time.Second, 500*time.Millisecond
	cfg.Controller.ShutdownTimeout.Duration = 10 * time.Minute // so that nothing else ends a pass while this test lasts but its own limit of a minute

	h := &hanging{begun: make(chan struct{}), ended: make(chan error, 1)}
	env := w.environment()
	env.wrap = func(c client.Client) client.Client { h.Client = c; return h }
	op, err := NewOperator(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- op.Start(t.Context()) }()
	w.application("pi", withDriver)
	<-h.begun

	testkit.Wait(t, "the lease to be taken away", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "lock"}, lease); err != nil {
			return err
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("another"), new(int32(3600))
		return w.api.Update(ctx, lease)
	})
	if cause := <-h.ended; !errors.Is(cause, shard.ErrOver) {
		t.Errorf("the pass was ended by %v", cause)
	}
	if err := <-over; err == nil {
		t.Error("the operator ended as if it had been asked to")
	}
}

// TestShutdownEndsNoPass: one that was asked for lets passes finish.
func TestShutdownEndsNoPass(t *testing.T) {
	for _, test := range []struct {
		name  string
		asked func() bool
		ends  bool
	}{
		{"asked for", func() bool { return true }, false},
		{"the lease is lost", func() bool { return false }, true},
		{"a reconciler without an operator", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			looked := make(chan struct{})
			r := &Reconciler[*corev1.Pod]{limit: time.Hour}
			if test.asked != nil {
				r.asked = func() bool { defer close(looked); return test.asked() }
			} else {
				close(looked)
			}
			reconciling, stop := context.WithCancel(t.Context())
			ctx, cancel := r.whileLeading(reconciling)
			defer cancel()
			stop()
			<-looked
			if test.ends {
				<-ctx.Done() // else the test never ends
			} else if ctx.Err() != nil {
				t.Error("the pass was ended")
			}
		})
	}
}
