package change

import (
	"cmp"
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Create creates an object in the cluster. The argument validation says what an unknown field is, in the words of the
// API server; empty means Strict. In a dry run, the API server only checks the object. The error says what to do.
func Create(ctx context.Context, c *kube.Client, object client.Object, validation string, dryRun bool) error {
	kind := kinds.Of(object)
	object.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)
	object.SetResourceVersion("")

	options := []client.CreateOption{client.FieldValidation(cmp.Or(validation, metav1.FieldValidationStrict))}
	if dryRun {
		options = append(options, client.DryRunAll)
	}

	err := c.Create(ctx, object, options...)
	object.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)

	switch {
	case apierrors.IsAlreadyExists(err):
		return exit.Errorf(exit.Cluster, "%s exists already; delete it with %s, or choose another name", kube.Title(object),
			kube.Hint("delete", object))
	case Missing(err, schema.GroupResource{Resource: "namespaces"}):
		return exit.Errorf(exit.Cluster, "namespace %s does not exist; create it with: %s", object.GetNamespace(), terminal.Commandf("kubectl create namespace %s", object.GetNamespace()))
	}
	return c.ExplainFor(err, kind)
}

// Missing reports whether an error says that an object of the given resource does not exist.
func Missing(err error, resource schema.GroupResource) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return apierrors.IsNotFound(err) && status.Status().Details.Kind == resource.Resource && status.Status().Details.Group == resource.Group
}
