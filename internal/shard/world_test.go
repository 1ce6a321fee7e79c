package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
)

// world is a model of an API server, and of replicas that share objects by Leases in it. It runs in a bubble of testing/synctest: hours pass in no time.
//
// What it is held to: from the moment at which a replica begins its first pass over an object of a shard, no write of another one to an object of that
// shard is carried out, however long that was on its way, whoever was killed, stopped or cut off meanwhile.
type world struct {
	t       *testing.T
	options Options

	mu      sync.Mutex
	random  *rand.Rand
	leases  map[string]Lease
	version int
	writer  map[int]string // who began a pass over a shard last
	writes  map[string]int // that were carried out, by replica
	taken   map[int]time.Time
	log     []string
	// losses: one of so many requests is lost, and as many answers; 0: none is.
	losses int
}

func newWorld(t *testing.T, seed uint64, options Options) *world {
	w := &world{
		t: t, options: options, random: rand.New(rand.NewPCG(seed, 1)),
		leases: map[string]Lease{}, writer: map[int]string{}, writes: map[string]int{}, taken: map[int]time.Time{},
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d\n%s", seed, strings.Join(w.log[max(0, len(w.log)-200):], "\n"))
		}
	})
	return w
}

func usual() Options {
	return Options{Set: "lock", Shards: 12, LeaseDuration: 10 * time.Second, RenewDeadline: 6 * time.Second, RetryPeriod: time.Second}
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// chance is true once in n; never for 0.
func (w *world) chance(n int) bool {
	if n == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n) == 0
}

func (w *world) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int64N(int64(d) + 1))
}

// replica is one process.
type replica struct {
	*world
	name   string
	rate   float64 // of its clock: above 1 it runs fast
	member *Member
	stop   context.CancelFunc
	done   chan struct{}

	gate     sync.Mutex
	dead     bool
	stopped  chan struct{} // closed when it goes on; nil while it does
	isolated bool          // it reaches no API server
}

// start begins a replica whose clock is off by a rate: what it takes for a second is 1/rate of one.
func (w *world) start(name string, rate float64, change ...func(*Options)) *replica {
	options := w.options
	options.Name = name
	for _, c := range change {
		c(&options)
	}
	for _, d := range []*time.Duration{&options.LeaseDuration, &options.RenewDeadline, &options.RetryPeriod} {
		*d = time.Duration(float64(*d) / rate)
	}
	log := funcr.New(func(_, text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.note("%s: %s", name, text)
	}, funcr.Options{})
	r := &replica{world: w, name: name, rate: rate, done: make(chan struct{})}
	r.member = NewMember(options, r, logr.New(log.GetSink()))
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() {
		defer close(r.done)
		r.member.Run(ctx, 20*time.Second)
	}()
	return r
}

// kill ends a replica as a lost machine does: whatever it has on its way may be carried out still, and nothing else is.
func (r *replica) kill() {
	r.gate.Lock()
	r.dead = true
	r.gate.Unlock()
	r.stop()
	<-r.done
}

// pause stops a replica for a while, at whatever it is.
func (r *replica) pause(d time.Duration) {
	on := make(chan struct{})
	r.gate.Lock()
	r.stopped = on
	r.gate.Unlock()
	time.Sleep(d)
	r.gate.Lock()
	r.stopped = nil
	r.gate.Unlock()
	close(on)
}

func (r *replica) cut(off bool) {
	r.gate.Lock()
	defer r.gate.Unlock()
	r.isolated = off
}

// runs waits while the replica is stopped, and reports whether it lives.
func (r *replica) runs() bool {
	for {
		r.gate.Lock()
		stopped, dead := r.stopped, r.dead
		r.gate.Unlock()
		if stopped == nil || dead {
			return !dead
		}
		<-stopped
	}
}

var errUnreachable = errors.New("the API server cannot be reached")

// call plays the way of a request to the API server and of its answer back. Either may be lost.
func (r *replica) call(ctx context.Context, do func() error) error {
	r.gate.Lock()
	isolated := r.isolated
	r.gate.Unlock()
	if !r.runs() || ctx.Err() != nil {
		return context.Canceled
	}
	if isolated || r.chance(r.losses) {
		<-ctx.Done()
		return errUnreachable
	}
	time.Sleep(r.upTo(300 * time.Millisecond)) // once it is sent, nobody calls it back
	r.mu.Lock()
	err := do()
	r.mu.Unlock()
	time.Sleep(r.upTo(100 * time.Millisecond))
	if !r.runs() || ctx.Err() != nil || r.chance(r.losses) {
		return errUnreachable
	}
	return err
}

