package statuswrite

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/memory"
)

// Own remembers the resourceVersion of the last status write of each object, until a pass has read it from the cache: of one that is over, mostly for good.
// A decision from an older read would take what was just done for not done.
type Own struct {
	memory.ByKey[types.NamespacedName, ownWrite]
}

type ownWrite struct {
	uid     types.UID
	version string
	behind  time.Time // since when the cache was seen to be older, or was last doubted; zero where it was not
}

// maxBehind is how long the cache may be older than a write of ours before that is doubted.
const maxBehind = 30 * time.Second

// Wrote notes a write of ours, by what the API server returned.
func (w *Own) Wrote(obj metav1.Object) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: obj.GetResourceVersion()})
}

// Await has passes over an object wait for a version that somebody else wrote. No pass has decided from that yet, so the event that brings it is no echo.
func (w *Own) Await(obj metav1.Object, version string, now time.Time) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: version, behind: now})
}

// Ahead reports whether a write of ours is newer than obj, a read from the cache, and whether that has been so for too long to be believed.
func (w *Own) Ahead(obj metav1.Object, now time.Time) (ahead, doubted bool) {
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

// Echo reports whether an object is what a write of ours made of it, and nobody has met an older one since: the pass that wrote has decided from the same, and
// said when to look again.
func (w *Own) Echo(obj metav1.Object) bool {
	last, known := w.Get(identity.Key(obj))
	return known && last.uid == obj.GetUID() && last.version == obj.GetResourceVersion() && last.behind.IsZero()
}

// newer reports whether the write is newer than a read of the same object.
func (w ownWrite) newer(obj metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), w.version)
	return err == nil && order < 0 && w.uid == obj.GetUID()
}

// After reports whether a write of ours is newer than a read. Where that read is the API server's own, it was restored from a backup.
func (w *Own) After(read metav1.Object) bool {
	last, known := w.Get(identity.Key(read))
	return known && last.newer(read)
}
