package kube

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
