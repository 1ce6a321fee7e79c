package dependents

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// The operator creates Secrets for pods that run spark-submit and for Connect servers, and deletes them by the labels
// that identify their owner. It never reads a Secret, and has no right to read one. A name does not prove who owns a
// Secret, so no decision depends on a Secret's name (docs/decisions/0005-spark-submit-in-a-pod.md).

// DeleteSecrets deletes the Secrets of an attempt by their labels.
func (c Client) DeleteSecrets(ctx context.Context, owner client.Object, attempt int32) error {
	err := c.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(owner.GetNamespace()), client.MatchingLabels{
		identity.AppUIDLabel:  string(owner.GetUID()),
		identity.AttemptLabel: fmt.Sprint(attempt),
	})
	if err != nil {
		return fmt.Errorf("delete the Secrets of attempt %d: %w", attempt, err)
	}
	return nil
}

// MayHaveSecrets reports whether an attempt may have Secrets. An attempt of a Connect server always may. Any other
// attempt may have Secrets if one of its remaining objects shows that it was launched through spark-submit. If no
// object of the attempt remains, the result is whether the kind uses spark-submit.
func MayHaveSecrets(secrets contract.Secrets, left []client.Object, attempt int32) bool {
	if secrets.Servers {
		return true
	}

	known := false
	for _, object := range left {
		if identity.Attempt(object) != attempt {
			continue
		}

		known = true

		if madeBySubmitter(object) {
			return true
		}
	}
	return !known && secrets.Runners
}

func madeBySubmitter(object metav1.Object) bool {
	if _, isSecret := object.(*corev1.Secret); isSecret {
		return true
	}

	_, bySubmitter := object.GetAnnotations()[lifecycle.SubmitterAnnotation]
	return bySubmitter || object.GetLabels()[identity.RoleLabel] == identity.RoleSubmitter
}
