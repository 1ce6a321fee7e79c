package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// PodPath is the URL path of the reviews of pods.
const PodPath = "/validate--v1-pod"

// Pods judges pods by the rules of the platform for their namespace, when the API server creates or changes them. A
// driver may request other pods than its custom resource described, because its program can change the configuration.
//
// The chart decides which pods the API server sends, and Pods judges each of them. A pod that it cannot judge is
// refused, because nothing checks the pod later. All replicas answer, whether they lead or not.
type Pods struct {
	// Settings, Serves and Labels have the same meaning as in Reviewer.
	Settings func() config.Configuration
	Serves   func(ctx context.Context, namespace string) (bool, error)
	Labels   func(ctx context.Context, namespace string) (map[string]string, error)
	// DefaultClass reports whether a PriorityClass is the default of the cluster. The API server gives it to pods
	// without a class, so that no rule may refuse it.
	DefaultClass func(ctx context.Context, name string) (bool, error)
	Log          logr.Logger
}

// podSubresources are the subresources through which users change what is judged. The empty text is the pod itself.
var podSubresources = []string{"", "ephemeralcontainers", "resize"}

// Handle implements admission.Handler.
func (p *Pods) Handle(ctx context.Context, req admission.Request) (response admission.Response) {
	defer func() {
		if fault := recover(); fault != nil {
			p.Log.Error(fmt.Errorf("panic: %v", fault), "Review of a pod failed because of a bug of the operator; report it with the stack", "namespace", req.Namespace, "name", req.Name, "stack", string(debug.Stack()))

			response = admission.Errored(http.StatusInternalServerError, errors.New("the operator failed with an internal error (see its log)"))
		}
	}()

	if req.Resource.Resource != "pods" || !slices.Contains(podSubresources, req.SubResource) ||
		req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return admission.Allowed("")
	}

	limited, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()

	faults, err := p.judge(limited, req)
	switch {
	case err != nil:
		p.Log.Error(err, "Could not judge a pod by the rules of the platform", "namespace", req.Namespace, "name", req.Name)
		return admission.Errored(http.StatusInternalServerError, errors.New("the operator cannot judge the pod by the rules of the platform now (see its log); try again"))
	case len(faults) > 0:
		return refused(req, faults)
	}
	return admission.Allowed("")
}

// judge returns the faults of a pod. For an update, it returns only those that the pod did not have before: a pod that
// is older than a rule keeps running, and everything else about it can change.
func (p *Pods) judge(ctx context.Context, req admission.Request) ([]*dialect.FieldError, error) {
	served, err := p.Serves(ctx, req.Namespace)
	if err != nil || !served {
		return nil, err
	}

	update := req.Operation == admissionv1.Update
	if update {
		if old, edited, err := specs(req.OldObject.Raw, req.Object.Raw); err == nil && bytes.Equal(old, edited) {
			return nil, nil
		}
	}

	labels, err := p.Labels(ctx, req.Namespace)
	if err != nil {
		return nil, err
	}

	faults, err := p.faults(ctx, labels, req.Object.Raw)
	if err != nil || len(faults) == 0 || !update {
		return faults, err
	}

	before, err := p.faults(ctx, labels, req.OldObject.Raw)
	return slices.DeleteFunc(faults, func(fault *dialect.FieldError) bool {
		return slices.ContainsFunc(before, func(old *dialect.FieldError) bool { return *old == *fault })
	}), err
}

// faults returns the faults of the pod with the given JSON, in a namespace with the given labels.
func (p *Pods) faults(ctx context.Context, labels map[string]string, raw []byte) ([]*dialect.FieldError, error) {
	if fault := bounds.Check(raw, podShape, ""); fault != nil {
		return []*dialect.FieldError{{Field: "spec", Message: fault.Error()}}, nil
	}

	pod := &corev1.Pod{}
	if err := utiljson.Unmarshal(raw, pod); err != nil {
		return []*dialect.FieldError{{Field: "spec", Message: "cannot be read: " + bounds.Shorten(err.Error())}}, nil
	}

	policy := p.Settings().Policy

	faults := policy.PodFaults(labels, pod)
	if class := pod.Spec.PriorityClassName; len(faults) > 0 && class != "" {
		standard, err := p.DefaultClass(ctx, class)
		if err != nil {
			return nil, fmt.Errorf("read the priority class %s: %w", class, err)
		}

		if standard {
			pod.Spec.PriorityClassName = ""
			faults = policy.PodFaults(labels, pod)
		}
	}
	return faults, nil
}
