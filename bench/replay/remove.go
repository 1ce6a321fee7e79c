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
	left    = []schema.GroupVersionResource{world.Pods, world.Applications, world.ConfigMaps, world.Services, {Version: "v1", Resource: "events"}}
	follows = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
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
			if resource == world.Pods {
				options.GracePeriodSeconds = &now
			}
			if err := w.Metadata.Resource(resource).Namespace(namespaces[i]).DeleteCollection(ctx, options, world.Made(resource)); err != nil {
				return fmt.Errorf("remove %s of namespace %s: %w", resource.Resource, namespaces[i], err)
			}
		}
		return w.Empty(ctx, namespaces[i], follows)
	})
}
