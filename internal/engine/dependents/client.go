package dependents

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/shed"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Client reads, creates and deletes dependents.
type Client struct {
	client.Client // reads the cache, writes to the API server
	// Live reads from the API server.
	Live client.Reader
	// Optional holds the caches of kinds that a cluster may lack; nil if there are none.
	Optional OptionalCaches
	// Hold returns how long the deletion of a pod of a custom resource has to wait for the pod's log; nil if logs are not
	// kept.
	Hold func(owner types.NamespacedName, pod *corev1.Pod) time.Duration
}

// HoldFor returns how long the deletion of some objects has to wait for the logs of the pods among them.
func (c Client) HoldFor(owner types.NamespacedName, objects ...client.Object) (longest time.Duration) {
	if c.Hold == nil {
		return 0
	}

	for _, object := range objects { // all of them, because each begins to read a log
		if pod, ok := object.(*corev1.Pod); ok {
			longest = max(longest, c.Hold(owner, pod))
		}
	}
	return longest
}

// OptionalCaches are the caches of kinds of dependents that a cluster may lack.
type OptionalCaches interface {
	// Full returns the kinds whose caches are synced, and these caches.
	Full() (kinds []schema.GroupVersionKind, caches []client.Reader)
	// Has reports whether the caches of all the kinds are synced, and contain the objects of a namespace.
	Has(namespace string, kinds []schema.GroupVersionKind) bool
}

// Labelled returns the dependents of a custom resource in the caches: its labelled pods, and the metadata of all other
// objects that it owns. Callers must not change these objects.
func (c Client) Labelled(ctx context.Context, owner client.Object) (pods []corev1.Pod, others []metav1.PartialObjectMetadata, err error) {
	// The options are created once for the lists of all kinds.
	byUID := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(identity.CacheIndex, string(owner.GetUID()))}
	options := []client.ListOption{client.InNamespace(owner.GetNamespace()), byUID, client.UnsafeDisableDeepCopy}

	var list corev1.PodList
	if err := c.List(ctx, &list, options...); err != nil {
		return nil, nil, fmt.Errorf("list pods in the cache: %w", err)
	}

	add := func(from client.Reader, kind schema.GroupVersionKind) error {
		items := &metav1.PartialObjectMetadataList{}
		items.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))

		if err := from.List(ctx, items, options...); err != nil {
			return fmt.Errorf("list objects of kind %s in the cache: %w", kind.Kind, err)
		}

		for i := range items.Items {
			if item := &items.Items[i]; identity.OwnedBy(item, owner.GetUID()) {
				item.SetGroupVersionKind(kind)
				others = append(others, *item)
			}
		}
		return nil
	}
	for _, kind := range Kinds {
		if err := add(c.Client, kind); err != nil {
			return nil, nil, err
		}
	}

	if c.Optional == nil {
		return list.Items, others, nil
	}

	kinds, caches := c.Optional.Full()
	for i, kind := range kinds {
		if err := add(caches[i], kind); err != nil {
			return nil, nil, err
		}
	}
	return list.Items, others, nil
}

// Live lists are read in pages to limit the operator's memory. A tenant may create any number of objects with the
// operator's labels, each up to 1.5 MiB. Unlike the objects in a cache, the objects in a live list are not trimmed. All
// passes together hold at most livePages pages in memory at a time.
const (
	// LivePage is the number of objects in a page.
	LivePage  = 20
	livePages = 2
)

// pagesInMemory is a semaphore that bounds the number of pages in memory.
var pagesInMemory = make(chan struct{}, livePages)

// EachLive lists objects live and calls the function visit for each object. The function may keep copies of parts of an
// object, but must not keep the object itself.
func (c Client) EachLive(ctx context.Context, empty func() client.ObjectList, visit func(runtime.Object) error, options ...client.ListOption) error {
	more := ""
	for {
		next, err := c.onePage(ctx, empty(), visit, append([]client.ListOption{client.Limit(LivePage), client.Continue(more)}, options...))
		if err != nil || next == "" {
			return err
		}

		more = next
	}
}

