package submit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// podTemplate is a template taken apart.
type podTemplate struct {
	// pod is all but the Spark container.
	pod   *corev1.Pod
	spark corev1.Container
	// extra are the fields that the two do not know, in their places; the Spark container is there too.
	extra map[string]any
}

// template reads a pod template and takes the Spark container out of it: the one that key names, else the first. A container without a name
// gets the one given. Without a template pod and container are empty but for that.
func (d *draft) template(field string, data []byte, key, name string) (podTemplate, error) {
	t, err := podtemplate.Read(data)
	if err != nil {
		return podTemplate{}, fieldError(field, "%v", err)
	}
	if slices.Contains(t.Left, "metadata.ownerReferences") {
		d.warn("%s: metadata.ownerReferences are left out: the owner is not the template's to choose", field)
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
