package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/transport"
	"github.com/sparkoperator/spark-operator/internal/trim"
)

// What is listed live is in no cache, so that nothing trimmed it: a tenant may have any number of objects with our labels, of
// 1.5 MiB each. They are read in pages, of which few are in memory at a time, whichever namespaces they are of.
const (
	livePage  = 20
	livePages = 2
)

// livePagesRead has room for each page that is in memory.
var livePagesRead = make(chan struct{}, livePages)

// eachLive lists objects live and calls do with each. Do may not keep the object: only a part of it, or a copy of a part.
func (r *Reconciler) eachLive(ctx context.Context, empty func() client.ObjectList, do func(runtime.Object) error, options ...client.ListOption) error {
	more := ""
	for {
		next, err := r.onePage(ctx, empty(), do, append([]client.ListOption{client.Limit(livePage), client.Continue(more)}, options...))
		if err != nil || next == "" {
			return err
		}
		more = next
	}
}

// onePage reads one page, and returns where the next begins.
func (r *Reconciler) onePage(ctx context.Context, page client.ObjectList, do func(runtime.Object) error, options []client.ListOption) (string, error) {
	select {
	case livePagesRead <- struct{}{}:
		defer func() { <-livePagesRead }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := r.live.List(ctx, page, options...); err != nil {
		return "", err
	}
	return page.GetContinue(), meta.EachListItem(page, do)
}

// livePods lists pods live, as the cache would keep them. It adds the volume that holds a driver's configuration.
func (r *Reconciler) livePods(ctx context.Context, options ...client.ListOption) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	err := r.eachLive(transport.WithKept(ctx, trim.KeptLive), func() client.ObjectList { return &corev1.PodList{} }, func(item runtime.Object) error {
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
