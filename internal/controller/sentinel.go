package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/settings"
)

const (
	// sentinelLabel marks a custom resource of spark.apache.org by which the operator is probed. There is nothing to launch of it.
	sentinelLabel = "spark.operator/sentinel"
	// maxSentinels bounds how many are written to in one round: anybody may make some.
	maxSentinels = 32
)

func isSentinel(object metav1.Object) bool { return object.GetLabels()[sentinelLabel] == "true" }

// sentinels probe the operator as that of spark.apache.org does: a write to a custom resource that is there for nothing else must come back through the watch
// and the queue. What it is not about is the API server: a write that fails says nothing about the operator, and restarting that would mend nothing.
type sentinels struct {
	settings *settings.Live
	clock    Clock
	log      logr.Logger

	mu    sync.Mutex
	known map[sentinelKey]*sentinel
}

type sentinelKey struct {
	kind string
	types.NamespacedName
}

// sentinel is what is known of one, and how it is reached.
type sentinel struct {
	generation int64 // that a pass saw last
	wrote      int64 // the generation that the last write made; 0: none yet
	at         time.Time
	passes     uint64 // of its kind, when it was written to
	lost       string // why the last write counts as lost; empty where it does not

	write  func(ctx context.Context, number int64) (generation int64, err error)
	cached func(ctx context.Context) (generation int64, err error)
	ended  func() uint64 // how many passes of its kind have ended
}

func newSentinels(live *settings.Live, log logr.Logger) *sentinels {
	return &sentinels{settings: live, clock: time.Now, log: log.WithName("sentinels"), known: map[sentinelKey]*sentinel{}}
}

var _ manager.LeaderElectionRunnable = &sentinels{}

// NeedLeaderElection says yes: one that stands by makes no passes.
func (*sentinels) NeedLeaderElection() bool { return true }

// Start makes a round after each delay until ctx ends.
func (s *sentinels) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.settings.Now().Apache.Sentinels.Delay.Duration):
			s.round(ctx)
		}
	}
}

// round judges the last write to each sentinel and makes the next, where that is asked for.
func (s *sentinels) round(ctx context.Context) {
	if !s.settings.Now().Apache.Sentinels.Enabled {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, one := range s.known {
			one.wrote, one.lost = 0, ""
		}
		return
	}
	for _, key := range s.keys() {
		if ctx.Err() != nil {
			return
		}
		s.probe(ctx, key)
	}
}

// keys are those that are written to: always the same, as long as no other comes before them.
func (s *sentinels) keys() (keys []sentinelKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.known {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b sentinelKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys[:min(len(keys), maxSentinels)]
}

// probe judges one sentinel's last write and makes the next.
func (s *sentinels) probe(ctx context.Context, key sentinelKey) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	s.mu.Lock()
	one := s.known[key]
	s.mu.Unlock()
	if one == nil {
		return
	}
	s.judge(ctx, key, one)
	s.mu.Lock()
	number := one.generation + 1
	s.mu.Unlock()
	passes, at := one.ended(), s.clock()
	generation, err := one.write(ctx, number)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err):
		delete(s.known, key)
	case err != nil && ctx.Err() == nil:
		s.log.Info("a sentinel cannot be written to; that says nothing about the operator", "kind", key.kind, "sentinel", key.NamespacedName, "error", err.Error())
	case err == nil && one.wrote <= one.generation: // else the clock of the write that is still out goes on
		one.wrote, one.at, one.passes = generation, at, passes
	}
}

