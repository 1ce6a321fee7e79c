// Package access has the rights that drivers and operators need, and reviews which of them an account lacks.
package access

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedauthorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Account is a service account.
type Account struct{ Namespace, Name string }

// Right is a row of a table of rights. The resources and verbs are separated by blanks.
type Right struct{ group, resources, verbs string }

// ListPods is the right without which an operator does not serve a namespace.
var ListPods = []Right{{"", "pods", "list"}}

// Driver has the rights that the chart gives to drivers. Spark needs all of them and no others.
var Driver = []Right{
	{"", "pods", "get list watch create patch delete deletecollection"},
	{"", "configmaps", "create deletecollection"},
	{"", "services", "deletecollection"},
	{"", "persistentvolumeclaims", "list create deletecollection"},
}

// On returns the value of a switch whose default is true.
func On(value *bool) bool { return value == nil || *value }

// kindRights describes, in the order of kube.Kinds, which of the chart's values lets an operator serve a kind, and
// which rights it then needs beside those to read the custom resources and to write their status.
var kindRights = []struct {
	value  string
	served func(*config.Configuration) bool
	rights []Right
}{
	{"controller.sparkOperator.enable", func(c *config.Configuration) bool { return On(c.SparkOperator.Enabled) }, []Right{{Spark, "sparkapplications", "delete"}}},
	{"controller.scheduledApplications.enable", func(c *config.Configuration) bool { return On(c.ScheduledApplications.Enabled) }, []Right{{Spark, "sparkapplications", "create"}}},
	{"controller.connect.enable", func(c *config.Configuration) bool { return On(c.Connect.Enabled) }, nil},
	{"controller.apache.enable", func(c *config.Configuration) bool { return On(c.Apache.Enabled) }, []Right{{Apache, "sparkapplications", "patch delete"}}},
	{"controller.apache.clusters.enable", func(c *config.Configuration) bool { return On(c.Apache.Clusters.Enabled) },
		[]Right{
			{"apps", "statefulsets", "get list watch create patch delete"}, {"autoscaling", "horizontalpodautoscalers", "get list watch create patch delete"},
			{Apache, "sparkclusters", "patch"}, {"", "configmaps", "patch"},
		}},
}

// The API groups of the custom resources.
var (
	Spark  = v1beta2.SchemeGroupVersion.Group
	Apache = sparkv1.GroupVersion.Group
)

// SwitchedOff returns the chart's value that switches a kind off in a configuration; empty if the kind is served.
func SwitchedOff(c *config.Configuration, kind *kube.Kind) string {
	for i := range kube.Kinds {
		k := &kube.Kinds[i]

		first := i == 0 || kube.Kinds[i-1].Group != k.Group // has the switch of its group
		if k.Group == kind.Group && (first || k.Name == kind.Name) && !kindRights[i].served(c) {
			return kindRights[i].value
		}
	}
	return ""
}

// Operator returns the rights that an operator needs in a namespace that it serves. TestOperatorRights compares
// them with those of the chart.
func Operator(c *config.Configuration) []Right {
	rights := []Right{
		{"", "pods configmaps", "get list watch create delete"}, {"", "services", "get list watch create patch delete"}, {"", "events", "get list create patch"},
		{"networking.k8s.io", "networkpolicies", "get list watch create patch delete"}, {"policy", "poddisruptionbudgets", "get list watch create patch delete"},
		{"authorization.k8s.io", "localsubjectaccessreviews", "create"}, {"", "serviceaccounts", "get"},
	}
	for i := range kube.Kinds {
		if k := &kube.Kinds[i]; SwitchedOff(c, k) == "" {
			rights = append(append(rights, Right{k.Group, k.Resource, "get list watch"}, Right{k.Group, k.Resource + "/status", "patch"}), kindRights[i].rights...)
		}
	}

	if c.Submission.Mode != config.SubmissionNative {
		rights = append(rights, Right{"", "secrets", "create deletecollection"})
	}
	return rights
}

// Missing returns which of the rights a service account does not have in a namespace, as texts such as "create, patch
// pods". An error means that this is unknown.
func Missing(ctx context.Context, c *kube.Client, a Account, namespace string, rights []Right) (missing []string, err error) {
	authorization, err := typedauthorizationv1.NewForConfig(c.Config())
	if err != nil {
		return nil, err
	}

	for _, right := range rights {
		for resource := range strings.FieldsSeq(right.resources) {
			var lost []string
			for verb := range strings.FieldsSeq(right.verbs) {
				review, err := authorization.LocalSubjectAccessReviews(namespace).Create(ctx, reviewOf(a, namespace, verb, right.group, resource), metav1.CreateOptions{})
				if err != nil {
					return nil, c.Explain(err)
				}

				if !review.Status.Allowed {
					lost = append(lost, verb)
				}
			}

			if len(lost) > 0 {
				missing = append(missing, strings.Join(lost, ", ")+" "+strings.TrimSuffix(resource+"."+right.group, "."))
			}
		}
	}
	return missing, nil
}

// reviewOf returns a request whether a service account has a right in a namespace.
func reviewOf(a Account, namespace, verb, group, resource string) *authorizationv1.LocalSubjectAccessReview {
	resource, sub, _ := strings.Cut(resource, "/")
	return &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + a.Namespace + ":" + a.Name,
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + a.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub},
		},
	}
}
