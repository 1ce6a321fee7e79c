package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/paged"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// EachOf lists the objects of a kind page by page, and calls a function with each object. It returns the version from
// which a watch of the objects continues. In an error, the full name of the kind can be explained.
func (c *Client) EachOf(ctx context.Context, k *kinds.Kind, q Query, each func(client.Object)) (version string, err error) {
	options := client.ListOptions{Namespace: q.Namespace, Limit: paged.Size, LabelSelector: q.Selector}
	for page, err := range paged.Of(ctx, c.WithWatch, options, k.NewList) {
		if err != nil {
			return "", exit.WithResource(err, k.FullName())
		}

		items, err := meta.ExtractList(page)
		if err != nil {
			return "", err
		}

		for _, item := range items {
			object := item.(client.Object)
			object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
			each(object)
		}

		version = page.GetResourceVersion()
	}
	return version, nil
}

// Namespaces returns the names of all namespaces. If a request fails, it returns the original error.
func (c *Client) Namespaces(ctx context.Context) (names []string, err error) {
	namespaces, err := paged.Items[metav1.PartialObjectMetadata](ctx, c, "/api/v1/namespaces")
	for i := range namespaces {
		names = append(names, namespaces[i].Name)
	}
	return names, err
}

// Pods returns the pods of all attempts that belong to an object, executors last, and otherwise by name.
func (c *Client) Pods(ctx context.Context, object client.Object) ([]corev1.Pod, error) {
	pods, err := paged.All.Pods(ctx, c.WithWatch, object)
	if err != nil {
		return nil, c.Explain(err)
	}
	return pods, nil
}

// Events returns the Events about an object and its pods, oldest first.
func (c *Client) Events(ctx context.Context, object client.Object, pods []corev1.Pod) ([]corev1.Event, error) {
	events, err := paged.All.Events(ctx, c.WithWatch, object, pods)
	if err != nil {
		return nil, c.Explain(err)
	}
	return events, nil
}
