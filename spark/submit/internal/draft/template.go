package draft

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// KeepExtra merges extra into pod and returns the result as decoded JSON. The map extra contains the fields of the
// pod's template that the Go types do not have. KeepExtra adds a warning for each place at which fields cannot be
// merged.
func (d *Draft) KeepExtra(field string, pod *corev1.Pod, spark string, extra map[string]any, o overlay.Overlay) (map[string]any, error) {
	d.dropReplaced(field, spark, extra, o)

	tree, err := podtemplate.Tree(pod)
	if err != nil {
		return nil, err
	}

	podtemplate.Graft(tree, runtime.DeepCopyJSON(extra), func(path string) {
		d.Warn("%s: %s: has fields that cannot be kept", field, path)
	})
	return tree, nil
}

// dropReplaced removes the fields below affinity, dnsConfig, securityContext and lifecycle from extra, and adds a
// warning, if the overlay replaces the whole object to which the fields belong.
func (d *Draft) dropReplaced(field, spark string, extra map[string]any, o overlay.Overlay) {
	spec, _ := extra["spec"].(map[string]any)
	drop := func(fields map[string]any, key string, replaced bool) {
		if _, ok := fields[key]; ok && replaced {
			delete(fields, key)
			d.Warn("%s: %s: has fields that cannot be kept, because another setting replaces the whole field", field, key)
		}
	}
	drop(spec, "affinity", o.Affinity != nil)
	drop(spec, "dnsConfig", o.DNSConfig != nil)
	drop(spec, "securityContext", o.PodSecurityContext != nil)

	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		if fields, _ := c.(map[string]any); fields["name"] == spark {
			drop(fields, "securityContext", o.SecurityContext != nil)
			drop(fields, "lifecycle", o.Lifecycle != nil)
		}
	}
}

// SetPodDefaults sets two defaults of every pod unless the pod's template sets them. The pod gets no environment
// variables for the namespace's Services. If a container fails without a message, the end of its log becomes its
// message.
func SetPodDefaults(pod *corev1.Pod, spark *corev1.Container) {
	if pod.Spec.EnableServiceLinks == nil {
		pod.Spec.EnableServiceLinks = new(false)
	}

	setMessagePolicy(spark)
}

func setMessagePolicy(container *corev1.Container) {
	if container.TerminationMessagePolicy == "" {
		container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
}

// ApplyOverlay applies an overlay to the pod. It converts an *overlay.Error into an *Error that names the field. It
// also gives all init containers, of the template and of the overlay, the default message policy, because the message
// of a failed init container is the only message of the pod.
func ApplyOverlay(field string, pod *corev1.Pod, container string, o overlay.Overlay) error {
	err := overlay.Apply(pod, container, o)
	if wrong, ok := errors.AsType[*overlay.Error](err); ok {
		return submit.FieldErrorf(field+"."+wrong.Field, "%s", wrong.Message)
	}

	for i := range pod.Spec.InitContainers {
		setMessagePolicy(&pod.Spec.InitContainers[i])
	}
	return err
}

// podTemplate is a parsed pod template. Its Spark container is separate from the pod.
type podTemplate struct {
	// pod is the pod without the Spark container.
	pod   *corev1.Pod
	spark corev1.Container
	// extra contains the fields that the types of pod and spark do not have, at their places in the pod. It includes
	// the fields of the Spark container.
	extra map[string]any
}

// template parses a pod template and separates the Spark container from the pod. The Spark container is the container
// that the value of the configuration key names, else the first container. If the Spark container has no name, it gets
// the name that the parameter `name` contains. If there is no template, the pod is empty and the container has only its
// name.
func (d *Draft) template(field string, data []byte, key, name string) (podTemplate, error) {
	t, err := podtemplate.Read(data)
	if err != nil {
		return podTemplate{}, submit.FieldErrorf(field, "%v", err)
	}

	if slices.Contains(t.Dropped, "metadata.ownerReferences") {
		d.Warn("%s: metadata.ownerReferences are left out: the operator sets the owner", field)
	}

	wanted := ""
	if len(t.Pod.Spec.Containers) > 0 {
		if wanted, err = d.Conf.String(key, ""); err != nil {
			return podTemplate{}, err
		}
	}

	spark := t.Take(wanted, name)
	return podTemplate{pod: t.Pod, spark: spark, extra: t.Extra}, nil
}
