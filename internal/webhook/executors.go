package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/admit"
)

// ExecutorPath is the URL path of the webhook that changes executor pods. Kubeflow's operator uses the same path for
// pods.
const ExecutorPath = "/mutate--v1-pod"

// Executors changes executor pods as their annotations specify (see package admit). It reads nothing but the pod, so it
// needs no cache, and every replica gives the same answer.
//
// The API server creates an executor only after an answer. If Executors cannot change a pod, it rejects the pod,
// because the executor would otherwise silently lack its settings. The driver then requests another executor.
type Executors struct {
	Log logr.Logger
}

// Handle implements admission.Handler.
func (e *Executors) Handle(_ context.Context, req admission.Request) (response admission.Response) {
	defer func() {
		if fault := recover(); fault != nil {
			err := fmt.Errorf("panic: %v", fault)
			e.Log.Error(err, "Could not change an executor pod because of a bug of the operator; report it with the stack", "namespace", req.Namespace, "name", req.Name, "stack", string(debug.Stack()))
			response = admission.Errored(http.StatusInternalServerError, err)
		}
	}()

	if req.SubResource != "" || req.Operation != admissionv1.Create || req.Resource.Resource != "pods" {
		return admission.Allowed("")
	}

	before, after, err := changeExecutor(req.Object.Raw)
	if err != nil {
		return admission.Errored(http.StatusUnprocessableEntity, errors.New(bounds.Line(err.Error())))
	}
	return admission.PatchResponseFromRaw(before, after)
}

var podShape = bounds.RawShape[corev1.Pod]()

// changeExecutor returns the JSON of a pod before and after the change. Both texts contain only the fields that our Go
// type has. A patch from one text to the other therefore leaves all other fields of the pod unchanged.
func changeExecutor(raw []byte) (before, after []byte, err error) {
	if fault := bounds.Check(raw, podShape, ""); fault != nil {
		return nil, nil, fault
	}

	pod := &corev1.Pod{}
	if err := utiljson.Unmarshal(raw, pod); err != nil {
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
