// Package access keeps namespaces independent of each other in the operator's caches. If the operator may not list or
// watch a kind in one namespace, for example because the namespace or the operator's RoleBinding there is gone, the
// caches of all other namespaces are still filled.
//
// A cache of controller-runtime is not synced before the first lists of all its namespaces have succeeded. Nothing that
// waits for the cache would begin before that: no controller in any namespace, and not the readiness of the operator.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewInformer is the type of cache.Options.NewInformer.
type NewInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// place is one kind in one namespace. An empty namespace stands for all namespaces.
type place struct {
	namespace string
	kind      schema.GroupKind
}

// Watches records in which namespaces the operator cannot list and watch which kinds. It is shared by all caches whose
// informers come from NewInformer.
type Watches struct {
	// Retry is the time after which a refused list or watch is repeated, and Probe the time between two checks of the
	// rights in a namespace whose watches are open. An open watch alone does not show that the rights are gone.
	Retry, Probe time.Duration

	scheme *runtime.Scheme
	log    logr.Logger
	gauge  *prometheus.GaugeVec

	mu       sync.Mutex
	all      []*watched
	wakes    []func(namespace string)
	regained map[string]bool // namespaces in which a kind can be watched again since the last report
	refused  atomic.Pointer[map[place]error]
}

// New returns Watches without informers. Start sets the gauge to the number of refused kinds of each namespace.
func New(scheme *runtime.Scheme, log logr.Logger, gauge *prometheus.GaugeVec) *Watches {
	a := &Watches{Retry: 10 * time.Second, Probe: 20 * time.Second, scheme: scheme, log: log, gauge: gauge, regained: map[string]bool{}}
	a.refused.Store(&map[place]error{})
	return a
}

// NewInformer returns a function that creates informers as the function next does. If the first list of such an
// informer fails, the informer is synced although it is empty, and Refused returns the error until a list succeeds.
// Afterwards, such an informer keeps its objects if a list or watch is forbidden, and retries until it is allowed.
func (a *Watches) NewInformer(next NewInformer) NewInformer {
	return func(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		w := &watched{Watches: a, from: toolscache.ToListerWatcherWithContext(from)}
		if gvk, err := apiutil.GVKForObject(object, a.scheme); err == nil { // an unknown kind is refused nowhere
			w.place.kind = gvk.GroupKind()
		}

		w.informer = next(&toolscache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}, object, resync, indexers)

		a.mu.Lock()
		defer a.mu.Unlock()

		a.all = append(a.all, w)
		return w.informer
	}
}

// Refused returns why the operator cannot watch one of the given kinds in a namespace, or nil if it can watch all.
func (a *Watches) Refused(namespace string, kinds ...schema.GroupKind) error {
	refused := *a.refused.Load()
	if len(refused) == 0 {
		return nil
	}

	for _, kind := range kinds {
		for _, at := range []place{{namespace, kind}, {metav1.NamespaceAll, kind}} {
			if err := refused[at]; err != nil {
				return fmt.Errorf("watch %s in namespace %s: %w", kind.Kind, cmp.Or(namespace, "*"), err)
			}
		}
	}
	return nil
}

// RefusedInAll returns an error if each of the given namespaces lacks one of the given kinds.
func (a *Watches) RefusedInAll(namespaces []string, kinds ...schema.GroupKind) error {
	var all []error
	for _, namespace := range namespaces {
		err := a.Refused(namespace, kinds...)
		if err == nil {
			return nil
		}

		all = append(all, err)
	}
	return errors.Join(all...)
}

// OnChange registers a function that Start calls with each namespace in which a kind can be watched again.
func (a *Watches) OnChange(wake func(namespace string)) {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.wakes = append(a.wakes, wake)
}

// NeedLeaderElection returns false, because the caches of standby replicas are filled too.
func (*Watches) NeedLeaderElection() bool { return false }

