package auxiliary

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Memory holds, for each owner, what the operator remembers about the auxiliary objects: the last try to ensure them,
// and their revisions.
type Memory struct {
	tries bykey.ByKey[types.NamespacedName, attempt]
	// edits holds the revisions of each owner's auxiliary objects when they were written, read or first found, by
	// nameOf.
	edits bykey.ByKey[types.NamespacedName, map[string]revision]
	// sweeps holds the digest of each cluster's wanted objects (DigestOf) when the cluster's earlier Secrets were
	// deleted.
	sweeps bykey.ByKey[types.NamespacedName, string]
}

// revision is the version that an object had when the operator last wrote or read it.
type revision struct {
	uid        types.UID
	generation int64
	version    string    // resourceVersion
	at         time.Time // when the operator overwrote an existing object; zero for an object that it created or found
	verifiedAt time.Time // when the object was read and found correct; zero if it was not
}

// olderThan reports whether an object may have been changed after this revision. It returns true for the zero revision.
func (e revision) olderThan(object client.Object) bool {
	if e.uid != object.GetUID() {
		return true
	}

	order, err := resourceversion.CompareResourceVersion(e.version, object.GetResourceVersion())
	return err != nil || order < 0
}

// noteWrite records that the operator wrote an object at the given time.
func (m *Memory) noteWrite(key types.NamespacedName, object client.Object, at time.Time) {
	m.remember(key, object, func(e *revision) { e.at = at })
}

// NoteEdit records the state of an object before another client edited it, unless a state of the object is known.
func (m *Memory) NoteEdit(key types.NamespacedName, before client.Object) {
	if m.seen(key, before).uid == "" {
		m.noteWrite(key, before, time.Time{})
	}
}

// postpone records that the edit of an object could not be reverted at the given time. The next try follows after
// EditInterval.
func (m *Memory) postpone(key types.NamespacedName, object client.Object, now time.Time) {
	last := m.seen(key, object)
	m.remember(key, object, func(e *revision) {
		e.generation, e.version, e.at, e.verifiedAt = last.generation, last.version, now, now.Add(EditInterval-LookInterval)
	})
}

// verified records that the operator read an object at the given time and found it correct.
func (m *Memory) verified(key types.NamespacedName, object client.Object, now time.Time) {
	m.remember(key, object, func(e *revision) { e.verifiedAt = now })
}

// forgetSecrets removes from the memory the Secrets that the operator is about to delete from the cluster. If such a
// Secret is wanted again later, the operator then creates it again. The given keys (nameOf) are those of the Secrets
// that stay in the memory.
func (m *Memory) forgetSecrets(key types.NamespacedName, kept []string) {
	m.edits.Update(key, func(all map[string]revision, _ bool) (map[string]revision, bool) {
		all = maps.Clone(all) // callers still read the old map
		maps.DeleteFunc(all, func(name string, _ revision) bool {
			return strings.HasPrefix(name, "Secret/") && !slices.Contains(kept, name)
		})
		return all, len(all) > 0
	})
}

func (m *Memory) remember(key types.NamespacedName, object client.Object, change func(*revision)) {
	m.edits.Update(key, func(all map[string]revision, _ bool) (map[string]revision, bool) {
		all = maps.Clone(all) // callers still read the old map
		if all == nil {
			all = map[string]revision{}
		}

		state := all[nameOf(object)]
		if state.uid != object.GetUID() {
			state = revision{uid: object.GetUID()}
		}

		state.generation, state.version = object.GetGeneration(), object.GetResourceVersion()
		change(&state)
		all[nameOf(object)] = state
		return all, true
	})
}

// seen returns the revision of an object in the memory, or the zero revision if the object is not in it.
func (m *Memory) seen(key types.NamespacedName, object client.Object) revision {
	all, _ := m.edits.Get(key)
	if known := all[nameOf(object)]; known.uid == object.GetUID() {
		return known
	}
	return revision{}
}

// lastWrite returns the remembered revision of an object. If the object is not in the memory, lastWrite stores the
// object's current revision in the memory and returns false. It also returns false for an object without a generation.
func (m *Memory) lastWrite(key types.NamespacedName, object client.Object) (revision, bool) {
	last := m.seen(key, object)
	switch {
	case object.GetGeneration() == 0:
		return revision{}, false
	case last.uid == "":
		m.noteWrite(key, object, time.Time{})
		return revision{}, false
	}
	return last, true
}

// attempt is the last try to ensure the auxiliary objects of one owner.
type attempt struct {
	uid      types.UID
	digest   string // the result of DigestOf
	failures int    // the number of consecutive failures
	until    time.Time
	results  []lifecycle.AuxiliaryObject
	made     map[string]write // by nameOf
}

// write is the last write to one object.
type write struct {
	content string
	at      time.Time
}

// isRecent reports whether the object was written with this content so recently that the cache may not show it yet.
func (w write) isRecent(content string, now time.Time) bool {
	return w.content == content && now.Sub(w.at) < OwnTrust
}

func (m *Memory) last(key types.NamespacedName, uid types.UID) attempt {
	if last, _ := m.tries.Get(key); last.uid == uid {
		return last
	}
	return attempt{}
}

func (m *Memory) note(key types.NamespacedName, last attempt) {
	// The memory is not needed for objects that the cache already shows.
	m.tries.Update(key, func(attempt, bool) (attempt, bool) { return last, last.failures > 0 || len(last.made) > 0 })
}

// OwnDeletion reports whether the operator itself deleted an object and has nothing else to do for the auxiliary
// objects of the owner. In that case the deletion event needs no pass, and OwnDeletion removes the object from the
// memory.
func (m *Memory) OwnDeletion(key types.NamespacedName, object client.Object) (deleted bool) {
	m.tries.Update(key, func(last attempt, known bool) (attempt, bool) {
		if !known || last.failures > 0 || last.made[nameOf(object)].content != gone {
			return last, known
		}

		last.made, deleted = maps.Clone(last.made), true // callers still read the old map
		delete(last.made, nameOf(object))
		return last, len(last.made) > 0
	})
	return deleted
}

// clear records that an owner has no auxiliary objects, and that it needs none.
func (m *Memory) clear(key types.NamespacedName) {
	m.tries.Forget(key)
	m.edits.Forget(key)
}

// Forget removes everything about an owner from the memory.
func (m *Memory) Forget(key types.NamespacedName) {
	m.clear(key)
	m.sweeps.Forget(key)
}
