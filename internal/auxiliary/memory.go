package auxiliary

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Memory remembers what came of the last try to bring what stands beside each driver to what is wanted.
type Memory struct {
	tries memory.ByKey[types.NamespacedName, try]
	// edits are what stands beside drivers as it was written, looked at or first seen, by nameOf.
	edits memory.ByKey[types.NamespacedName, map[string]edition]
	// sweeps are the digests of what was wanted of clusters (DigestOf) when Secrets that they had before were deleted.
	sweeps memory.ByKey[types.NamespacedName, string]
}

// swept reports whether nothing was left of a cluster's Secrets but those of what is wanted.
func (m *Memory) swept(key types.NamespacedName, wanted string) bool {
	was, known := m.sweeps.Get(key)
	return known && was == wanted
}

// sweep notes that it is so.
func (m *Memory) sweep(key types.NamespacedName, wanted string) { m.sweeps.Set(key, wanted) }

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
func (m *Memory) wrote(key types.NamespacedName, object client.Object, at time.Time) {
	m.remember(key, object, func(e *edition) { e.at = at })
}

// looked notes that an object was read, and is as it should be.
func (m *Memory) looked(key types.NamespacedName, object client.Object, now time.Time) {
	m.remember(key, object, func(e *edition) { e.looked = now })
}

// doubtSecrets forgets that Secrets stand, but for some by nameOf: the others are about to be deleted, and one that is wanted again has to be made again.
func (m *Memory) doubtSecrets(key types.NamespacedName, but []string) {
	m.edits.Update(key, func(all map[string]edition, _ bool) (map[string]edition, bool) {
		all = maps.Clone(all) // others read what was there
		maps.DeleteFunc(all, func(name string, _ edition) bool {
			return strings.HasPrefix(name, "Secret/") && !slices.Contains(but, name)
		})
		return all, len(all) > 0
	})
}

func (m *Memory) remember(key types.NamespacedName, object client.Object, change func(*edition)) {
	m.edits.Update(key, func(all map[string]edition, _ bool) (map[string]edition, bool) {
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
func (m *Memory) seen(key types.NamespacedName, object client.Object) edition {
	all, _ := m.edits.Get(key)
	if was := all[nameOf(object)]; was.uid == object.GetUID() {
		return was
	}
	return edition{}
}

// written is what wrote noted of an object; of one that it knows nothing about, the object is taken to be as it was written.
func (m *Memory) written(key types.NamespacedName, object client.Object) (edition, bool) {
	was := m.seen(key, object)
	switch {
	case object.GetGeneration() == 0:
		return edition{}, false
	case was.uid == "":
		m.wrote(key, object, time.Time{})
		return edition{}, false
	}
	return was, true
}

type try struct {
	uid      types.UID
	asked    string // DigestOf
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
	return w.content == content && now.Sub(w.at) < OwnTrust
}

func (m *Memory) last(key types.NamespacedName, uid types.UID) try {
	if was, _ := m.tries.Get(key); was.uid == uid {
		return was
	}
	return try{}
}

func (m *Memory) note(key types.NamespacedName, is try) {
	// What stands and is known to the cache needs no memory.
	m.tries.Update(key, func(try, bool) (try, bool) { return is, is.failures > 0 || len(is.made) > 0 })
}

// Went reports whether this operator has deleted an object and nothing else is left to do about what stands beside the driver: that it is gone tells nothing
// then. It is not remembered any longer.
func (m *Memory) Went(key types.NamespacedName, object client.Object) (was bool) {
	m.tries.Update(key, func(is try, known bool) (try, bool) {
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
func (m *Memory) nothing(key types.NamespacedName) {
	m.tries.Forget(key)
	m.edits.Forget(key)
}

// Forget drops all that is remembered of a key.
func (m *Memory) Forget(key types.NamespacedName) {
	m.nothing(key)
	m.sweeps.Forget(key)
}
