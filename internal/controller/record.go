package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
)

// record writes the status if it changed, and reports whether it did; what is of the crowd alone may have to rest first. The patch carries the resourceVersion that the decision was
// made from: a change by anybody meanwhile is a conflict, which ends the pass.
func (r *Reconciler) record(ctx context.Context, p *pass) (bool, error) {
	patch, err := r.statusPatch(p)
	if err != nil {
		return false, err
	}
	if patch == nil {
		r.paces.over(identity.Key(p.stored))
		return false, nil
	}
	crowd := r.ofTheCrowd(p, patch)
	news := crowd && len(p.plan.Tell) > 0
	switch {
	case news:
		p.rest = r.paces.newsRest(identity.Key(p.stored), p.now)
	case crowd:
		p.rest = r.paces.rest(identity.Key(p.stored), p.now, pauseOf(p), len(p.seen.Executors), patch)
	}
	if p.rest > 0 {
		r.paces.shorts.Set(identity.Key(p.stored), p.plan.Next.ShortSince)
		return false, nil
	}
	target, err := r.metadataOf(p.stored)
	if err != nil {
		return false, err
	}
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
	r.metrics.StatusWrite(r.kind.Name, writeResult(err))
	if err != nil {
		return false, err
	}
	r.writes.wrote(target)
	r.paces.wrote(identity.Key(p.stored), p.now, crowd && r.kind.Crowd.News)
	return true, nil
}

// metadataOf names an object for a request of which nothing but metadata is to come back: the whole object, as JSON, would cost the API server and the operator
// more than the write of a status itself.
func (r *Reconciler) metadataOf(stored client.Object) (*metav1.PartialObjectMetadata, error) {
	gvk, err := apiutil.GVKForObject(stored, r.client.Scheme())
	if err != nil {
		return nil, err
	}
	target := identity.MetadataOnly(gvk)
	target.SetNamespace(stored.GetNamespace())
	target.SetName(stored.GetName())
	return target, nil
}

func writeResult(err error) string {
	switch {
	case err == nil:
		return telemetry.WriteStored
	case apierrors.IsConflict(err):
		return telemetry.WriteConflict
	}
	return telemetry.WriteFailed
}

// statusPatch returns the merge patch from the stored status to the decided one, or nil when they are equal as JSON. The rest of the
// object is not compared: a pass writes nothing else.
func (r *Reconciler) statusPatch(p *pass) ([]byte, error) {
	stored := reflect.ValueOf(r.kind.Status(p.stored))
	was, is := differing(stored, reflect.ValueOf(r.kind.Status(p.object)))
	before, err := json.Marshal(was.Interface())
	if err != nil {
		return nil, fmt.Errorf("encode the stored status: %w", err)
	}
	after, err := json.Marshal(is.Interface())
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	if bytes.Equal(before, after) {
		return nil, nil
	}
	diff := after
	// A status that is not there yet is sent whole: a difference to its zero value would leave out fields that the schema requires.
	if !stored.Elem().IsZero() {
		if diff, err = jsonpatch.CreateMergePatch(before, after); err != nil {
			return nil, fmt.Errorf("compare the status: %w", err)
		}
	}
	if string(diff) == "{}" {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.stored.GetUID(), "resourceVersion": p.stored.GetResourceVersion()},
		"status":   json.RawMessage(diff),
	})
}

// differing returns copies of two structs, given by pointers, without what is equal in both: their JSON differs by the same. Most passes change little of a status
// or nothing, and it is cheaper to see that than to encode it. What encodes itself is left whole.
func differing(was, is reflect.Value) (before, after reflect.Value) {
	before, after = reflect.New(was.Type().Elem()), reflect.New(is.Type().Elem())
	for i := range was.Elem().NumField() {
		a, b := was.Elem().Field(i), is.Elem().Field(i)
		if reflect.DeepEqual(a.Addr().Interface(), b.Addr().Interface()) {
			continue
		}
		if a.Kind() == reflect.Pointer && a.Type().Elem().Kind() == reflect.Struct && !a.IsNil() && !b.IsNil() && !a.Type().Implements(marshaler) {
			a, b = differing(a, b)
		}
		before.Elem().Field(i).Set(a)
		after.Elem().Field(i).Set(b)
	}
	return before, after
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// ownWrites remembers the resourceVersion of the last status write of each object, until a pass has read it from the cache: of one that is over, mostly for good.
// A decision from an older read would take what was just done for not done.
type ownWrites struct {
	memory.ByKey[types.NamespacedName, ownWrite]
}

type ownWrite struct {
	uid     types.UID
	version string
	behind  time.Time // since when the cache was seen to be older, or was last doubted; zero where it was not
}

// maxBehind is how long the cache may be older than a write of ours before that is doubted.
const maxBehind = 30 * time.Second

func (w *ownWrites) wrote(obj metav1.Object) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: obj.GetResourceVersion()})
}

// await has passes over an object wait for a version that somebody else wrote. No pass has decided from that yet, so the event that brings it is no echo.
func (w *ownWrites) await(obj metav1.Object, version string, now time.Time) {
	w.Set(identity.Key(obj), ownWrite{uid: obj.GetUID(), version: version, behind: now})
}

// ahead reports whether a write of ours is newer than obj, a read from the cache, and whether that has been so for too long to be believed.
func (w *ownWrites) ahead(obj metav1.Object, now time.Time) (ahead, doubted bool) {
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

// echo reports whether an object is what a write of ours made of it, and nobody has met an older one since: the pass that wrote has decided from the same, and
// said when to look again.
func (w *ownWrites) echo(obj metav1.Object) bool {
	last, known := w.Get(identity.Key(obj))
	return known && last.uid == obj.GetUID() && last.version == obj.GetResourceVersion() && last.behind.IsZero()
}

// NoEchoes leaves out the event that brings back a status of ours, which would be a look of which nothing follows after each write. What is sent again with
// nothing changed is let through.
func (r *Reconciler) NoEchoes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !r.kind.Progress.Concludes || e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() || !r.writes.echo(e.ObjectNew)
	}}
}

// newer reports whether the write is newer than a read of the same object.
func (w ownWrite) newer(obj metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), w.version)
	return err == nil && order < 0 && w.uid == obj.GetUID()
}

// after reports whether a write of ours is newer than a read. Where that read is the API server's own, it was restored from a backup.
func (w *ownWrites) after(read metav1.Object) bool {
	last, known := w.Get(identity.Key(read))
	return known && last.newer(read)
}

// stale reports whether a read from the cache is older than what we wrote ourselves, which is on its way here. Where it has been for long, the API server is
// asked: after a restore of its store it will not come, and the application would never be looked at again.
func (r *Reconciler) stale(ctx context.Context, stored client.Object) (bool, error) {
	ahead, doubted := r.writes.ahead(stored, r.clock())
	if !ahead {
		return false, nil
	}
	key := client.ObjectKeyFromObject(stored)
	if !doubted {
		// It may have come between the read and the look at what was written, and its event may have been left out as an echo. From now on it is none.
		if err := r.read(ctx, key, stored); err != nil {
			return true, client.IgnoreNotFound(err)
		}
		ahead, _ = r.writes.ahead(stored, r.clock())
		return ahead, nil
	}
	live := r.kind.New()
	if err := r.live.Get(ctx, key, live); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	if !r.writes.after(live) {
		return true, nil
	}
	log.FromContext(ctx).Info("the API server has an older status than the one that was written to it, as after a restore; going on from that")
	r.writes.Forget(key)
	return false, nil
}
