package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Change is a change of an object: its creation, an edit or its deletion.
type Change struct {
	Object  client.Object
	Deleted bool
}

// Changes watches the selected objects until the context is canceled, and passes each change to the callback. The list
// contains the objects that the caller has already read. Changes reports such an object only when its version changes.
//
// Changes leaves out kinds that have no CustomResourceDefinition or that the user has no right to watch. It returns an
// error if no kind can be watched.
func (c *Client) Changes(ctx context.Context, q Query, known []client.Object, changed func(Change)) error {
	if len(q.Kinds) == 0 {
		q.Kinds = kinds.All
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		change Change
		err    error
	}
	results := make(chan result)

	send := func(r result) {
		select {
		case results <- r:
		case <-ctx.Done():
		}
	}
	for _, k := range q.Kinds {
		go func() {
			send(result{err: c.watchKind(ctx, k, q, func(change Change) { send(result{change: change}) })})
		}()
	}

	versions := map[string]string{}
	for _, object := range known {
		versions[string(object.GetUID())] = object.GetResourceVersion()
	}

	var failed []error
	for {
		select {
		case <-ctx.Done():
			return c.ended(ctx, ctx.Err())
		case r := <-results:
			if r.err != nil {
				if failed = append(failed, r.err); len(failed) == len(q.Kinds) {
					return c.Explain(failed[0])
				}
				continue
			}

			uid := string(r.change.Object.GetUID())
			if version := r.change.Object.GetResourceVersion(); r.change.Deleted || versions[uid] != version {
				versions[uid] = version

				changed(r.change)
			}
		}
	}
}

// watchKind watches the objects of one kind, and starts the watch again whenever it ends. Each watch begins with all
// objects. Therefore only a deletion between two watches is missed. watchKind returns an error if the kind cannot be
// watched.
func (c *Client) watchKind(ctx context.Context, k *kinds.Kind, q Query, changed func(Change)) error {
	options := &client.ListOptions{Namespace: q.Namespace, LabelSelector: q.Selector}
	for {
		watcher, err := c.Watch(ctx, k.NewList(), options)
		switch {
		case exit.NoDefinition(err), apierrors.IsForbidden(err):
			return exit.WithResource(err, k.FullName())
		case err == nil:
			forward(ctx, watcher, k, changed)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}

// forward calls the function changed with each object that the watch returns, until the watch ends.
func forward(ctx context.Context, watcher watch.Interface, k *kinds.Kind, changed func(Change)) {
	defer watcher.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return
			}

			object, ok := event.Object.(client.Object)
			if !ok || event.Type == watch.Bookmark {
				continue
			}

			object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
			changed(Change{Object: object, Deleted: event.Type == watch.Deleted})
		}
	}
}
