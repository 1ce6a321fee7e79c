package world

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resources that applications leave something of in their namespaces, beside Applications.
var (
	Pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	Services   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	ConfigMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// Made chooses what somebody made of a resource: every namespace has one ConfigMap by itself, which comes again.
func Made(of schema.GroupVersionResource) (o metav1.ListOptions) {
	if of == ConfigMaps {
		o.FieldSelector = "metadata.name!=kube-root-ca.crt"
	}
	return o
}

// Empty waits until nothing is left in a namespace of what applications have, nor of some more resources. What is gone is not looked at again: nobody makes more of it.
// Events are none of it: the scheduler's may come after their pods, and nobody has anything to do with them.
func (w *World) Empty(ctx context.Context, namespace string, more ...schema.GroupVersionResource) error {
	for _, of := range append([]schema.GroupVersionResource{Applications, Pods, Services, ConfigMaps}, more...) {
		one := Made(of)
		one.Limit = 1
		err := Until(ctx, "the end of "+of.Resource+" in "+namespace, func() (bool, error) {
			list, err := w.Metadata.Resource(of).Namespace(namespace).List(ctx, one)
			return err == nil && len(list.Items) == 0, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
