// Package admit applies settings of executors when the API server admits their pods.
//
// Spark builds the executors' pods from a template and overwrites some parts of it. For such a part, the operator marks
// the template with a label and annotations. The label chooses the mechanism that changes the pods at admission, and
// the annotations contain the settings. Spark copies the label and the annotations to every executor, so that a pod
// itself contains everything that its admission needs. The label makes it possible to select exactly the pods that need
// a change.
//
// The label and the annotations give no rights: they change only the pod that carries them, before the API server
// checks the pod. A user who may create such a pod may also create the changed pod.
package admit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Label marks the executors that are changed at admission. Its value is a Mechanism.
const Label = "sparkoperator.dev/executor-overlay"

// The annotations that contain the settings. If an annotation is missing, its part of the pod does not change.
const (
	// ContainerAnnotation has the name of the Spark container. If it is missing, the name is overlay.ExecutorContainer.
	ContainerAnnotation = "sparkoperator.dev/overlay-container"
	// MemoryLimitAnnotation has a quantity, such as 4Gi.
	MemoryLimitAnnotation = "sparkoperator.dev/overlay-memory-limit"
	// gpuAnnotation has the name of a device and its amount, such as nvidia.com/gpu=2.
	gpuAnnotation = "sparkoperator.dev/overlay-gpu"
	// lifecycleAnnotation has the container's lifecycle hooks as JSON.
	lifecycleAnnotation = "sparkoperator.dev/overlay-lifecycle"
	// envAnnotation has a list of environment variables as JSON.
	envAnnotation = "sparkoperator.dev/overlay-env"
)

// Mechanism is the admission mechanism that changes the executors' pods.
type Mechanism string

// The mechanisms. None means that nothing changes the pods.
const (
	None Mechanism = ""
	// Policy is a MutatingAdmissionPolicy. The API server itself evaluates it. Its language (CEL) reads no JSON, so a
	// policy applies only the memory limit and the GPU.
	Policy Mechanism = "policy"
	// Webhook is the operator's mutating webhook, which applies all settings.
	Webhook Mechanism = "webhook"
)

// maxJSON is the maximum length of the annotations in JSON, in bytes. Every executor carries these annotations, and
// Kubernetes allows 256 KiB for all annotations of an object.
const maxJSON = 64 << 10

// Settings are the settings of an application's executors that are applied at admission.
type Settings struct {
	By Mechanism
	// Overlay contains only fields that a mechanism can apply: MemoryLimit, GPU, Lifecycle and Env.
	Overlay overlay.Overlay
}

// Available lists the mechanisms that a cluster has.
type Available struct{ Policy, Webhook bool }

// Choose returns how an overlay is applied at admission. It prefers the policy if the policy applies the whole overlay,
// because a policy needs no other process. If only a part can be applied, the result contains only this part.
func (a Available) Choose(o overlay.Overlay) Settings {
	whole := overlay.Overlay{MemoryLimit: o.MemoryLimit, GPU: o.GPU, Lifecycle: o.Lifecycle, Env: o.Env}

	simple := overlay.Overlay{MemoryLimit: o.MemoryLimit, GPU: o.GPU}
	switch {
	case a.Policy && !simple.IsZero() && len(o.Env) == 0 && o.Lifecycle == nil:
		return Settings{By: Policy, Overlay: simple}
	case a.Webhook && !whole.IsZero() && fits(whole):
		return Settings{By: Webhook, Overlay: whole}
	case a.Policy && !simple.IsZero():
		return Settings{By: Policy, Overlay: simple}
	case a.Webhook && !simple.IsZero():
		return Settings{By: Webhook, Overlay: simple}
	}
	return Settings{}
}

func fits(o overlay.Overlay) bool {
	size := 0
	for _, value := range []any{o.Lifecycle, o.Env} {
		text, err := json.Marshal(value)
		if err != nil {
			return false
		}

		size += len(text)
	}
	return size <= maxJSON
}

// Mark puts the label and the annotations of s on a pod, which is a template of executors. The argument container is
// the name of the Spark container. If s has no mechanism, Mark changes nothing.
func (s Settings) Mark(pod *corev1.Pod, container string) error {
	if s.By == None {
		return nil
	}

	annotations := map[string]string{ContainerAnnotation: container}
	if s.Overlay.MemoryLimit != nil {
		annotations[MemoryLimitAnnotation] = s.Overlay.MemoryLimit.String()
	}

	if gpu := s.Overlay.GPU; gpu != (overlay.GPU{}) {
		annotations[gpuAnnotation] = gpu.Name + "=" + strconv.FormatInt(gpu.Quantity, 10)
	}

	for name, value := range map[string]any{lifecycleAnnotation: s.Overlay.Lifecycle, envAnnotation: s.Overlay.Env} {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}

		if string(text) != "null" {
			annotations[name] = string(text)
		}
	}
	return overlay.Apply(pod, container, overlay.Overlay{Labels: map[string]string{Label: string(s.By)}, Annotations: annotations})
}

// Apply applies the settings in a pod's annotations to the pod, whatever mechanism its label names. Apply is
// idempotent. A pod without the label does not change. An error names the annotation; after an error the pod may be
// partly changed.
func Apply(pod *corev1.Pod) error {
	if pod.Labels[Label] == "" {
		return nil
	}

	o, err := read(pod.Annotations)
	if err != nil {
		return err
	}

	if err := overlay.Apply(pod, cmp.Or(pod.Annotations[ContainerAnnotation], overlay.ExecutorContainer), o); err != nil {
		return fmt.Errorf("the executor's settings do not fit its pod: %w", err)
	}
	return nil
}

// read returns the overlay in the annotations of a pod.
func read(annotations map[string]string) (o overlay.Overlay, err error) {
	if text, ok := annotations[MemoryLimitAnnotation]; ok {
		limit, err := bounds.Quantity(text)
		if err != nil {
			return o, fmt.Errorf("metadata.annotations[%s]: %w", MemoryLimitAnnotation, err)
		}

		o.MemoryLimit = &limit
	}

	if text, ok := annotations[gpuAnnotation]; ok {
		name, amount, _ := strings.Cut(text, "=")

		quantity, err := strconv.ParseInt(amount, 10, 64)
		if err != nil || name == "" {
			return o, fmt.Errorf("metadata.annotations[%s]: %.100q does not have the form DEVICE=AMOUNT; write, for example, nvidia.com/gpu=1", gpuAnnotation, text)
		}

		o.GPU = overlay.GPU{Name: name, Quantity: quantity}
	}

	if err := readJSON(annotations, lifecycleAnnotation, lifecycleShape, &o.Lifecycle); err != nil {
		return o, err
	}
	return o, readJSON(annotations, envAnnotation, envShape, &o.Env)
}

var lifecycleShape, envShape = bounds.ShapeOf[corev1.Lifecycle](), bounds.ShapeOf[[]corev1.EnvVar]()

// readJSON decodes an annotation, which may be missing. Anybody who may create pods may write the annotation, so its
// text is checked against the limits of a spec before it is decoded.
func readJSON(annotations map[string]string, name string, shape *bounds.Shape, into any) error {
	text, ok := annotations[name]
	if !ok {
		return nil
	}

	if len(text) > maxJSON {
		return fmt.Errorf("metadata.annotations[%s]: has %d bytes, and at most %d are accepted", name, len(text), maxJSON)
	}

	if fault := bounds.Check([]byte(text), shape, "metadata.annotations["+name+"]"); fault != nil {
		return fault
	}

	if err := utiljson.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("metadata.annotations[%s]: %s", name, bounds.Shorten(err.Error()))
	}
	return nil
}
