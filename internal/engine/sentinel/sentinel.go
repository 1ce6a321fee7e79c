// Package sentinel makes the operator probe itself, as the operator of spark.apache.org does. A sentinel is a custom
// resource that exists only for this purpose. The operator writes to each sentinel periodically. If the watch and the
// queue work, each write causes a pass; otherwise the health check fails.
//
// A write that fails does not make the operator unhealthy. The fault is then outside the operator, and a restart would
// not help.
package sentinel

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
	"sigs.k8s.io/controller-runtime/pkg/manager"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

const (
	// Label marks a custom resource of spark.apache.org as a sentinel. The operator launches no Spark for a sentinel.
	Label = "spark.operator/sentinel"
	// maxWritten bounds the number of sentinels that ProbeAll writes to, because users may create any number.
	maxWritten = 32
	// probeTimeout bounds the requests for one probe of one sentinel.
	probeTimeout = time.Minute
)

// isSentinel reports whether an object is a sentinel.
func isSentinel(object metav1.Object) bool { return object.GetLabels()[Label] == "true" }

// Exempt reports whether the webhook admits an object without a review, because it is a sentinel of the operator's own:
// probes are on, the kind has sentinels, and the object is in their namespace. A label alone exempts nothing, because
// any user may set it and remove it later.
func Exempt(settings Settings, group string, object metav1.Object) bool {
	return isSentinel(object) && group == sparkv1.GroupVersion.Group && settings.Enabled && slices.Contains(settings.Namespaces, object.GetNamespace())
}

// Settings configure the probes. They can change while the operator runs.
type Settings struct {
	// Enabled makes the operator write to its sentinels.
	Enabled bool
	// Delay is the time between two probes of a sentinel, and how long a write may take to reach a pass.
	Delay time.Duration
	// Namespaces are the namespaces of the sentinels that the operator writes to. If there are none, it writes to those
	// of all namespaces.
	Namespaces []string
}

// Set holds the sentinels of all kinds.
type Set struct {
	settings func() Settings // as they are now
	clock    func() time.Time
	log      logr.Logger

	mu    sync.Mutex
	known map[key]*sentinel
}

type key struct {
	kind string
	types.NamespacedName
}

// sentinel is the state of one sentinel. An object that replaces a deleted one has a state of its own, because its
// generation starts at 1 again and an answer about the deleted object does not concern it.
type sentinel struct {
	uid        types.UID
	generation int64 // the generation that the last pass read
	wrote      int64 // the generation of the last write; 0 means none yet
	at         time.Time
	passes     uint64 // passes of its kind at the time of the write
	lost       string // why the last write counts as lost; empty if it does not

	probePath
}

// probePath has the functions that write to a sentinel, and that show whether the write has reached the cache and
// whether a pass has followed it.
type probePath struct {
	write  func(ctx context.Context, number int64) (generation int64, err error)
	cached func(ctx context.Context) (generation int64, err error)
	ended  func() uint64 // how many passes of its kind have ended
}

// New returns an empty set. The set calls the function settings before each use, because the settings can change while
// the operator runs.
func New(settings func() Settings, log logr.Logger) *Set {
	return &Set{settings: settings, clock: time.Now, log: log.WithName("sentinels"), known: map[key]*sentinel{}}
}

var _ manager.LeaderElectionRunnable = &Set{}

// NeedLeaderElection returns true, because a standby replica makes no passes.
func (*Set) NeedLeaderElection() bool { return true }

// Start probes all sentinels after each delay, until ctx ends.
func (s *Set) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.settings().Delay):
			s.ProbeAll(ctx)
		}
	}
}

