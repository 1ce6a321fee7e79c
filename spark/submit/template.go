package submit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

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
func (d *draft) template(field string, data []byte, key, name string) (podTemplate, error) {
	t, err := podtemplate.Read(data)
	if err != nil {
		return podTemplate{}, FieldErrorf(field, "%v", err)
	}
	if slices.Contains(t.Dropped, "metadata.ownerReferences") {
		d.warn("%s: metadata.ownerReferences are left out: the operator sets the owner", field)
	}
	wanted := ""
	if len(t.Pod.Spec.Containers) > 0 {
		if wanted, err = d.conf.String(key, ""); err != nil {
			return podTemplate{}, err
		}
	}
	spark := t.Take(wanted, name)
	return podTemplate{pod: t.Pod, spark: spark, extra: t.Extra}, nil
}
