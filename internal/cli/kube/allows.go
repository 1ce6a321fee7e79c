package kube

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Account is a service account.
type Account struct{ Namespace, Name string }

// Allows reports whether a service account has a right in a namespace. The resource may have a subresource behind a
// slash. An error means that this is unknown.
func (c *Client) Allows(ctx context.Context, a Account, namespace, verb, group, resource string) (bool, error) {
	resource, sub, _ := strings.Cut(resource, "/")

	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + a.Namespace + ":" + a.Name,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub,
			},
		},
	}
	if err := c.WithWatch.Create(ctx, review); err != nil {
		return false, c.Explain(err)
	}
	return review.Status.Allowed, nil
}

// Can reports whether the user has a right on an object, or, if the object has no name, on all objects of its kind in
// its namespace.
func (c *Client) Can(ctx context.Context, verb string, object client.Object) (bool, error) {
	k := kinds.Of(object)
	return c.can(ctx, &authorizationv1.ResourceAttributes{
		Namespace: object.GetNamespace(), Name: object.GetName(), Verb: verb, Group: k.Group, Version: k.Version, Resource: k.Resource,
	})
}

// CanReadLog reports whether the user has the right to read the log of a pod.
func (c *Client) CanReadLog(ctx context.Context, namespace, pod string) (bool, error) {
	return c.can(ctx, &authorizationv1.ResourceAttributes{
		Namespace: namespace, Name: pod, Verb: "get", Version: "v1", Resource: "pods", Subresource: "log",
	})
}

func (c *Client) can(ctx context.Context, right *authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right}}
	err := c.WithWatch.Create(ctx, review)
	return review.Status.Allowed, err
}
