package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
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

// TestLostLeaseEndsPasses: a pass that is in flight when another replica has the lease is ended, and does not use up its time; also where the operator was asked to
// end before that, and waits for its passes.
func TestLostLeaseEndsPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		asked bool
	}{{"it goes on", false}, {"it ends", true}} {
		t.Run(c.name, func(t *testing.T) {
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
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			over := make(chan error, 1)
			go func() { over <- op.Start(ctx) }()
			w.application("pi", withDriver)
			<-h.begun
			if c.asked {
				stop()
			}
			w.takeLease("lock")
			if cause := <-h.ended; !errors.Is(cause, shard.ErrOver) {
				t.Errorf("the pass was ended by %v", cause)
			}
			if err := <-over; err == nil && !c.asked {
				t.Error("the operator ended as if it had been asked to")
			}
		})
	}
}

// takeLease gives a lease to another.
func (w *world) takeLease(name string) {
	w.t.Helper()
	testkit.Wait(w.t, "the lease to be taken away", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, lease); err != nil {
			return err
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("another"), new(int32(3600))
		return w.api.Update(ctx, lease)
	})
}

// someLock is a lock whose writes end as the test says.
type someLock struct {
	resourcelock.Interface
	fails error
}

func (*someLock) Identity() string { return "me" }

func (s *someLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return s.fails }

func (s *someLock) Update(context.Context, resourcelock.LeaderElectionRecord) error { return s.fails }

// TestLock: until when the lease is this replica's, by what became of its writes.
func TestLock(t *testing.T) {
	t.Parallel()
	const term, retry = 10 * time.Second, 2 * time.Second
	mine, nobody := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{}
	for _, c := range []struct {
		name  string
		write func(*lock, *someLock) error // after one that went well, and retry after that
		want  time.Duration                // for which it is this replica's from then on
	}{
		{"renewed", func(l *lock, _ *someLock) error { return l.Update(t.Context(), mine) }, term},
		{"made anew", func(l *lock, _ *someLock) error { return l.Create(t.Context(), mine) }, term},
		{"not renewed", func(l *lock, s *someLock) error { s.fails = errDead; return l.Update(t.Context(), mine) }, term - retry},
		{"released", func(l *lock, _ *someLock) error { return l.Update(t.Context(), nobody) }, 0},
		{"released, as far as the others know", func(l *lock, s *someLock) error { s.fails = errDead; return l.Update(t.Context(), nobody) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &someLock{}
				l := &lock{Interface: inner, term: term}
				if !l.lost(t.Context()) {
					t.Error("it is this replica's before it ever was")
				}
				if err := l.Create(t.Context(), mine); err != nil {
					t.Fatal(err)
				}
				time.Sleep(retry)
				began := time.Now()
				if err := c.write(l, inner); !errors.Is(err, inner.fails) {
					t.Errorf("the write ended with %v, want %v", err, inner.fails)
				}
				if c.want > 0 {
					ctx, cancel := context.WithTimeout(t.Context(), c.want-1)
					defer cancel()
					if l.lost(ctx) {
						t.Errorf("lost after %s", time.Since(began))
					}
				}
				if lost := l.lost(t.Context()); !lost || time.Since(began) != c.want {
					t.Errorf("lost %t after %s, want after %s", lost, time.Since(began), c.want)
				}
			})
		})
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
