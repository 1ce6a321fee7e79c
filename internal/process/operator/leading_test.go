package operator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// hangingClient is a client that waits for an answer to the creation of a pod until the context ends.
type hangingClient struct {
	client.Client
	begun chan struct{}
	ended chan error // why the client gave up the creation
	once  sync.Once
}

func (h *hangingClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
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

// TestLostLeaseEndsPasses checks that a pass in flight ends as soon as another replica gets the lease, long before the
// time limit of the pass. It does so both in a running operator and in one that is shutting down and waits for the
// pass.
func TestLostLeaseEndsPasses(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name  string
		asked bool
	}{{"the operator is running", false}, {"the operator is shutting down", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			cfg := world.Config(w.Namespace)
			election := &cfg.LeaderElection
			election.Enabled, election.Namespace, election.LeaseName = new(true), w.Namespace, "lock"
			election.LeaseDuration.Duration, election.RenewDeadline.Duration, election.RetryPeriod.Duration = 6*time.Second, 4*time.Second, 500*time.Millisecond
			// The shutdown timeout must not end the pass. Without a lost lease, the pass ends at its time limit of a
			// minute.
			cfg.Controller.ShutdownTimeout.Duration = 10 * time.Minute

			h := &hangingClient{begun: make(chan struct{}), ended: make(chan error, 1)}
			env := w.Environment()
			env.Wrap = func(c client.Client) client.Client { h.Client = c; return h }

			op, err := operator.NewOperator(t.Context(), cfg, env)
			if err != nil {
				t.Fatal(err)
			}

			ctx, stop := context.WithCancel(t.Context())
			defer stop()

			over := make(chan error, 1)
			go func() { over <- op.Start(ctx) }()

			w.Application("pi", scene.WithDriver)
			<-h.begun

			if c.asked {
				stop()
			}

			takeLease(w, "lock")

			if cause := <-h.ended; !errors.Is(cause, fence.ErrOver) {
				t.Errorf("the pass was ended by %v", cause)
			}

			if err := <-over; err == nil && !c.asked {
				t.Error("the operator ended without an error, as after a requested shutdown")
			}
		})
	}
}

// takeLease gives a lease to another replica.
func takeLease(w *world.World, name string) {
	w.T.Helper()
	kit.Wait(w.T, "another replica to hold the lease", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, lease); err != nil {
			return err
		}

		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("another"), new(int32(3600))
		return w.API.Update(ctx, lease)
	})
}

// someLock is a fake lock of a leader election. The test sets who holds the lease, and the error of every request.
type someLock struct {
	resourcelock.Interface
	fails  error
	holder string
}

func (*someLock) Identity() string { return "me" }

func (s *someLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: s.holder}, nil, s.fails
}

func (s *someLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return s.fails }

func (s *someLock) Update(context.Context, resourcelock.LeaderElectionRecord) error { return s.fails }

// TestLock checks how long this replica's term lasts after each result of a request for the lease.
func TestLock(t *testing.T) {
	t.Parallel()
	const term, retry = 10 * time.Second, 2 * time.Second
	mine, nobody := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{}
	read := func(l *operator.Lock) error { _, _, err := l.Get(t.Context()); return err }
	for _, c := range []struct {
		name string
		asks func(*operator.Lock, *someLock) error // the second request, sent retry after a first one that succeeded
		want time.Duration                         // remaining time of this replica's term after the second request
	}{
		{"renewed", func(l *operator.Lock, _ *someLock) error { return l.Update(t.Context(), mine) }, term},
		{"created again", func(l *operator.Lock, _ *someLock) error { return l.Create(t.Context(), mine) }, term},
		{"renewal fails", func(l *operator.Lock, s *someLock) error { s.fails = errDead; return l.Update(t.Context(), mine) }, term - retry},
		{"released", func(l *operator.Lock, _ *someLock) error { return l.Update(t.Context(), nobody) }, 0},
		{"release fails, but may have reached the API server", func(l *operator.Lock, s *someLock) error { s.fails = errDead; return l.Update(t.Context(), nobody) }, 0},
		{"read: this replica holds the lease", func(l *operator.Lock, s *someLock) error { s.holder = "me"; return read(l) }, term - retry},
		{"read: another replica holds the lease", func(l *operator.Lock, s *someLock) error { s.holder = "another"; return read(l) }, 0},
		{"read: nobody holds the lease", func(l *operator.Lock, _ *someLock) error { return read(l) }, 0},
		{"read fails", func(l *operator.Lock, s *someLock) error { s.fails = errDead; return read(l) }, term - retry},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &someLock{}
				l := &operator.Lock{fence.Lock{Interface: inner, Term: term}}
				if _, _, given := l.Lead.Begin(t.Context()); given {
					t.Error("a pass may begin before this replica holds the lease")
				}

				if err := l.Create(t.Context(), mine); err != nil {
					t.Fatal(err)
				}

				pass, done, given := l.Lead.Begin(t.Context())
				if !given {
					t.Fatal("no pass may begin although this replica has just created the lease")
				}
				defer done()

				time.Sleep(retry)

				began := time.Now()

				if err := c.asks(l, inner); !errors.Is(err, inner.fails) {
					t.Errorf("the request ended with %v, want %v", err, inner.fails)
				}

				if c.want > 0 {
					time.Sleep(c.want - 1)
					synctest.Wait()

					_, done, given := l.Lead.Begin(t.Context())
					done()

					if !given || pass.Err() != nil {
						t.Errorf("lost after %s", time.Since(began))
					}
				}

				<-pass.Done()

				if lost := errors.Is(context.Cause(pass), fence.ErrOver); !lost || time.Since(began) != c.want {
					t.Errorf("lost %t after %s, want after %s", lost, time.Since(began), c.want)
				}

				if _, _, given := l.Lead.Begin(t.Context()); given {
					t.Error("a pass may begin after the lease is lost")
				}

				// A renewal after the end of the term begins a new term: new passes may begin, but the pass of the old
				// term stays ended.
				inner.fails = nil

				if err := l.Update(t.Context(), mine); err != nil {
					t.Fatal(err)
				}

				_, done, given = l.Lead.Begin(t.Context())
				done()

				if !given || pass.Err() == nil {
					t.Errorf("renewed after the lease was lost: a new pass may begin: %t, the old pass has ended: %t", given, pass.Err() != nil)
				}

				l.Lead.End() // stops the timer, for which synctest would wait
			})
		})
	}
}

