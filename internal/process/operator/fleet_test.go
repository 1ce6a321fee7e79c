package operator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// fleet is a set of replicas of the operator, one of which leads. It records the writes of all replicas.
type fleet struct {
	*world.World
	cfg config.Configuration

	mu      sync.Mutex
	account []entry
	drivers map[types.NamespacedName]int // driver pods that were created, by application
	next    int
}

// entry records one write by a replica, of a status or of an object of an application. It has the times at which the
// request began and the answer arrived.
type entry struct {
	replica      string
	what         string
	begun, ended time.Time
}

func newFleet(t *testing.T) *fleet {
	w := world.New(t)
	cfg := world.Config(w.Namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.LeaseName = new(true), w.Namespace, "lock"
	election.LeaseDuration.Duration, election.RenewDeadline.Duration, election.RetryPeriod.Duration = 3*time.Second, 2*time.Second, 250*time.Millisecond
	return &fleet{World: w, cfg: cfg, drivers: map[types.NamespacedName]int{}}
}

// replica is one replica of the operator. It runs in the test's process, but the test can kill and suspend it as if it
// were a separate process.
type replica struct {
	client.Client
	fleet *fleet
	name  string
	op    *operator.Operator
	stop  func()
	over  chan struct{} // closed when it has ended

	dead   atomic.Bool
	held   atomic.Int32 // writes that wait until it continues, or are about to be sent
	mu     sync.Mutex
	frozen chan struct{} // closed when it continues; nil while it runs
	sent   []entry       // all its writes except those of Events and leases
}

var errDead = errors.New("the process is dead")

// start starts another replica.
func (f *fleet) start() *replica {
	f.T.Helper()
	f.next++
	r := &replica{fleet: f, name: fmt.Sprintf("replica-%d", f.next)}
	env := f.Environment()
	env.Rest = rest.CopyConfig(env.Rest)
	env.Rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return world.RoundTrip(func(req *http.Request) (*http.Response, error) {
			if r.dead.Load() {
				return nil, errDead
			}

			r.recordSent(req)
			return next.RoundTrip(req)
		})
	})
	env.Wrap = func(c client.Client) client.Client { r.Client = c; return r }

	op, err := operator.NewOperator(f.T.Context(), f.cfg, env)
	if err != nil {
		f.T.Fatal(err)
	}

	op.Lock().Interface = suspendableLock{op.Lock().Interface, r}
	r.op = op
	ctx, cancel := context.WithCancel(context.Background())

	r.over = make(chan struct{})
	go func() { err = op.Start(ctx); close(r.over) }()

	r.stop = sync.OnceFunc(func() {
		cancel()

		if <-r.over; err != nil && !r.dead.Load() {
			f.T.Errorf("%s ended with %v", r.name, err)
		}
	})
	f.T.Cleanup(r.stop)
	return r
}

// kill ends the replica as the loss of its machine would: the replica does not release its lease.
func (r *replica) kill() {
	r.dead.Store(true)
	r.stop()
}

// suspend suspends the replica, as SIGSTOP does, until the test calls the returned function. A write that the replica
// is about to send waits until then.
func (r *replica) suspend() (resume func()) {
	on := make(chan struct{})

	r.mu.Lock()
	r.frozen = on
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.frozen = nil
		r.mu.Unlock()
		close(on)
	}
}

// recordSent records a write that the replica is about to send. It does not record writes of leases and Events.
func (r *replica) recordSent(req *http.Request) {
	if req.Method == http.MethodGet || strings.Contains(req.URL.Path, "/leases") || strings.Contains(req.URL.Path, "/events") {
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	r.sent = append(r.sent, entry{replica: r.name, what: req.Method + " " + req.URL.Path, begun: time.Now()})
}

// since returns the writes that the replica sent after the given time.
func (r *replica) since(when time.Time) []entry {
	r.mu.Lock()
	defer r.mu.Unlock()

	i := slices.IndexFunc(r.sent, func(w entry) bool { return w.begun.After(when) })
	if i < 0 {
		return nil
	}
	return slices.Clone(r.sent[i:])
}

func (r *replica) waits() {
	r.mu.Lock()
	frozen := r.frozen
	r.mu.Unlock()

	if frozen != nil {
		<-frozen
	}
}

// write calls the function send, which sends a write about an application. It records the write, unless the replica was
// prevented from sending it.
func (r *replica) write(ctx context.Context, what string, object client.Object, send func() error) error {
	if _, isEvent := object.(*corev1.Event); isEvent {
		return send()
	}

	key := identity.Key(object)
	for _, ref := range object.GetOwnerReferences() {
		key.Name = ref.Name
	}

	r.held.Add(1)
	r.waits()
	r.held.Add(-1)

	late := ctx.Err() != nil // the client sends nothing then
	begun := time.Now()
	err := send()
	ended := time.Now()

	if late || errors.Is(err, errDead) || errors.Is(err, fence.ErrOver) {
		return err
	}

	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()

	r.fleet.account = append(r.fleet.account, entry{r.name, what + " of " + key.Name, begun, ended})
	if pod, isPod := object.(*corev1.Pod); isPod && what == "create" && err == nil && pod.Labels[identity.RoleLabel] == identity.RoleDriver {
		r.fleet.drivers[key]++
	}
	return err
}

func (r *replica) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return r.write(ctx, "create", object, func() error { return r.Client.Create(ctx, object, options...) })
}

