package statuswrite_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	sparkconnect "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crashrig"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// A user, or a queue, may revert a change of the spec while the operator carries it out. The operator must then find
// either no change or all of it. A run that the operator stopped must never count as failed.

// takeback is a client for an operator that carries out a change of a spec in several writes. Just before or just after
// the n-th of these writes, it reverts the change. It counts the writes from the call of its method arm.
type takeback struct {
	client.Client
	at    int
	after bool

	mu   sync.Mutex
	back func() error // nil until it is armed, and after it acted
	seen int
}

// arm sets the function that reverts the change, and starts to count the operator's writes.
func (c *takeback) arm(back func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.back, c.seen = back, 0
}

// acted reports whether the client has reverted the change.
func (c *takeback) acted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.back == nil
}

// countWrite counts a write. If this is the write at which the change must be reverted, it returns the function that
// reverts the change. Otherwise it returns nil.
func (c *takeback) countWrite() func() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.back == nil {
		return nil
	}

	if c.seen++; c.seen != c.at {
		return nil
	}

	back := c.back
	c.back = nil
	return back
}

func (c *takeback) write(do func() error) error {
	back := c.countWrite()
	if back == nil {
		return do()
	}

	if !c.after {
		return errors.Join(back(), do())
	}
	return errors.Join(do(), back())
}

func (c *takeback) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if _, isEvent := object.(*corev1.Event); isEvent {
		return c.Client.Create(ctx, object, options...)
	}
	return c.write(func() error { return c.Client.Create(ctx, object, options...) })
}

func (c *takeback) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.write(func() error { return c.Client.Delete(ctx, object, options...) })
}

func (c *takeback) DeleteAllOf(ctx context.Context, object client.Object, options ...client.DeleteAllOfOption) error {
	return c.write(func() error { return c.Client.DeleteAllOf(ctx, object, options...) })
}

func (c *takeback) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	return c.write(func() error { return c.Client.Apply(ctx, object, options...) })
}

func (c *takeback) Status() client.SubResourceWriter { return &takebackStatus{c.Client.Status(), c} }

type takebackStatus struct {
	client.SubResourceWriter
	takeback *takeback
}

func (c *takebackStatus) Patch(ctx context.Context, object client.Object, patch client.Patch,
	options ...client.SubResourcePatchOption) error {
	var err error
	if back := c.takeback.countWrite(); back != nil && !c.takeback.after {
		err = back()
	} else if back != nil {
		defer func() { err = errors.Join(err, back()) }()
	}
	return errors.Join(err, c.SubResourceWriter.Patch(ctx, object, patch, options...))
}

// changes are pairs of patches of a spec, by name. The second patch of a pair reverts the first.
var changes = map[string][2]string{
	"suspend": {`{"spec":{"suspend":true}}`, `{"spec":{"suspend":false}}`},
	"edit":    {`{"spec":{"sparkConf":{"spark.a":"b"}}}`, `{"spec":{"sparkConf":null}}`},
}

// forTakebacks calls the function play for each pair in the variable `changes` and for many points at which the
// takeback reverts the change. The operator carries out a change in several writes; their number is the argument
// `requests`. There is one point before and one after each write. forTakebacks uses every third point, or all points
// with CRASH_POINTS=all.
func forTakebacks(t *testing.T, requests int, play func(*testing.T, *takeback, [2]string)) {
	t.Helper()
	kit.Rest(t) // skips the test if there is no control plane
	var mu sync.Mutex
	acted, stride := map[string]int{}, crashrig.CrashStride(3)
	t.Run("life", func(t *testing.T) {
		for name, change := range changes {
			for point := 0; point < 2*requests; point += stride {
				c := &takeback{at: point/2 + 1, after: point%2 == 1}
				t.Run(fmt.Sprintf("%s-at-%d-%t", name, c.at, c.after), func(t *testing.T) {
					t.Parallel()
					play(t, c, change)
					mu.Lock()
					defer mu.Unlock()

					if c.acted() {
						acted[name]++
					}
				})
			}
		}
	})

	for name := range changes {
		if !t.Failed() && acted[name] < requests/stride {
			t.Errorf("%s: in only %d of %d runs the change was reverted while the operator carried it out", name,
				acted[name], 2*requests/stride)
		}
	}
}

// TestSpecTakenBackBetweenRequests changes the spec of a running application, and reverts the change before or after
// one of the writes by which the operator carries it out. The test checks that no run fails and that no retry is used
// up.
func TestSpecTakenBackBetweenRequests(t *testing.T) {
	t.Parallel()
	forTakebacks(t, 3, func(t *testing.T, c *takeback, change [2]string) {
		w := world.New(t)
		w.RunReal(func(env *operator.Environment) {
			env.Wrap = func(inner client.Client) client.Client { c.Client = inner; return c }
		})
		defer resources.Kubelets(w)()

		w.Application("pi", scene.WithDriver, world.OnFailure(1))
		isRunning(w, "pi")
		c.arm(func() error { return patched(t.Context(), w, &v1beta2.SparkApplication{}, "pi", change[1]) })

		if err := patched(t.Context(), w, &v1beta2.SparkApplication{}, "pi", change[0]); err != nil {
			t.Fatal(err)
		}

		kit.Wait(t, "the change to be reverted or carried out", func(context.Context) error {
			if app := w.Get("pi"); !c.acted() &&
				(app.Spec.Suspend == nil || !*app.Spec.Suspend ||
					app.Status.AppState.State != v1beta2.ApplicationStateSuspended) &&
				app.Status.Operator.Attempt == 1 {
				return fmt.Errorf("the state is %s", app.Status.AppState.State)
			}
			return nil
		})

		if app := w.Get("pi"); app.Spec.Suspend != nil && *app.Spec.Suspend {
			w.PatchPi(change[1])
		}

		wellUsed(w, "pi")
	})
}

