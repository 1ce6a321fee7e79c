package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/spark/admit"
)

// ExecutorPath is the path at which executors' pods are changed. It is the path that kubeflow's operator uses for pods.
const ExecutorPath = "/mutate--v1-pod"

// Executors changes the pods of executors as their annotations say (package admit). It reads nothing but the pod, so it
// needs no cache and gives the same answer on every replica.
//
// The API server creates no executor without an answer. If Executors cannot change a pod, it rejects the pod, so that
// no executor silently lacks its settings. The driver then requests another executor.
type Executors struct {
	Log logr.Logger
}

// Handle implements admission.Handler.
func (e *Executors) Handle(_ context.Context, req admission.Request) (response admission.Response) {
	defer func() {
		if fault := recover(); fault != nil {
			err := fmt.Errorf("panic: %v", fault)
			e.Log.Error(err, "Could not change an executor pod", "namespace", req.Namespace, "name", req.Name, "stack", string(debug.Stack()))
			response = admission.Errored(http.StatusInternalServerError, err)
		}
	}()
	if req.SubResource != "" || req.Operation != admissionv1.Create || req.Resource.Resource != "pods" {
		return admission.Allowed("")
	}
	before, after, err := changeExecutor(req.Object.Raw)
	if err != nil {
		return admission.Errored(http.StatusUnprocessableEntity, err)
	}
	return admission.PatchResponseFromRaw(before, after)
}

var podShape = bounds.RawShape[corev1.Pod]()

// changeExecutor returns a pod in JSON before and after the change. Both have only the fields that the Go types have,
// so that a patch from one to the other leaves other fields of the pod alone.
func changeExecutor(raw []byte) (before, after []byte, err error) {
	if fault := bounds.Check(raw, podShape, ""); fault != nil {
		return nil, nil, fault
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return nil, nil, fmt.Errorf("the pod cannot be read: %s", bounds.Shorten(err.Error()))
	}
	if before, err = json.Marshal(pod); err != nil {
		return nil, nil, err
	}
	if err := admit.Apply(pod); err != nil {
		return nil, nil, err
	}
	after, err = json.Marshal(pod)
	return before, after, err
}