// Start reports changes, and checks the rights in each namespace, until ctx ends.
func (a *Watches) Start(ctx context.Context) error {
	var probes sync.WaitGroup
	defer probes.Wait()

	probes.Go(func() {
		for sleep(ctx, a.Probe) {
			a.probe(ctx)
		}
	})

	reported, before, again := map[place]error{}, map[place]error{}, map[string]bool{}
	for sleep(ctx, min(time.Second, a.Retry)) {
		a.mu.Lock()
		a.all = slices.DeleteFunc(a.all, func(w *watched) bool { return w.informer.IsStopped() })
		a.update()
		now, regained, wakes := *a.refused.Load(), a.regained, slices.Clone(a.wakes)
		a.regained = map[string]bool{}
		a.mu.Unlock()
		maps.Copy(again, regained)

		// The caches of a namespace fail one after the other. One report about all of them waits for the last.
		if maps.EqualFunc(now, before, func(error, error) bool { return true }) {
			a.publish(reported, now, again)
			reported, again = now, map[string]bool{}
		}

		for namespace := range regained {
			for _, wake := range wakes {
				wake(namespace)
			}
		}

		before = now
	}
	return nil
}

// publish logs and reports the namespaces in which the refused kinds have changed.
func (a *Watches) publish(before, now map[place]error, regained map[string]bool) {
	lost := minus(now, before)
	changed := maps.Clone(lost)
	maps.Copy(changed, regained)

	for namespace := range changed {
		var kinds []string
		for at := range now {
			if at.namespace == namespace {
				kinds = append(kinds, at.kind.String())
			}
		}

		slices.Sort(kinds)

		log := a.log.WithValues("namespace", cmp.Or(namespace, "*"))
		if len(kinds) == 0 {
			a.gauge.DeleteLabelValues(cmp.Or(namespace, "*"))
			log.Info("Can watch all kinds in a namespace again")
		} else {
			a.gauge.WithLabelValues(cmp.Or(namespace, "*")).Set(float64(len(kinds)))
		}

		if lost[namespace] {
			log.Info("Cannot watch some kinds in a namespace; what needs them waits there, and all other namespaces are served. "+
				"If the namespace exists, restore the operator's Role and RoleBinding in it (helm upgrade); otherwise remove it from the list of namespaces",
				"kinds", strings.Join(kinds, ","), "why", now[place{namespace, schema.ParseGroupKind(kinds[0])}].Error())
		}
	}
}

// minus returns the namespaces of the places that only the first map contains.
func minus(all, without map[place]error) map[string]bool {
	namespaces := map[string]bool{}
	for at := range all {
		if without[at] == nil {
			namespaces[at.namespace] = true
		}
	}
	return namespaces
}

// probe lists pods in each namespace whose pods are watched. If that is forbidden, the rights are gone although the
// watches are still open, and nothing more can be done in the namespace.
func (a *Watches) probe(ctx context.Context) {
	a.mu.Lock()
	probed := slices.DeleteFunc(slices.Clone(a.all), func(w *watched) bool {
		return w.place.namespace == metav1.NamespaceAll || w.place.kind != pods
	})
	a.mu.Unlock()

	for _, w := range probed {
		if err := w.tryList(ctx); err == nil || apierrors.IsForbidden(err) {
			w.record(err, true)
		}
	}
}

var pods = schema.GroupKind{Kind: "Pod"}

// pathKey is the key of a context with the informer whose request it belongs to.
type pathKey struct{}

// Transport returns a transport that gives the informers of NewInformer their namespaces: it reads them from the paths
// of the informers' requests. Nothing else that an informer is created from contains the namespace.
func Transport(next http.RoundTripper) http.RoundTripper { return located{next} }

type located struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l located) RoundTrip(request *http.Request) (*http.Response, error) {
	if w, ok := request.Context().Value(pathKey{}).(*watched); ok {
		_, rest, _ := strings.Cut(request.URL.Path, "/namespaces/")
		namespace, _, _ := strings.Cut(rest, "/")

		w.mu.Lock()
		w.place.namespace, w.located = namespace, true
		w.mu.Unlock()
	}
	return l.RoundTripper.RoundTrip(request)
}

// WrappedRoundTripper returns the wrapped transport, so that client-go can unwrap this one.
func (l located) WrappedRoundTripper() http.RoundTripper { return l.RoundTripper }

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, after time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(after):
		return true
	}
}