// TestServerSpecTakenBackBetweenRequests changes the spec of a Ready Connect server, and reverts the change before or
// after one of the writes by which the operator carries it out. The test checks that the server becomes Ready again and
// never fails.
func TestServerSpecTakenBackBetweenRequests(t *testing.T) {
	t.Parallel()
	forTakebacks(t, 3, func(t *testing.T, c *takeback, change [2]string) {
		w := world.New(t)
		resources.RunServers(w, world.Config(w.Namespace), time.Now, func(env *operator.Environment) {
			env.Wrap = func(inner client.Client) client.Client { c.Client = inner; return c }
		})
		defer resources.Kubelets(w)()

		resources.Server(w, "x")
		resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady)
		before := resources.GetServer(w, "x").Status.Operator.DeepCopy()
		c.arm(func() error { return patched(t.Context(), w, &v1alpha1.SparkConnect{}, "x", change[1]) })

		if err := patched(t.Context(), w, &v1alpha1.SparkConnect{}, "x", change[0]); err != nil {
			t.Fatal(err)
		}

		kit.Wait(t, "the change to be reverted or carried out", func(context.Context) error {
			sc := resources.GetServer(w, "x")

			suspended := sc.Spec.Suspend != nil && *sc.Spec.Suspend &&
				sc.Status.State == v1alpha1.SparkConnectStateNotReady
			if !c.acted() && !suspended && sc.Status.Operator.Attempt == before.Attempt {
				return fmt.Errorf("the state is %s", sc.Status.State)
			}
			return nil
		})
		resources.PatchServer(w, "x", change[1])
		resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady)

		if events := w.EventsOf(resources.GetServer(w, "x")); events[sparkconnect.EventServerFailed] != "" {
			t.Errorf("%s", events[sparkconnect.EventServerFailed])
		}
	})
}

// TestSpecTakenBackSoon sets spec.suspend, or edits the spec, and reverts the change after a random delay of up to 300
// ms. It does so 20 times for each change, or as often as the environment variable TAKE_BACK says. It checks that no
// run fails and that no retry is used up.
func TestSpecTakenBackSoon(t *testing.T) {
	t.Parallel()

	times := 20
	if n, err := strconv.Atoi(os.Getenv("TAKE_BACK")); err == nil {
		times = n
	}

	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := world.New(t), rand.New(rand.NewPCG(1, 2))
			w.RunReal()
			defer resources.Kubelets(w)()

			w.Application("pi", scene.WithDriver, world.OnFailure(1))

			for i := range times {
				isRunning(w, "pi")
				w.PatchPi(change[0])
				// The delay is what the test varies. Half of the delays are within the operator's own pass.
				time.Sleep(time.Duration(r.IntN([]int{300, 20}[i%2])) * time.Millisecond)
				w.PatchPi(change[1])
			}

			wellUsed(w, "pi")
			t.Logf("%d times, the last attempt is %d", times, w.Get("pi").Status.Operator.Attempt)
		})
	}
}

// patched patches the object with the given name in the test's namespace.
func patched(ctx context.Context, w *world.World, object client.Object, name, patch string) error {
	object.SetNamespace(w.Namespace)
	object.SetName(name)
	return w.API.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// isRunning waits until an application is RUNNING, and fails the test if the application fails.
func isRunning(w *world.World, name string) {
	w.T.Helper()
	kit.Wait(w.T, name+" to run", func(context.Context) error {
		state := w.Get(name).Status.AppState
		if state.State == v1beta2.ApplicationStateFailed || state.State == v1beta2.ApplicationStateFailing {
			w.T.Fatalf("%s is %s: %s", name, state.State, state.ErrorMessage)
		}
		return world.Want(state.State, v1beta2.ApplicationStateRunning)
	})
}

// wellUsed lets the driver of an application succeed. It checks that the application never failed and needed no retry.
func wellUsed(w *world.World, name string) {
	w.T.Helper()
	isRunning(w, name)
	driverSucceeds(w, name)

	status := w.Get(name).Status
	if runs := status.ExecutionAttempts - status.Operator.SuspendedRuns; runs != 1 {
		w.T.Errorf("%d runs, besides %d that were suspended", runs, status.Operator.SuspendedRuns)
	}

	events := w.EventsOf(w.Get(name))
	for _, reason := range []string{"SparkApplicationFailed", "SparkDriverFailed", "SparkApplicationPendingRerun"} {
		if events[reason] != "" {
			w.T.Errorf("event %s: %s", reason, events[reason])
		}
	}
}

// driverSucceeds lets the driver of an application succeed. If another driver replaces it first, that driver succeeds.
// It returns when the application has completed.
func driverSucceeds(w *world.World, name string) {
	w.T.Helper()
	kit.Wait(w.T, name+" to complete", func(ctx context.Context) error {
		state := w.Get(name).Status.AppState.State
		if state == v1beta2.ApplicationStateFailed {
			w.T.Fatalf("it has failed: %s", w.Get(name).Status.AppState.ErrorMessage)
		}

		driver := &corev1.Pod{}
		if err := w.API.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: world.DriverName(name)},
			driver); err == nil &&
			driver.Status.Phase == corev1.PodRunning && driver.DeletionTimestamp == nil &&
			state == v1beta2.ApplicationStateRunning {
			before := driver.DeepCopy()
			driver.Status.Phase = corev1.PodSucceeded
			driver.Status.ContainerStatuses[0].State = scene.Exited(0, "")
			_ = w.API.Status().Patch(ctx, driver, client.MergeFrom(before))
		}
		return world.Want(state, v1beta2.ApplicationStateCompleted)
	})
}
