package access

import (
	"context"
	"errors"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// watched stands between an informer and the API server. It answers lists and watches that the API server refuses, so
// that the informer neither blocks others nor retries at once.
type watched struct {
	*Watches
	from     toolscache.ListerWatcherWithContext
	informer toolscache.SharedIndexInformer

	// The mutex of Watches guards these fields.
	place   place
	located bool  // the namespace of place is known
	refused error // nil if the informer's objects are up to date
	byProbe bool  // refused is the result of a probe, so the watch is still open
}

// errListFirst makes an informer list its objects and not stream them. The informer reports the end of a list by a
// watch request, but not the end of a stream.
var errListFirst = errors.New("list before the watch")

// list implements the lists of the informer. If the first list fails, the result is an empty list, with which the
// informer is synced. If a later list is forbidden, list waits until it is allowed, because the objects may still
// exist.
func (w *watched) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	for {
		found, err := w.from.ListWithContext(context.WithValue(ctx, pathKey{}, w), options)
		switch {
		case err == nil, ctx.Err() != nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			return found, err
		case !w.informer.HasSynced() && options.Continue == "" && w.record(err, false):
			return &metav1.PartialObjectMetadataList{}, nil // has no items, of any kind
		case !apierrors.IsForbidden(err):
			return found, err
		}

		w.record(err, false)

		if !sleep(ctx, w.Retry) {
			return nil, ctx.Err()
		}
	}
}

// watch implements the watches of the informer. If a watch is forbidden, it waits until it is allowed.
func (w *watched) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	streams := options.SendInitialEvents != nil && *options.SendInitialEvents
	switch {
	case streams && w.isRefused():
		return nil, errListFirst
	case !streams && options.ResourceVersion == "": // after the empty list
		return nil, w.awaitFirstList(ctx)
	}

	for {
		events, err := w.from.WatchWithContext(context.WithValue(ctx, pathKey{}, w), options)
		switch {
		case streams, err != nil && !apierrors.IsForbidden(err):
			return events, err
		case err == nil:
			w.complete(ctx, options.ResourceVersion)
			return events, nil
		}

		w.record(err, false)

		if !sleep(ctx, w.Retry) {
			return nil, ctx.Err()
		}
	}
}

// awaitFirstList waits until a list succeeds. It returns an error that makes the informer list its objects.
func (w *watched) awaitFirstList(ctx context.Context) error {
	for after := min(time.Second, w.Retry); sleep(ctx, after); after = min(2*after, w.Retry) {
		err := w.tryList(ctx)
		if err == nil {
			return apierrors.NewResourceExpired("the objects can be listed now")
		}

		if ctx.Err() == nil {
			w.record(err, false)
		}
	}
	return ctx.Err()
}

// tryList lists objects of one name, which costs the API server little.
func (w *watched) tryList(ctx context.Context) error {
	_, err := w.from.ListWithContext(context.WithValue(ctx, pathKey{}, w), metav1.ListOptions{FieldSelector: "metadata.name=none", Limit: 1})
	return err
}

// complete records that the informer's objects are up to date. A watch begins at the version of the last list or event.
// If the informer was refused before, complete waits until the objects of this version are in its store.
func (w *watched) complete(ctx context.Context, version string) {
	if !w.isRefused() {
		return
	}

	_ = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 5*time.Second, true, func(context.Context) (bool, error) {
		return w.informer.GetStore().LastStoreSyncResourceVersion() == version, nil
	})

	w.record(nil, false)
}

func (w *watched) isRefused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused != nil
}

// record records why the informer cannot read its objects, or with nil that it can. A result of a probe does not
// replace a refusal of the informer itself, whose store lacks objects until the informer can read them. It returns
// false if no request has reached the transport, so that the namespace is not known.
func (w *watched) record(err error, byProbe bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	if w.located && (!byProbe || w.byProbe || w.refused == nil) {
		w.refused, w.byProbe = err, byProbe
		w.update()
	}
	return w.located
}

// update computes what Refused returns. The caller holds the mutex.
func (a *Watches) update() {
	refused := map[place]error{}
	for _, w := range a.all {
		if w.refused != nil {
			refused[w.place] = w.refused
		}
	}

	before := *a.refused.Load()
	maps.Copy(a.regained, minus(before, refused))

	if !maps.EqualFunc(refused, before, func(a, b error) bool { return a.Error() == b.Error() }) {
		a.refused.Store(&refused)
	}
}