// ProbeAll checks for each sentinel whether the last write to it is lost (evaluate), and writes to it again. It does
// nothing if the settings switch the probes off.
func (s *Set) ProbeAll(ctx context.Context) {
	if !s.settings().Enabled {
		s.mu.Lock()
		defer s.mu.Unlock()

		for _, entry := range s.known {
			entry.wrote, entry.lost = 0, ""
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

// Known returns how many sentinels the operator writes to.
func (s *Set) Known() int { return len(s.keys()) }

// keys returns the sentinels that the operator writes to: the first maxWritten in the order of kind, namespace and
// name.
func (s *Set) keys() (keys []key) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for key := range s.known {
		keys = append(keys, key)
	}

	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys[:min(len(keys), maxWritten)]
}

// probe checks whether the last write to one sentinel is lost (evaluate), and writes to it again.
func (s *Set) probe(ctx context.Context, key key) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()

	s.mu.Lock()
	entry := s.known[key]
	s.mu.Unlock()

	if entry == nil {
		return
	}

	s.evaluate(ctx, key, entry)
	s.mu.Lock()
	number := entry.generation + 1
	s.mu.Unlock()
	passes, at := entry.ended(), s.clock()
	generation, err := entry.write(ctx, number)

	s.mu.Lock()
	defer s.mu.Unlock()

	switch {
	case apierrors.IsNotFound(err):
		if s.known[key] == entry { // otherwise a pass has read an object that replaces the deleted one
			delete(s.known, key)
		}
	case err != nil && ctx.Err() == nil:
		s.log.Info("Could not write to a sentinel; this does not affect the operator's health",
			"kind", key.kind, "sentinel", key.NamespacedName, "error", err.Error())
	case err == nil && entry.wrote <= entry.generation: // otherwise the outstanding write keeps its start time
		entry.wrote, entry.at, entry.passes = generation, at, passes
	}
}

// evaluate decides whether an outstanding write is lost. If the cache does not have the write, the watch is stuck. If
// the cache has the write but no pass has ended since the write, the queue is stuck. An operator that is only busy has
// neither problem.
func (s *Set) evaluate(ctx context.Context, key key, entry *sentinel) {
	s.mu.Lock()
	out, delay := entry.wrote > entry.generation, s.settings().Delay
	late := out && s.clock().Sub(entry.at) >= delay
	wrote, passes := entry.wrote, entry.passes
	s.mu.Unlock()

	if !late {
		return
	}

	lost := ""
	switch generation, err := entry.cached(ctx); {
	case apierrors.IsNotFound(err): // deleted; a later pass forgets it
	case err != nil:
		return
	case generation < wrote:
		lost = "the watch did not deliver the write"
	case entry.ended() == passes:
		lost = "no pass has ended since the write"
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if entry.wrote == wrote && entry.generation < wrote && lost != entry.lost {
		entry.lost = lost
		if lost != "" {
			s.log.Error(errors.New(lost), "A write to a sentinel was not handled in time; the operator is unhealthy",
				"kind", key.kind, "sentinel", key.NamespacedName, "after", delay.String())
		}
	}
}

// observe records the UID and the generation that a pass read.
func (s *Set) observe(key key, uid types.UID, generation int64, how probePath) {
	s.mu.Lock()
	defer s.mu.Unlock()

	entry := s.known[key]
	if entry == nil || entry.uid != uid {
		entry = &sentinel{uid: uid, probePath: how}
		s.known[key] = entry
	}

	entry.generation = generation
	if generation >= entry.wrote {
		entry.lost = ""
	}
}

// probes reports whether the operator writes to sentinels in a namespace. Any user who may create a custom resource may
// label it as a sentinel, and the operator's health must not depend on such a user.
func (s *Set) probes(namespace string) bool {
	own := s.settings().Namespaces
	return len(own) == 0 || slices.Contains(own, namespace)
}

// forget drops a sentinel.
func (s *Set) forget(key key) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.known, key)
}

// Check is a health check. It fails while a write to a sentinel counts as lost.
func (s *Set) Check(*http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	for key, entry := range s.known {
		if entry.lost != "" {
			return fmt.Errorf("%s %s: a write to this sentinel was not handled in time: %s", key.kind, key.NamespacedName, entry.lost)
		}
	}
	return nil
}
