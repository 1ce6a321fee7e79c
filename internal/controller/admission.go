package controller

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/identity"
)

// The reasons of what an admission webhook does to a pod of ours.
const (
	// reasonWebhookFailed is the reason where a webhook that must be asked does not answer.
	reasonWebhookFailed = "WebhookFailed"
	// reasonPodMutated is the reason where a webhook adds to a pod what it has already.
	reasonPodMutated = "PodMutated"
)

// inTheWay says what to do about a webhook that keeps a pod of ours from being made: somebody has to, and then the application goes on. None of
// this is the application's fault, so nothing has failed. It returns nil where no webhook does.
//
// Pods of this API carry a label by which the pod webhook of the kubeflow operator chooses what it completes. Ours are complete: one that is left
// behind either does not answer any more, or adds the volumes once more.
func inTheWay(object client.Object, err error) *waitError {
	const remedy = "kubectl get mutatingwebhookconfigurations shows it. If it is what another Spark operator left, delete it, or let it pass by pods with the label %s (docs/migrate-kubeflow.md)"
	if text := err.Error(); apierrors.IsInternalError(err) && strings.Contains(text, "failed calling webhook") {
		return &waitError{after: lookAgain, reason: reasonWebhookFailed, why: fmt.Sprintf("%s; "+remedy, text, identity.ManagedLabel)}
	}
	if doubled := doubledField(object, err); doubled != "" {
		return &waitError{after: lookAgain, reason: reasonPodMutated, why: fmt.Sprintf(
			"an admission webhook adds to pod %s what it already has: %s; "+remedy, object.GetName(), doubled, identity.ManagedLabel)}
	}
	return nil
}

// doubledField is what the API server says is there twice, where that was sent once; empty otherwise.
func doubledField(object client.Object, err error) string {
	var status apierrors.APIStatus
	pod := podOf(object)
	if pod == nil || !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil || repeats(&pod.Spec) {
		return ""
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldValueDuplicate {
			return cause.Field + ": " + cause.Message
		}
	}
	return ""
}

// podOf reads an object as a pod, also where it has fields that the type does not know; nil where it is none.
func podOf(object client.Object) *corev1.Pod {
	switch o := object.(type) {
	case *corev1.Pod:
		return o
	case *unstructured.Unstructured:
		pod := &corev1.Pod{}
		if o.GetKind() == "Pod" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, pod) == nil {
			return pod
		}
	}
	return nil
}

// repeats reports whether a pod's volumes, containers or ports have a name twice: what an application asks for by its template may.
func repeats(spec *corev1.PodSpec) bool {
	seen := map[string]bool{}
	twice := func(kind, name string) bool {
		key := kind + "/" + name
		was := seen[key] && name != ""
		seen[key] = true
		return was
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
