package statuswrite

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// OwnWrites remembers the resourceVersion of the last status write of each object until a pass has read that write from
// the cache. Without OwnWrites, a decision from an older read would repeat what the operator just did. The last write
// of an object that has ended is usually remembered until the object is deleted, because no later pass reads it.
type OwnWrites struct {
	bykey.ByKey[types.NamespacedName, ownWrite]
}

type ownWrite struct {
	uid     types.UID
	version string
	behind  time.Time // when a pass first found the cache older than the write, or last reported a doubt; zero: never
}

// maxBehind is how long the cache may lack the operator's last write. After that time, CacheIsStale reports a doubt, so
// that the caller reads the object from the API server.
const maxBehind = 30 * time.Second

// Wrote records a write of the operator, as returned by the API server.
func (w *OwnWrites) Wrote(obj metav1.Object) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: obj.GetResourceVersion()})
}

// Await records a version of an object that another process wrote, such as the previous leader. Passes over the object
// then wait until the cache has this version. IsEcho does not report this version as an echo, because no pass of this
// process has decided on it yet.
func (w *OwnWrites) Await(obj metav1.Object, version string, now time.Time) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: version, behind: now})
}

// CacheIsStale reports whether the cache lacks the operator's last write of an object. The first result is true if the
// recorded write is newer than obj, which the caller has read from the cache. The second result is true once after the
// cache has lacked the write for maxBehind, and again after each further maxBehind, because the write may no longer
// exist then.
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

// IsEcho reports whether an object is exactly what the operator wrote last. An echo needs no pass: the pass that wrote
// it decided on the same content and has already set the time of the next pass. If a pass has read an older version
// since the write, the object is not an echo, because that pass ended without a decision.
func (w *OwnWrites) IsEcho(obj metav1.Object) bool {
	last, known := w.Get(identity.Key(obj))
	return known && last.uid == obj.GetUID() && last.version == obj.GetResourceVersion() && last.behind.IsZero()
}

// newer reports whether the write is newer than a read of the same object.
func (w ownWrite) newer(obj metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), w.version)
	return err == nil && order < 0 && w.uid == obj.GetUID()
}

// NewerThan reports whether the operator's last write of an object is newer than the given version of the object. If
// the caller has read this version from the API server and the result is true, the API server has lost the write,
// because it was restored from a backup.
func (w *OwnWrites) NewerThan(read metav1.Object) bool {
	last, known := w.Get(identity.Key(read))
	return known && last.newer(read)
}