// judge says of a write that has not come back whether it is lost: where the cache does not have it, the watch is stuck; where no pass has ended since, the
// queue is. An operator with much to do is neither.
func (s *sentinels) judge(ctx context.Context, key sentinelKey, one *sentinel) {
	s.mu.Lock()
	out, delay := one.wrote > one.generation, s.settings.Now().Apache.Sentinels.Delay.Duration
	late := out && s.clock().Sub(one.at) >= delay
	wrote, passes := one.wrote, one.passes
	s.mu.Unlock()
	if !late {
		return
	}
	lost := ""
	switch generation, err := one.cached(ctx); {
	case apierrors.IsNotFound(err): // it went; the pass that forgets it is to come
	case err != nil:
		return
	case generation < wrote:
		lost = "the watch does not bring it"
	case one.ended() == passes:
		lost = "no pass has ended since"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.wrote == wrote && one.generation < wrote && lost != one.lost {
		one.lost = lost
		if lost != "" {
			s.log.Error(errors.New(lost), "a write to a sentinel has not come back; the operator is unhealthy", "kind", key.kind, "sentinel", key.NamespacedName, "after", delay.String())
		}
	}
}

// seen takes what a pass saw of a sentinel.
func (s *sentinels) seen(key sentinelKey, generation int64, reach func() *sentinel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.known[key]
	if one == nil {
		one = reach()
		s.known[key] = one
	}
	one.generation = generation
	if generation >= one.wrote {
		one.lost = ""
	}
}

// probes reports whether the sentinels of a namespace are written to: anybody who may create a custom resource may label it, and the operator's health
// must not depend on it.
func (s *sentinels) probes(namespace string) bool {
	cfg := s.settings.Now()
	own := cmp.Or(cfg.Apache.Sentinels.Namespace, cfg.Identity.Namespace)
	return own == "" || own == namespace
}

// forget drops one.
func (s *sentinels) forget(key sentinelKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}

// check is the health check.
func (s *sentinels) check(*http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.known {
		if one.lost != "" {
			return fmt.Errorf("%s %s: a write to this sentinel has not come back: %s", key.kind, key.NamespacedName, one.lost)
		}
	}
	return nil
}

// sentinel is all that is done about a sentinel: it is remembered, and another operator's finalizers are taken off it.
func (r *Reconciler) sentinel(ctx context.Context, stored client.Object) (reconcile.Result, error) {
	key := identity.Key(stored)
	r.metrics.Gone(r.kind.Name, key) // it may have been an application before
	if r.sentinels.probes(key.Namespace) {
		r.sentinels.seen(r.sentinelKey(key), stored.GetGeneration(), func() *sentinel { return r.reach(key) })
	}
	if released, err := r.release(ctx, stored); released || err != nil {
		return reconcile.Result{RequeueAfter: lookAgain}, err
	}
	return reconcile.Result{}, nil
}

// noSentinel forgets one that is gone, or is no sentinel any more.
func (r *Reconciler) noSentinel(key types.NamespacedName) {
	if r.kind.Served.Sentinels {
		r.sentinels.forget(r.sentinelKey(key))
	}
}

func (r *Reconciler) sentinelKey(key types.NamespacedName) sentinelKey {
	return sentinelKey{r.kind.Name, key}
}

// reach is how a sentinel is written to and read. What is written is what that operator writes; nobody reads it.
func (r *Reconciler) reach(key types.NamespacedName) *sentinel {
	return &sentinel{
		write: func(ctx context.Context, number int64) (int64, error) {
			generation, err := r.writeSentinel(ctx, r.client, key, number)
			if apierrors.IsConflict(err) { // the cache is late: that its watch is stuck is what this is there to find
				return r.writeSentinel(ctx, r.live, key, number)
			}
			return generation, err
		},
		cached: func(ctx context.Context) (int64, error) {
			is := r.kind.New()
			err := r.client.Get(ctx, key, is)
			return is.GetGeneration(), err
		},
		ended: r.passes.Load,
	}
}

// writeSentinel writes to a sentinel that is as it was read, and to nothing else: what has its name by now may be an application, whose spec is the user's.
func (r *Reconciler) writeSentinel(ctx context.Context, from client.Reader, key types.NamespacedName, number int64) (int64, error) {
	is := r.kind.New()
	if err := from.Get(ctx, key, is); err != nil {
		return 0, err
	}
	if !isSentinel(is) {
		return 0, errors.New("it is no sentinel any more")
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"spec":{"sparkConf":{"sentinel.dummy.number":"%d"}}}`, is.GetUID(), is.GetResourceVersion(), number)
	err := r.client.Patch(ctx, is, client.RawPatch(types.MergePatchType, patch))
	return is.GetGeneration(), err
}
