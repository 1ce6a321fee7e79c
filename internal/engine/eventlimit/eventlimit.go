// Package eventlimit decides which Events about a custom resource are written, for kinds with settings for that.
package eventlimit

import (
	"crypto/sha256"
	"maps"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
)

// maxRemembered is the largest number of different Events of one object that a Memory remembers.
const maxRemembered = 64

// Kind is a kind of custom resources that has settings and reasons of its own for Events. All Events about other kinds
// are written.
type Kind interface {
	// EventSettings returns the present settings. They may change while the operator runs.
	EventSettings() Settings
	// FailureReason returns the reason of an Event about a failed pass over an object, or about a failed write of its
	// status. The message contains the reason that other kinds have instead.
	FailureReason(object client.Object, ofStatus bool) string
}

// Settings are the settings of a kind for Events.
type Settings struct {
	// Source is the source component of the Events; empty means the operator's own name.
	Source string
	// Off writes no Events at all.
	Off bool
	// Excluded are expressions. No Event is written whose reason matches one of them.
	Excluded []*regexp.Regexp
	// Interval is the shortest time between two Events about an object with the same reason and message.
	Interval time.Duration
}

// Excludes reports whether Events with a reason are excluded.
func (s Settings) Excludes(reason string) bool {
	return slices.ContainsFunc(s.Excluded, func(e *regexp.Regexp) bool { return e.MatchString(reason) })
}

// Memory remembers the last Events of each custom resource of a kind. The caller forgets a custom resource when it is
// gone. The zero value is an empty Memory.
type Memory struct {
	bykey.ByKey[types.NamespacedName, object]
}

// object contains the Events of one object, by digests of their reasons and messages, with the times at which they were
// written. An object with the same name and another UID has none of them.
type object struct {
	uid  types.UID
	last map[[sha256.Size]byte]time.Time
}

// Admits reports whether an Event is written, and remembers it in that case. A later failure of the write does not
// change that.
func (m *Memory) Admits(s Settings, key types.NamespacedName, uid types.UID, now time.Time, reason, message string) (admitted bool) {
	if s.Off || s.Excludes(reason) {
		return false
	}

	if s.Interval <= 0 {
		return true
	}

	digest := sha256.Sum256([]byte(reason + "\x00" + message))
	m.Update(key, func(o object, _ bool) (object, bool) {
		if o.uid != uid || o.last == nil {
			o = object{uid: uid, last: map[[sha256.Size]byte]time.Time{}}
		}

		if at, known := o.last[digest]; known && now.Sub(at) < s.Interval {
			return o, true
		}

		o.makeRoom(now.Add(-s.Interval))
		o.last[digest], admitted = now, true
		return o, true
	})
	return admitted
}

// makeRoom drops the Events that were written at the given time or before. If the object still has as many as a Memory
// remembers, makeRoom drops the oldest one, which may then be written again before its time.
func (o object) makeRoom(expired time.Time) {
	maps.DeleteFunc(o.last, func(_ [sha256.Size]byte, at time.Time) bool { return !at.After(expired) })

	if len(o.last) < maxRemembered {
		return
	}

	digests := slices.Collect(maps.Keys(o.last))
	delete(o.last, slices.MinFunc(digests, func(a, b [sha256.Size]byte) int { return o.last[a].Compare(o.last[b]) }))
}
