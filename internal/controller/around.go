package controller

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// around remembers what came of the last try to bring what stands beside each driver to what is wanted.
type around struct {
	tries memory[types.NamespacedName, aroundState]
	// edits are the generations of Ingresses and routes as they were written, or first seen, by nameOf.
	edits memory[types.NamespacedName, map[string]generation]
}

// generation is one that the operator wrote, and when it did so over what was there; zero for an object that it made or found.
type generation struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// wrote notes the generation of what was written.
func (a *around) wrote(key types.NamespacedName, object client.Object, at time.Time) {
	if object.GetGeneration() == 0 {
		return
	}
	a.edits.update(key, func(all map[string]generation, _ bool) (map[string]generation, bool) {
		all = maps.Clone(all) // others read what was there
		if all == nil {
			all = map[string]generation{}
		}
		all[nameOf(object)] = generation{object.GetUID(), object.GetGeneration(), at}
		return all, true
	})
}

// written is what wrote noted of an object; of one that it knows nothing about, the object is taken to be as it was written.
func (a *around) written(key types.NamespacedName, object client.Object) (generation, bool) {
	all, _ := a.edits.get(key)
	was := all[nameOf(object)]
	if was.uid != object.GetUID() {
		a.wrote(key, object, time.Time{})
		return generation{}, false
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
	if was, _ := a.tries.get(key); was.uid == uid {
		return was
	}
	return aroundState{}
}

func (a *around) note(key types.NamespacedName, is aroundState) {
	// What stands and is known to the cache needs no memory.
	a.tries.update(key, func(aroundState, bool) (aroundState, bool) { return is, is.failures > 0 || len(is.made) > 0 })
}

func (a *around) forget(key types.NamespacedName) {
	a.tries.forget(key)
	a.edits.forget(key)
}