// seen is a Lease as a clock of another rate sees it: its duration is that of the one who wrote it, in seconds.
func (r *replica) seen(lease Lease) Lease {
	lease.Duration = time.Duration(float64(lease.Duration) / r.rate)
	return lease
}

func (r *replica) List(ctx context.Context) (list []Lease, err error) {
	err = r.call(ctx, func() error {
		for name, lease := range r.leases {
			if name != r.options.Set {
				list = append(list, r.seen(lease))
			}
		}
		return nil
	})
	return list, err
}

func (r *replica) Get(ctx context.Context, name string) (is Lease, err error) {
	err = r.call(ctx, func() error {
		is = r.seen(r.leases[name])
		is.Name = name
		return nil
	})
	return is, err
}

func (r *replica) Put(ctx context.Context, lease Lease) (stored Lease, err error) {
	err = r.call(ctx, func() error {
		if r.leases[lease.Name].Version != lease.Version {
			return fmt.Errorf("%s: %w", lease.Name, ErrChanged)
		}
		r.version++
		lease.Version = fmt.Sprint(r.version)
		lease.Duration = time.Duration(float64(lease.Duration) * r.rate).Round(time.Millisecond)
		r.leases[lease.Name] = lease
		r.note("%s writes %s = %q", r.name, lease.Name, lease.Holder)
		stored = r.seen(lease)
		return nil
	})
	return stored, err
}

// RoundTrip is the write of a pass: it is on its way for a while, and then carried out whatever has become of the one who sent it.
func (r *replica) RoundTrip(req *http.Request) (*http.Response, error) {
	if !r.runs() {
		return nil, errUnreachable
	}
	var shard int
	_, _ = fmt.Sscanf(req.URL.Path, "/%d", &shard)
	time.Sleep(r.upTo(500 * time.Millisecond))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes[r.name]++
	if last := r.writer[shard]; last != r.name {
		r.t.Errorf("shard %d: a write of %s is carried out at %s, after %s began to act", shard, r.name, time.Now().Format("15:04:05.000"), last)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// work makes passes over objects of all shards until a time, side by side, each of a few writes with stops in between.
func (r *replica) work(until time.Time) {
	transport := Gate(r)
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for n := worker; time.Now().Before(until) && r.runs(); n++ {
				key := types.NamespacedName{Namespace: "n", Name: fmt.Sprint(n)}
				r.pass(transport, key)
				time.Sleep(50*time.Millisecond + r.upTo(50*time.Millisecond))
			}
		})
	}
	workers.Wait()
}

func (r *replica) pass(transport http.RoundTripper, key types.NamespacedName) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if !r.runs() {
		return
	}
	ctx, _, done, given := r.member.Begin(ctx, key)
	if !given {
		return
	}
	defer done()
	shard := r.member.Shard(key)
	r.mu.Lock()
	if last := r.writer[shard]; last != r.name {
		r.note("%s begins with shard %d after %q", r.name, shard, last)
		r.writer[shard], r.taken[shard] = r.name, time.Now()
	}
	r.mu.Unlock()
	for range 3 {
		if r.chance(100) {
			time.Sleep(r.upTo(20 * time.Second)) // a pass that hangs
		}
		if !r.runs() {
			return
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://server/%d", shard), http.NoBody)
		if err != nil {
			r.t.Error(err)
			return
		}
		response, err := transport.RoundTrip(req)
		if err != nil {
			return
		}
		_ = response.Body.Close()
	}
}

// owners are how many shards each replica has.
func owners(replicas ...*replica) (owned []int) {
	for _, r := range replicas {
		owned = append(owned, r.member.Owned())
	}
	return owned
}

// settles waits until every shard is owned and the parts are even, and returns how long that took.
func (w *world) settles(replicas ...*replica) time.Duration {
	w.t.Helper()
	begun := time.Now()
	for {
		owned := owners(replicas...)
		sum := 0
		for _, n := range owned {
			sum += n
		}
		if sum == w.options.Shards && slices.Max(owned)-slices.Min(owned) <= 1 {
			return time.Since(begun)
		}
		if time.Since(begun) > 5*time.Minute {
			w.t.Fatalf("after 5 minutes the replicas own %v of %d shards", owned, w.options.Shards)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
