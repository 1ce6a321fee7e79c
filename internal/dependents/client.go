package dependents

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/optional"
	"github.com/sparkoperator/spark-operator/internal/transport"
	"github.com/sparkoperator/spark-operator/internal/trim"
)

// Client reads, creates and deletes dependents.
type Client struct {
	client.Client // reads the cache, writes to the API server
	// Live reads the API server.
	Live client.Reader
	// Optional are the caches of kinds that a cluster need not have; nil if there are none.
	Optional *optional.Caches
}

// Labelled finds the dependents of a custom resource in the caches: its labelled pods, and the metadata of everything
// else that it owns. Nobody may change these objects.
func (c Client) Labelled(ctx context.Context, owner client.Object) (pods []corev1.Pod, others []metav1.PartialObjectMetadata, err error) {
	// Made once, for a list of each kind.
	byUID := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(identity.CacheIndex, string(owner.GetUID()))}
	of := []client.ListOption{client.InNamespace(owner.GetNamespace()), byUID, client.UnsafeDisableDeepCopy}
	var list corev1.PodList
	if err := c.List(ctx, &list, of...); err != nil {
		return nil, nil, fmt.Errorf("list pods in the cache: %w", err)
	}
	add := func(from client.Reader, kind schema.GroupVersionKind) error {
		items := &metav1.PartialObjectMetadataList{}
		items.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := from.List(ctx, items, of...); err != nil {
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
	kinds, caches := c.Optional.Full()
	for i, kind := range kinds {
		if err := add(caches[i], kind); err != nil {
			return nil, nil, err
		}
	}
	return list.Items, others, nil
}

// What is listed live is in no cache, so that nothing trimmed it: a tenant may have any number of objects with our labels,
// of 1.5 MiB each. They are read in pages, of which few are in memory at a time, whichever namespaces they are of.
const (
	// LivePage is how many objects are in a page.
	LivePage  = 20
	livePages = 2
)

// pagesInMemory has room for each page that is in memory.
var pagesInMemory = make(chan struct{}, livePages)

// EachLive lists objects live and calls do with each. Do may not keep the object: only a part of it, or a copy of a part.
func (c Client) EachLive(ctx context.Context, empty func() client.ObjectList, do func(runtime.Object) error, options ...client.ListOption) error {
	more := ""
	for {
		next, err := c.onePage(ctx, empty(), do, append([]client.ListOption{client.Limit(LivePage), client.Continue(more)}, options...))
		if err != nil || next == "" {
			return err
		}
		more = next
	}
}

// onePage reads one page, and returns where the next one begins.
func (c Client) onePage(ctx context.Context, page client.ObjectList, do func(runtime.Object) error, options []client.ListOption) (string, error) {
	select {
	case pagesInMemory <- struct{}{}:
		defer func() { <-pagesInMemory }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := c.Live.List(ctx, page, options...); err != nil {
		return "", err
	}
	return page.GetContinue(), meta.EachListItem(page, do)
}

// LivePods lists pods live, as the cache would keep them, with the volume that holds a driver's configuration.
func (c Client) LivePods(ctx context.Context, options ...client.ListOption) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	ctx = transport.WithKept(ctx, trim.KeptLive)
	err := c.EachLive(ctx, func() client.ObjectList { return &corev1.PodList{} }, func(item runtime.Object) error {
		pod, ok := item.(*corev1.Pod)
		if !ok {
			return fmt.Errorf("a %T in a list of pods", item)
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

// ReadLive reads the object of the same kind and name as the given one. Of an optional kind it is metadata alone.
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

// DeleteOne deletes the very object that was seen: another one of its name is left alone, by a precondition on the UID.
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

// requestsAtOnce bounds the requests that one pass has in flight when it creates, corrects or deletes objects.
const requestsAtOnce = 8

// SideBySide calls a function for each number below n, for a few of them at a time, and waits for all.
func SideBySide(n int, one func(i int)) {
	slots := make(chan struct{}, requestsAtOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			one(i)
		})
	}
	all.Wait()
}

// OnEach calls a function with each object, for a few of them at a time, and returns what became of each.
func OnEach(objects []client.Object, one func(client.Object) error) []error {
	errs := make([]error, len(objects))
	SideBySide(len(objects), func(i int) { errs[i] = one(objects[i]) })
	return errs
}