func (r *replica) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return r.write(ctx, "delete", object, func() error { return r.Client.Delete(ctx, object, options...) })
}

func (r *replica) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	r.waits()
	return r.Client.Apply(ctx, object, options...)
}

func (r *replica) Status() client.SubResourceWriter { return &replicaStatus{r.Client.Status(), r} }

type replicaStatus struct {
	client.SubResourceWriter
	replica *replica
}

func (s *replicaStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return s.replica.write(ctx, "status", object, func() error { return s.SubResourceWriter.Patch(ctx, object, patch, options...) })
}

// waitWrite waits until a replica has written something other than leases and Events.
func (f *fleet) waitWrite(r *replica) {
	f.T.Helper()
	kit.Wait(f.T, r.name+" to write something", func(context.Context) error {
		if len(r.since(time.Time{})) == 0 {
			return errors.New("it has written nothing")
		}
		return nil
	})
}

// audit fails the test if two replicas had writes in flight at the same time. It returns the number of writes of each
// replica, by the replica's name.
func (f *fleet) audit() (wrote map[string]int) {
	f.T.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()

	slices.SortFunc(f.account, func(a, b entry) int { return a.begun.Compare(b.begun) })

	last := map[string]entry{}

	wrote = map[string]int{}
	for _, w := range f.account {
		wrote[w.replica]++
		for other, before := range last {
			if other != w.replica && before.ended.After(w.begun) {
				f.T.Errorf("%s by %s began at %s, while %s by %s was on its way until %s", w.what, w.replica,
					w.begun.Format("15:04:05.000"), before.what, other, before.ended.Format("15:04:05.000"))
			}
		}

		if before, known := last[w.replica]; !known || w.ended.After(before.ended) {
			last[w.replica] = w
		}
	}
	return wrote
}

// kubelets plays the kubelet until ctx ends: every driver runs for a while and succeeds.
func (f *fleet) kubelets(ctx context.Context) {
	seen := map[types.UID]time.Time{}
	for ctx.Err() == nil {
		var pods corev1.PodList
		if err := f.API.List(ctx, &pods, client.InNamespace(f.Namespace), client.MatchingLabels{identity.RoleLabel: identity.RoleDriver}); err != nil {
			continue // the end of the test
		}

		for i := range pods.Items {
			pod := &pods.Items[i]

			before := pod.DeepCopy()
			switch pod.Status.Phase {
			case corev1.PodPending:
				seen[pod.UID] = time.Now()
				pod.Status.Phase = corev1.PodRunning
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: world.Running()}}
			case corev1.PodRunning:
				if time.Since(seen[pod.UID]) < time.Second {
					continue
				}

				pod.Status.Phase = corev1.PodSucceeded
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: scene.Exited(0, "")}}
			default:
				continue
			}

			if err := f.API.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil && ctx.Err() == nil {
				f.T.Errorf("play the kubelet of %s: %v", pod.Name, err)
			}
		}

		time.Sleep(20 * time.Millisecond)
	}
}

// TestReplicasTakeTurns replaces the leader three times while applications run: the first leader is killed, the second
// is suspended for longer than its lease lasts, and the third is stopped cleanly. Each application must be launched
// once and end, and no two replicas may write at the same time.
func TestReplicasTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	const applications = 24
	seed := rand.Uint64()
	t.Logf("seed %d", seed) // of the times of the failures only
	random, gaps := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
	leader := f.start()
	<-leader.op.Elected()

	ctx, cancel := context.WithCancel(context.Background())
	var kubelets sync.WaitGroup
	kubelets.Go(func() { f.kubelets(ctx) })
	defer kubelets.Wait()
	defer cancel()

	changes := []func(leader, next *replica){
		func(leader, _ *replica) { leader.kill() },
		func(leader, next *replica) {
			resume := leader.suspend()

			<-next.op.Elected()
			resume()
			<-leader.over
			leader.dead.Store(true) // it has lost its lease, and ends
		},
		func(leader, _ *replica) { leader.stop() },
	}
	for round, change := range changes {
		next := f.start()
		var created sync.WaitGroup
		created.Go(func() {
			for i := range applications / len(changes) {
				f.Application(fmt.Sprintf("app-%d", round*applications/len(changes)+i), scene.WithDriver)
				time.Sleep(time.Duration(gaps.IntN(200)) * time.Millisecond)
			}
		})
		f.waitWrite(leader)
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
		change(leader, next)
		<-next.op.Elected()
		created.Wait()

		leader = next
	}

	for i := range applications {
		app := f.WaitState(fmt.Sprintf("app-%d", i), v1beta2.ApplicationStateCompleted)
		if app.Status.Operator.Attempt != 1 {
			t.Errorf("%s took %d attempts", app.Name, app.Status.Operator.Attempt)
		}
	}

	wrote := f.audit()
	t.Logf("writes by replica: %v", wrote)

	if len(wrote) <= len(changes) {
		t.Errorf("only these replicas wrote: %v", wrote)
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	for i := range applications {
		key := types.NamespacedName{Namespace: f.Namespace, Name: fmt.Sprintf("app-%d", i)}
		// A driver is not counted if the replica that created it was killed before it had the answer.
		if n := f.drivers[key]; n > 1 {
			t.Errorf("%s: %d drivers were created", key, n)
		}
	}
}
