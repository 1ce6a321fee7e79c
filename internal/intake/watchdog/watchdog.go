// Package watchdog detects passes and decodes that hang, and makes the operator's health checks fail because of them.
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
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/sparkoperator/spark-operator/internal/intake/transport"
)

const (
	// Tick is the interval at which the watchdog measures the age of work.
	Tick = time.Second
	// DecodeSlow is how long the decoding of an object or a list may take before it counts as hanging. Decoding never
	// waits for anything.
	DecodeSlow = time.Minute
	// PassSlow is how much longer than its limit a pass may take before it counts as hanging. The requests of a pass
	// end at its limit.
	PassSlow = 30 * time.Second
	// Limit is how long work may last before the operator fails its liveness check to be restarted.
	Limit = 3 * time.Minute
)

// Watchdog tracks active passes and decodes. It reports passes and decodes as hanging if they last so long that the
// operator must have a bug, such as a deadlock or a computation that does not stop when its context ends.
//
// The watchdog measures time in its own ticks. A machine that is suspended, or that gives the process no CPU, misses
// ticks, so work does not age in that time.
type Watchdog struct {
	ticks atomic.Int64

	mu     sync.Mutex
	jobs   map[*job]struct{}
	logger logr.Logger
}

// New returns a watchdog that logs to logger.
func New(logger logr.Logger) *Watchdog { return &Watchdog{logger: logger} }

// job is one pass, or the decoding of one object or list.
type job struct {
	owner    *Watchdog
	what     string // "pass" or "decode"
	kind     string
	key      types.NamespacedName // the custom resource, for a pass
	slow     int64                // ticks after which the job counts as hanging
	begun    atomic.Int64         // tick in which the job began, from 1; 0 means idle
	reported bool                 // the job was reported as hanging; guarded by the watchdog's mutex
}

// newJob adds an idle job and returns it. The caller must call Drop.
func (h *Watchdog) newJob(what, kind string, key types.NamespacedName, slow time.Duration) *job {
	j := &job{owner: h, what: what, kind: kind, key: key, slow: int64(slow / Tick)}
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.jobs == nil {
		h.jobs = map[*job]struct{}{}
	}

	h.jobs[j] = struct{}{}
	return j
}

// Begin marks the job as active.
func (j *job) Begin() { j.begun.Store(j.owner.ticks.Load() + 1) }

// End marks the job as idle.
func (j *job) End() { j.begun.Store(0) }

// Drop removes the job from the watchdog.
func (j *job) Drop() {
	j.owner.mu.Lock()
	defer j.owner.mu.Unlock()

	delete(j.owner.jobs, j)

	if j.reported && j.begun.Load() != 0 {
		j.owner.logger.Info("Hanging work has ended", "work", j.what, "kind", j.kind, "object", j.key)
	}
}

// age returns the number of ticks for which the job has been active.
func (j *job) age(now int64) int64 {
	begun := j.begun.Load()
	if begun == 0 {
		return 0
	}
	return now + 1 - begun
}

// Pass tracks a pass until the returned function is called.
func (h *Watchdog) Pass(kind string, key types.NamespacedName, limit time.Duration) (end func()) {
	j := h.newJob("pass", kind, key, limit+PassSlow)
	j.Begin()
	return j.Drop
}

// Start counts ticks until the context ends.
func (h *Watchdog) Start(ctx context.Context) error {
	_ = wait.PollUntilContextCancel(ctx, Tick, false, func(context.Context) (bool, error) {
		h.Count()
		return false, nil
	})
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. It returns false, because a standby replica also
// decodes objects.
func (h *Watchdog) NeedLeaderElection() bool { return false }

// Count advances the watchdog's time by one tick. It logs each job that is then old enough to be hanging.
func (h *Watchdog) Count() {
	now := h.ticks.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()

	for j := range h.jobs {
		age := j.age(now)
		if age == 0 {
			j.reported = false
		}

		if age < j.slow || j.reported {
			continue
		}

		j.reported = true
		h.logger.Error(errHangs, "Work hangs; the operator is not ready, and its liveness probe fails if this lasts",
			"work", j.what, "kind", j.kind, "object", j.key, "seconds", age*int64(Tick/time.Second))
	}
}

var errHangs = errors.New("work in the operator does not end")

// Ready is a readiness check. It fails while a job hangs.
func (h *Watchdog) Ready(*http.Request) error {
	return h.findJob(func(j *job, age int64) bool { return age >= j.slow })
}

// Alive is a liveness check. It fails if a job has been active for the time Limit or longer, because only a restart
// ends such a job.
func (h *Watchdog) Alive(*http.Request) error {
	return h.findJob(func(_ *job, age int64) bool { return age >= int64(Limit/Tick) })
}

func (h *Watchdog) findJob(bad func(j *job, age int64) bool) error {
	now := h.ticks.Load()
	h.mu.Lock()
	defer h.mu.Unlock()

	for j := range h.jobs {
		if age := j.age(now); age > 0 && bad(j, age) {
			return fmt.Errorf("%w: a %s of %s %s has run for %d s", errHangs, j.what, j.kind, j.key, age*int64(Tick/time.Second))
		}
	}
	return nil
}

// Decode returns a job for the decoding of a body that the caches read.
func (h *Watchdog) Decode(what string) transport.Work {
	return h.newJob("decode", what, types.NamespacedName{}, DecodeSlow)
}

// NewInformer returns an informer whose lists the watchdog tracks. It has the signature of cache.Options.NewInformer.
// The tracked time of a list is that of its decoding: it begins when the body of the response is closed
// (transport.WithWork) and ends when the list call returns.
func (h *Watchdog) NewInformer(
	from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	both := toolscache.ToListerWatcherWithContext(from)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			j := h.Decode(fmt.Sprintf("list of %T", object))
			defer j.Drop()
			return both.ListWithContext(transport.WithWork(ctx, j), options)
		},
		WatchFuncWithContext: both.WatchWithContext,
	}, object, resync, indexers)
}