// onePage reads one page of a list and calls the function visit for each object. It returns the token for the request
// of the next page, which is "" after the last page.
func (c Client) onePage(ctx context.Context, page client.ObjectList, visit func(runtime.Object) error, options []client.ListOption) (string, error) {
	select {
	case pagesInMemory <- struct{}{}:
		defer func() { <-pagesInMemory }()
	case <-ctx.Done():
		return "", ctx.Err()
	}

	if err := c.Live.List(ctx, page, options...); err != nil {
		return "", err
	}
	return page.GetContinue(), meta.EachListItem(page, visit)
}

// LivePods lists pods live. It trims the pods as the cache does, except that it keeps the volume with the driver's
// configuration.
func (c Client) LivePods(ctx context.Context, options ...client.ListOption) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	ctx = shed.With(ctx, trim.KeptLive)
	err := c.EachLive(ctx, func() client.ObjectList { return &corev1.PodList{} }, func(item runtime.Object) error {
		pod, ok := item.(*corev1.Pod)
		if !ok {
			return lifecycle.Bugf("a list of pods contains a %T", item)
		}

		trimmed, err := trim.Pod(pod)
		if err != nil {
			return err
		}

		kept := trimmed.(*corev1.Pod)
		for _, volume := range pod.Spec.Volumes {
			if volume.Name == trim.ConfVolume {
				kept.Spec.Volumes = []corev1.Volume{volume}
			}
		}

		pods = append(pods, *kept)
		return nil
	}, options...)
	return pods, err
}

// ReadLive reads an object from the API server, and returns it with its kind. The argument object gives the kind, the
// namespace and the name. If the scheme has no Go type for the kind, ReadLive reads only metadata.
func (c Client) ReadLive(ctx context.Context, object client.Object) (client.Object, schema.GroupVersionKind, error) {
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, gvk, err
	}

	var existing client.Object = identity.MetadataOnly(gvk)
	if c.Scheme().Recognizes(gvk) {
		empty, err := c.Scheme().New(gvk)
		if err != nil {
			return nil, gvk, err
		}

		existing = empty.(client.Object)
	}

	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(object), existing); err != nil {
		return nil, gvk, fmt.Errorf("read %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	return existing, gvk, nil
}

// ReadLiveMetadata reads the metadata of an object from the API server. The argument object gives the kind, the
// namespace and the name.
func (c Client) ReadLiveMetadata(ctx context.Context, object client.Object) (*metav1.PartialObjectMetadata, error) {
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, err
	}

	live := identity.MetadataOnly(gvk)
	return live, c.Live.Get(ctx, client.ObjectKeyFromObject(object), live)
}

// DeleteOne deletes exactly the given object. A precondition on the UID protects a newer object with the same name.
func (c Client) DeleteOne(ctx context.Context, object client.Object, how ...client.DeleteOption) error {
	err := c.Delete(ctx, object, append(how, client.Preconditions{UID: new(object.GetUID())})...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	return nil
}

// requestsAtOnce is the largest number of requests that one pass sends concurrently to create, correct or delete
// objects.
const requestsAtOnce = 8

// InParallel calls f(i) for each i from 0 to n-1, at most requestsAtOnce calls at a time, and returns when all calls
// have returned.
func InParallel(n int, f func(i int)) {
	slots := make(chan struct{}, requestsAtOnce)

	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}

		all.Go(func() {
			defer func() { <-slots }()

			f(i)
		})
	}

	all.Wait()
}

// ForEach calls f for each object, at most requestsAtOnce calls at a time, and returns the error of each call.
func ForEach(objects []client.Object, f func(client.Object) error) []error {
	errs := make([]error, len(objects))
	InParallel(len(objects), func(i int) { errs[i] = f(objects[i]) })
	return errs
}
