package submit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// DriverObject returns the driver pod to create. The result is Driver itself, or an unstructured pod that also contains
// DriverExtra if the template has fields that Driver's type does not have. If Driver was changed after Build, its
// fields override those of the template.
func (o Objects) DriverObject() (Object, error) {
	if len(o.DriverExtra) == 0 {
		return o.Driver, nil
	}
	tree, err := podtemplate.Tree(o.Driver)
	if err != nil {
		return nil, err
	}
	podtemplate.Graft(tree, runtime.DeepCopyJSON(o.DriverExtra), func(string) {})
	return &unstructured.Unstructured{Object: tree}, nil
}

// keepExtra merges extra into pod and returns the result as decoded JSON. The map extra contains the fields of the
// pod's template that the Go types do not have. keepExtra adds a warning for each place at which fields cannot be
// merged.
func (d *draft) keepExtra(field string, pod *corev1.Pod, spark string, extra map[string]any, o overlay.Overlay) (map[string]any, error) {
	d.dropReplaced(field, spark, extra, o)
	tree, err := podtemplate.Tree(pod)
	if err != nil {
		return nil, err
	}
	podtemplate.Graft(tree, runtime.DeepCopyJSON(extra), func(path string) {
		d.warn("%s: %s: has fields that cannot be kept", field, path)
	})
	return tree, nil
}

// dropReplaced removes the fields below affinity, dnsConfig, securityContext and lifecycle from extra, and adds a
// warning, if the overlay replaces the whole object to which the fields belong.
func (d *draft) dropReplaced(field, spark string, extra map[string]any, o overlay.Overlay) {
	spec, _ := extra["spec"].(map[string]any)
	drop := func(fields map[string]any, key string, replaced bool) {
		if _, ok := fields[key]; ok && replaced {
			delete(fields, key)
			d.warn("%s: %s: has fields that cannot be kept, because another setting replaces the whole field", field, key)
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
