// Package watchdog notices work of the process that does not come to an end.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/sparkoperator/spark-operator/internal/transport"
)

const (
	// Tick is how often the watchdog counts how long work has lasted.
	Tick = time.Second
	// DecodeSlow is how long an object, or a list of them, may be decoded before the operator reports that this hangs. A decode waits for nobody.
	DecodeSlow = time.Minute
	// PassSlow is how much longer than its limit a pass may take before that. Its requests end with the limit.
	PassSlow = 30 * time.Second
	// hogAge is for how many ticks a job has been at work, and the process has used most of a core, if the job is taken
	// for what uses it. Most passes and all decodes are over long before.
	hogAge = 2
	// Limit is how long work may last before the operator asks to be restarted.
	Limit = 3 * time.Minute
)

// Watchdog knows the passes that are at work and the objects that are being decoded, and reports what
// lasts for so long that it has to be a fault of the operator's own: endless arithmetic, which no context ends, or a
// deadlock.
//
// Time is counted in ticks of its own. A machine that was suspended, or that gives the process no CPU, misses ticks,
// and nothing gets older meanwhile.
type Watchdog struct {
	ticks atomic.Int64

	mu     sync.Mutex
	jobs   map[*job]struct{}
	logger logr.Logger
	cpu    func() time.Duration
	spread func(hogs int)
	hogs   int
	// Of the last tick: when it was, the CPU that was used by then, and for how many ticks that has been most of a core.
	at   time.Time
	used time.Duration
	busy int
}

// New returns a watchdog that tells a logger. The functions may be missing: cpu is how much CPU the process has used, and spread is called with how many jobs take
// a core each, when that has changed.
func New(logger logr.Logger, cpu func() time.Duration, spread func(hogs int)) *Watchdog {
	return &Watchdog{logger: logger, cpu: cpu, spread: spread}
}

// job is work that must come to an end.
type job struct {
	of    *Watchdog
	what  string // "pass" or "decode"
	kind  string
	key   types.NamespacedName // of a pass
	slow  int64                // ticks after which it hangs
	begun atomic.Int64         // tick in which it began, from 1; 0 = it rests
	told  bool                 // under the lock of hangs
}

// newJob adds a job that rests. Whoever adds it calls drop.
func (h *Watchdog) newJob(what, kind string, key types.NamespacedName, slow time.Duration) *job {
	j := &job{of: h, what: what, kind: kind, key: key, slow: int64(slow / Tick)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs == nil {
		h.jobs = map[*job]struct{}{}
	}
	h.jobs[j] = struct{}{}
	return j
}

// Begin notes that the job is at work.
func (j *job) Begin() { j.begun.Store(j.of.ticks.Load() + 1) }

// End notes that it rests.
func (j *job) End() { j.begun.Store(0) }

// Drop forgets the job.
func (j *job) Drop() {
	j.of.mu.Lock()
	defer j.of.mu.Unlock()
	delete(j.of.jobs, j)
	if j.told && j.begun.Load() != 0 {
		j.of.logger.Info("Work that hung has ended", "work", j.what, "kind", j.kind, "object", j.key)
	}
}

// age is for how many ticks the job has been at work.
func (j *job) age(now int64) int64 {
	begun := j.begun.Load()
	if begun == 0 {
		return 0
	}
	return now + 1 - begun
}

// Pass watches a pass until the function that it returns is called. A nil watchdog watches nothing.
func (h *Watchdog) Pass(kind string, key types.NamespacedName, limit time.Duration) (end func()) {
	if h == nil {
		return func() {}
	}
	j := h.newJob("pass", kind, key, limit+PassSlow)
	j.Begin()
	return j.Drop
}

// Start counts until the context ends.
func (h *Watchdog) Start(ctx context.Context) error {
	every := time.NewTicker(Tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			h.Count()
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a replica that stands by decodes objects as well.
func (h *Watchdog) NeedLeaderElection() bool { return false }

// Count counts one tick and reports what hangs since.
func (h *Watchdog) Count() {
	now := h.ticks.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.measure()
	hogs := 0
	for j := range h.jobs {
		age := j.age(now)
		if age >= j.slow || age >= hogAge && h.busy >= hogAge {
			hogs++
		}
		if age == 0 {
			j.told = false
		}
		if age < j.slow || j.told {
			continue
		}
		j.told = true
		h.logger.Error(errHangs, "Work hangs: the operator reports that it is not ready now, and asks to be restarted if this lasts",
			"work", j.what, "kind", j.kind, "object", j.key, "seconds", age*int64(Tick/time.Second))
	}
	if h.spread != nil && hogs != h.hogs {
		h.spread(hogs)
	}
	h.hogs = hogs
}

// measure finds out whether the process has used most of a core since the last tick.
func (h *Watchdog) measure() {
	if h.cpu == nil {
		return
	}
	at, used := time.Now(), h.cpu()
	if used-h.used >= at.Sub(h.at)/5*4 {
		h.busy++
	} else {
		h.busy = 0
	}
	h.at, h.used = at, used
}

var errHangs = errors.New("work of the operator's own does not come to an end")

// Ready fails while something hangs.
func (h *Watchdog) Ready(*http.Request) error {
	return h.check(func(j *job, age int64) bool { return age >= j.slow })
}

// Alive fails once something has hung for so long that only a restart ends it.
func (h *Watchdog) Alive(*http.Request) error {
	return h.check(func(_ *job, age int64) bool { return age >= int64(Limit/Tick) })
}

func (h *Watchdog) check(bad func(j *job, age int64) bool) error {
	now := h.ticks.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	for j := range h.jobs {
		if age := j.age(now); age > 0 && bad(j, age) {
			return fmt.Errorf("%w: a %s of %s %s for %d s", errHangs, j.what, j.kind, j.key, age*int64(Tick/time.Second))
		}
	}
	return nil
}

// Decode returns a job for each body that the caches read.
func (h *Watchdog) Decode(path string) transport.Work { return h.decode(path) }

func (h *Watchdog) decode(what string) *job {
	return h.newJob("decode", what, types.NamespacedName{}, DecodeSlow)
}

// NewInformer is cache.Options.NewInformer. A list is decoded after its body was closed, so that the transport sees
// when that begins, and the list call when it ends.
func (h *Watchdog) NewInformer(
	from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	both := toolscache.ToListerWatcherWithContext(from)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			j := h.decode(fmt.Sprintf("list of %T", of))
			defer j.Drop()
			return both.ListWithContext(transport.WithWork(ctx, j), options)
		},
		WatchFuncWithContext: both.WatchWithContext,
	}, of, resync, indexers)
}
