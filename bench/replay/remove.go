package replay

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// What a replay leaves: pods first, which own the rest and which no kubelet ends. What the control plane made of it goes by itself; of that EndpointSlices are looked
// at, as the API server warns of whoever reads Endpoints.
var (
	left = []schema.GroupVersionResource{
		{Version: "v1", Resource: "pods"}, world.Applications, {Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "events"},
	}
	follows = []schema.GroupVersionResource{{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}}
)

// atATime is of how many namespaces things are removed at a time.
const atATime = 4

// remove deletes what a replay left, at once, and returns when nothing of it is there any more: what is measured next must not share the API server with it.
func remove(ctx context.Context, w *world.World, namespaces []string) error {
	for _, namespace := range namespaces {
		if !strings.Contains(namespace, "replay") { // never what was measured
			return fmt.Errorf("namespace %s is none of a replay", namespace)
		}
	}
	return world.ForEach(ctx, atATime, len(namespaces), func(ctx context.Context, i int) error {
		for _, resource := range left {
			now, background := int64(0), metav1.DeletePropagationBackground
			options := metav1.DeleteOptions{PropagationPolicy: &background}
			if resource.Resource == "pods" {
				options.GracePeriodSeconds = &now
			}
			if err := w.Metadata.Resource(resource).Namespace(namespaces[i]).DeleteCollection(ctx, options, all(resource)); err != nil {
				return fmt.Errorf("remove %s of namespace %s: %w", resource.Resource, namespaces[i], err)
			}
		}
		return gone(ctx, w, namespaces[i])
	})
}

// gone waits until nothing is left in a namespace. Events are none of it: the scheduler's may come after their pods, and nobody has anything to do with them.
func gone(ctx context.Context, w *world.World, namespace string) error {
	for _, resource := range append(left[:len(left)-1:len(left)-1], follows...) {
		one := all(resource)
		one.Limit = 1
		err := world.Until(ctx, "the end of "+resource.Resource+" in "+namespace, func() (bool, error) {
			list, err := w.Metadata.Resource(resource).Namespace(namespace).List(ctx, one)
			return err == nil && len(list.Items) == 0, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// all chooses what a replay made of a resource: every namespace has one ConfigMap by itself, which comes again.
func all(resource schema.GroupVersionResource) (o metav1.ListOptions) {
	if resource.Resource == "configmaps" {
		o.FieldSelector = "metadata.name!=kube-root-ca.crt"
	}
	return o
}
