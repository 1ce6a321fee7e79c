package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// The operator makes Secrets for pods that run spark-submit and for Connect servers, and deletes them by the labels that say whose they are. It never reads one, and has
// no right to: a name does not tell whose a Secret is, so nothing is decided by it (docs/decisions/0005-spark-submit-in-a-pod.md).

// remakeSecret deals with the name of a Secret that is taken. The pod that mounts it tells whether an earlier pass got further: then it stays, as
// that may be reading it. Else one of this application's attempt is made again; what is still in the way then is somebody else's.
func (r *Reconciler) remakeSecret(ctx context.Context, p *pass, secret *corev1.Secret, mountedBy *corev1.Pod) (fact, error) {
	pod, _, err := r.readLive(ctx, mountedBy)
	if err == nil && identity.BelongsTo(pod, p.stored) && identity.Attempt(pod) == identity.Attempt(secret) {
		return nil, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err := r.deleteSecrets(ctx, p, identity.Attempt(secret)); err != nil {
		return nil, err
	}
	made := secret.DeepCopy()
	err = r.client.Create(ctx, made)
	switch {
	case err == nil:
		p.remember(made)
		return nil, nil
	case apierrors.IsAlreadyExists(err):
		return refused(lifecycle.Cause{Reason: reasonNameTaken, Message: fmt.Sprintf(
			"Secret %q already exists and does not belong to this application; delete it or choose another name for the application", secret.Name)}), nil
	}
	return answer(secret, err)
}

// deleteSecrets deletes the Secrets of an attempt, by whose they are.
func (r *Reconciler) deleteSecrets(ctx context.Context, p *pass, attempt int32) error {
	err := r.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(p.stored.GetNamespace()), client.MatchingLabels{
		identity.AppUIDLabel:  string(p.stored.GetUID()),
		identity.AttemptLabel: fmt.Sprint(attempt),
	})
	if err != nil {
		return fmt.Errorf("delete the Secrets of attempt %d: %w", attempt, err)
	}
	return nil
}

// mayHaveSecrets reports whether an attempt was launched by way of spark-submit, as far as anything is left of it that tells. Every Connect server may
// have a Secret.
func (r *Reconciler) mayHaveSecrets(p *pass, attempt int32) bool {
	if r.kind.Secrets.Servers {
		return true
	}
	known := false
	for _, object := range p.having() {
		if identity.Attempt(object) != attempt {
			continue
		}
		known = true
		if madeBySubmitter(object) {
			return true
		}
	}
	return !known && r.kind.Secrets.Runners
}

func madeBySubmitter(object metav1.Object) bool {
	if _, isSecret := object.(*corev1.Secret); isSecret {
		return true
	}
	_, bySubmitter := object.GetAnnotations()[lifecycle.SubmitterAnnotation]
	return bySubmitter || object.GetLabels()[identity.RoleLabel] == identity.RoleSubmitter
}
