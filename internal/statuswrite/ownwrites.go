package statuswrite

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/memory"
)

// OwnWrites remembers the resourceVersion of the last status write of each object until a pass has read that write from
// the cache. Without OwnWrites, a decision from an older read would repeat what the operator just did. For an object
// that has ended, the resourceVersion is mostly kept, because no further pass reads the object.
type OwnWrites struct {
	memory.ByKey[types.NamespacedName, ownWrite]
}

type ownWrite struct {
	uid     types.UID
	version string
	behind  time.Time // since when the cache is known to be older, or when it was last doubted; zero if not older
}

// maxBehind is the time for which the cache may be older than the operator's write before CacheIsStale reports a doubt.
const maxBehind = 30 * time.Second

// Wrote records a write of the operator, as returned by the API server.
func (w *OwnWrites) Wrote(obj metav1.Object) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: obj.GetResourceVersion()})
}

// Await makes the passes over an object wait until the cache has a version that somebody else wrote. IsEcho does not
// report that version as an echo, because no pass has decided on it yet.
func (w *OwnWrites) Await(obj metav1.Object, version string, now time.Time) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: version, behind: now})
}

// CacheIsStale reports two facts. The result ahead is true if the last recorded write is newer than obj, which was read
// from the cache. The result doubted is true if ahead has been true for maxBehind: since CacheIsStale first noticed it,
// or since CacheIsStale last returned doubted = true.
func (w *OwnWrites) CacheIsStale(obj metav1.Object, now time.Time) (ahead, doubted bool) {
	w.Update(identity.Key(obj), func(last ownWrite, known bool) (ownWrite, bool) {
		ahead = known && last.newer(obj)
		switch {
		case last.behind.IsZero():
			last.behind = now
		case now.Sub(last.behind) >= maxBehind:
			last.behind, doubted = now, ahead
		}
		return last, ahead
	})
	return ahead, doubted
}

// IsEcho reports whether an object is the result of the operator's last write, provided that no pass has read an older
// version since that write. The pass that wrote the object decided on the same content and has already set the time of
// the next pass.
func (w *OwnWrites) IsEcho(obj metav1.Object) bool {
	last, known := w.Get(identity.Key(obj))
	return known && last.uid == obj.GetUID() && last.version == obj.GetResourceVersion() && last.behind.IsZero()
}

// newer reports whether the write is newer than a read of the same object.
func (w ownWrite) newer(obj metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), w.version)
	return err == nil && order < 0 && w.uid == obj.GetUID()
}

// NewerThan reports whether a write of the operator is newer than an object that was read. If that object was read from
// the API server itself, the API server was restored from a backup.
func (w *OwnWrites) NewerThan(read metav1.Object) bool {
	last, known := w.Get(identity.Key(read))
	return known && last.newer(read)
}