// suspendableLock is the lock of a replica that the test can suspend. A suspended process usually stops between two
// renewals of the lease. The elector calls Describe there, so Describe blocks until the test resumes the replica. The
// elector then has the whole time limit for the next renewal.
type suspendableLock struct {
	resourcelock.Interface
	replica *replica
}

func (s suspendableLock) Describe() string {
	s.replica.waits()
	return s.Interface.Describe()
}

// TestSuspendedLeaderWritesNothing checks a leader that is suspended for longer than its lease lasts. When it
// continues, its own election has not reported the loss of the lease yet. It nevertheless writes nothing after the next
// leader has begun to write.
func TestSuspendedLeaderWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	first := f.start()
	<-first.op.Elected()

	second := f.start()
	ctx, cancel := context.WithCancel(context.Background())
	var kubelets sync.WaitGroup
	kubelets.Go(func() { f.kubelets(ctx) })
	defer kubelets.Wait()
	defer cancel()

	const applications = 12
	for i := range applications / 2 {
		f.Application(fmt.Sprintf("app-%d", i), scene.WithDriver)
	}

	f.WaitState("app-0", v1beta2.ApplicationStateRunning)

	resume := first.suspend()

	for i := range applications / 2 {
		// Their passes wait before their first write.
		f.Application(fmt.Sprintf("app-%d", applications/2+i), scene.WithDriver)
	}

	f.waitWrite(second)
	resume()
	<-first.over
	first.dead.Store(true) // it has lost its lease, and ends

	for i := range applications {
		if app := f.WaitState(fmt.Sprintf("app-%d", i), v1beta2.ApplicationStateCompleted); app.Status.Operator.Attempt != 1 {
			t.Errorf("%s took %d attempts", app.Name, app.Status.Operator.Attempt)
		}
	}

	begun := second.since(time.Time{})[0]
	for _, late := range first.since(begun.begun) {
		t.Errorf("the first replica sent %s %s after %s by the second replica", late.what, late.begun.Sub(begun.begun), begun.what)
	}
}

// TestLateRenewalLetsWorkGoOn checks a leader whose lease expires before the leader renews it. The leader postpones all
// passes, because another replica could have the lease. After the renewal it must make these passes by itself: without
// a driver there are no events that would queue the applications.
func TestLateRenewalLetsWorkGoOn(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	only := f.start()
	f.Application("before", scene.WithDriver)
	f.WaitState("before", v1beta2.ApplicationStateSubmitted) // its workers have started

	resume := only.suspend()

	f.Application("early", scene.WithDriver)
	kit.Wait(t, "a write of the pass to be blocked", func(context.Context) error {
		if only.held.Load() == 0 {
			return errors.New("no write is blocked")
		}
		return nil
	})

	lasts := func() bool {
		_, done, given := only.op.Lock().Lead.Begin(t.Context())
		done()
		return given
	}
	kit.Wait(t, "the end of the lease", func(context.Context) error {
		if lasts() {
			return errors.New("the lease has not ended")
		}
		return nil
	})
	f.Application("late", scene.WithDriver) // no pass over it has started
	resume()
	f.WaitState("early", v1beta2.ApplicationStateSubmitted)
	f.WaitState("late", v1beta2.ApplicationStateSubmitted)
}
