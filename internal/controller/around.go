package controller

import (
	"context"
	"maps"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// around remembers what came of the last try to bring what stands beside each driver to what is wanted.
type around struct {
	tries memory.ByKey[types.NamespacedName, aroundState]
	// edits are what stands beside drivers as it was written, looked at or first seen, by nameOf.
	edits memory.ByKey[types.NamespacedName, map[string]edition]
	// sweeps are the digests of what was wanted of clusters (digestOf) when Secrets that they had before were deleted.
	sweeps memory.ByKey[types.NamespacedName, string]
}

// swept reports whether nothing was left of a cluster's Secrets but those of what is wanted.
func (a *around) swept(key types.NamespacedName, wanted string) bool {
	was, known := a.sweeps.Get(key)
	return known && was == wanted
}

// sweep notes that it is so.
func (a *around) sweep(key types.NamespacedName, wanted string) { a.sweeps.Set(key, wanted) }

// edition is what an object was like when the operator dealt with it last.
type edition struct {
	uid        types.UID
	generation int64
	version    string    // resourceVersion
	at         time.Time // when the operator wrote over what was there; zero for an object that it made or found
	looked     time.Time // when it was read and found right; zero where it was not
}

// olderThan reports whether an object may have been changed since. Of one that is not known nobody knows.
func (e edition) olderThan(object client.Object) bool {
	if e.uid != object.GetUID() {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(e.version, object.GetResourceVersion())
	return err != nil || order < 0
}

// wrote notes what was written.
func (a *around) wrote(key types.NamespacedName, object client.Object, at time.Time) {
	a.remember(key, object, func(e *edition) { e.at = at })
}

// looked notes that an object was read, and is as it should be.
func (a *around) looked(key types.NamespacedName, object client.Object, now time.Time) {
	a.remember(key, object, func(e *edition) { e.looked = now })
}

// doubtSecrets forgets that Secrets stand, but for some by nameOf: the others are about to be deleted, and one that is wanted again has to be made again.
func (a *around) doubtSecrets(key types.NamespacedName, but []string) {
	a.edits.Update(key, func(all map[string]edition, _ bool) (map[string]edition, bool) {
		all = maps.Clone(all) // others read what was there
		maps.DeleteFunc(all, func(name string, _ edition) bool {
			return strings.HasPrefix(name, "Secret/") && !slices.Contains(but, name)
		})
		return all, len(all) > 0
	})
}

func (a *around) remember(key types.NamespacedName, object client.Object, change func(*edition)) {
	a.edits.Update(key, func(all map[string]edition, _ bool) (map[string]edition, bool) {
		all = maps.Clone(all) // others read what was there
		if all == nil {
			all = map[string]edition{}
		}
		is := all[nameOf(object)]
		if is.uid != object.GetUID() {
			is = edition{uid: object.GetUID()}
		}
		is.generation, is.version = object.GetGeneration(), object.GetResourceVersion()
		change(&is)
		all[nameOf(object)] = is
		return all, true
	})
}

// seen is what is remembered of an object; the zero edition of one that nothing is known about.
func (a *around) seen(key types.NamespacedName, object client.Object) edition {
	all, _ := a.edits.Get(key)
	if was := all[nameOf(object)]; was.uid == object.GetUID() {
		return was
	}
	return edition{}
}

// written is what wrote noted of an object; of one that it knows nothing about, the object is taken to be as it was written.
func (a *around) written(key types.NamespacedName, object client.Object) (edition, bool) {
	was := a.seen(key, object)
	switch {
	case object.GetGeneration() == 0:
		return edition{}, false
	case was.uid == "":
		a.wrote(key, object, time.Time{})
		return edition{}, false
	}
	return was, true
}

type aroundState struct {
	uid      types.UID
	asked    string // digestOf
	failures int    // one after the other
	until    time.Time
	results  []lifecycle.Surrounding
	made     map[string]written // by nameOf
}

// written is what was written last to one object.
type written struct {
	content string
	at      time.Time
}

// holds reports whether the object was written so, and so lately that the cache need not show it yet.
func (w written) holds(content string, now time.Time) bool {
	return w.content == content && now.Sub(w.at) < ownTrust
}

func (a *around) last(key types.NamespacedName, uid types.UID) aroundState {
	if was, _ := a.tries.Get(key); was.uid == uid {
		return was
	}
	return aroundState{}
}

func (a *around) note(key types.NamespacedName, is aroundState) {
	// What stands and is known to the cache needs no memory.
	a.tries.Update(key, func(aroundState, bool) (aroundState, bool) { return is, is.failures > 0 || len(is.made) > 0 })
}

// went reports whether this operator has deleted an object and nothing else is left to do about what stands beside the driver: that it is gone tells nothing
// then. It is not remembered any longer.
func (a *around) went(key types.NamespacedName, object client.Object) (was bool) {
	a.tries.Update(key, func(is aroundState, known bool) (aroundState, bool) {
		if !known || is.failures > 0 || is.made[nameOf(object)].content != gone {
			return is, known
		}
		is.made, was = maps.Clone(is.made), true // others read what was there
		delete(is.made, nameOf(object))
		return is, len(is.made) > 0
	})
	return was
}

// nothing notes that nothing stands beside a driver and nothing is to.
func (a *around) nothing(key types.NamespacedName) {
	a.tries.Forget(key)
	a.edits.Forget(key)
}

// Forget drops all that is remembered of a key.
func (a *around) Forget(key types.NamespacedName) {
	a.nothing(key)
	a.sweeps.Forget(key)
}

// Unexpected leaves out that an object was deleted which stood beside a driver until a pass deleted it, that driver being over (clear). Its owner is at rest.
func (r *Reconciler) Unexpected(owner handler.MapFunc) predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		if !r.kind.Progress.Concludes { // and may wait for what it had to be gone
			return true
		}
		requests := owner(context.Background(), e.Object)
		return !slices.ContainsFunc(requests, func(of reconcile.Request) bool { return r.around.went(of.NamespacedName, e.Object) })
	}}
}
