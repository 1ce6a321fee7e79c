package apianswer

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
)

// These are the reasons of a wait for an admission webhook.
const (
	// ReasonWebhookFailed means that a required webhook does not answer.
	ReasonWebhookFailed = "WebhookFailed"
	// ReasonPodMutated means that a webhook adds to a pod an entry that the pod already has.
	ReasonPodMutated = "PodMutated"
)

// ofWebhook returns a Wait if an admission webhook prevents the creation of an object, and nil otherwise. The
// application is not at fault, and continues as soon as somebody has removed the webhook. The message of the Wait says
// how to remove it.
//
// The usual case is the pod webhook of the kubeflow operator, if it was not removed together with that operator. It
// selects the pods of applications of sparkoperator.k8s.io by a label that our pods have too. The webhook either does
// not respond, or adds volumes to our pods, which already have these volumes.
func ofWebhook(object client.Object, err error) *Wait {
	const remedy = "kubectl get mutatingwebhookconfigurations lists the webhooks. If another Spark operator left this one, " +
		"delete it, or make it skip pods with the label " + identity.ManagedLabel + " (docs/migrate-kubeflow.md)"
	if text := err.Error(); apierrors.IsInternalError(err) && strings.Contains(text, "failed calling webhook") {
		return &Wait{Reason: ReasonWebhookFailed, Message: text + "; " + remedy}
	}

	if doubled := doubledField(object, err); doubled != "" {
		return &Wait{Reason: ReasonPodMutated, Message: fmt.Sprintf(
			"an admission webhook adds to pod %s a part that the pod already has (%s); %s", object.GetName(), doubled, remedy)}
	}
	return nil
}

// doubledField returns the field that the API server rejects because it contains a duplicate, or "". If the pod in the
// request already had duplicates, the result is "". In all other cases a webhook has added the duplicate.
func doubledField(object client.Object, err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}

	pod := identity.PodOf(object)
	if pod == nil || hasDuplicates(&pod.Spec) {
		return ""
	}

	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldValueDuplicate {
			return cause.Field + ": " + cause.Message
		}
	}
	return ""
}

// hasDuplicates reports whether two volumes, two containers or two ports of a pod have the same name. A user's template
// can contain such duplicates.
func hasDuplicates(spec *corev1.PodSpec) bool {
	seen := map[string]bool{}

	twice := func(kind, name string) bool {
		key := kind + "/" + name
		repeated := seen[key] && name != ""
		seen[key] = true
		return repeated
	}
	for i := range spec.Volumes {
		if twice("volume", spec.Volumes[i].Name) {
			return true
		}
	}

	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if twice("container", containers[i].Name) {
				return true
			}

			for _, port := range containers[i].Ports {
				if twice("port of "+containers[i].Name, port.Name) {
					return true
				}
			}
		}
	}
	return false
}
