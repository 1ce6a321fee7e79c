package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// EachOf lists the objects of a kind page by page, and calls a function with each object. It returns the version from
// which a watch of the objects continues. In an error, the full name of the kind can be explained.
func (c *Client) EachOf(ctx context.Context, k *kinds.Kind, q Query, each func(client.Object)) (version string, err error) {
	options := &client.ListOptions{Namespace: q.Namespace, Limit: pageSize, LabelSelector: q.Selector}
	for {
		page := k.NewList()
		if err := c.WithWatch.List(ctx, page, options); err != nil {
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

		if options.Continue = page.GetContinue(); options.Continue == "" {
			return page.GetResourceVersion(), nil
		}
	}
}
