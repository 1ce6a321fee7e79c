package standalone

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Build returns the objects of a cluster. The error is an *Error that names the configuration key or the field of
// Request.
//
// Build sets spark.kubernetes.namespace in the configuration. Unless the user sets them, it also sets
// spark.shuffle.service.enabled and spark.worker.preferConfiguredMasterAddress to true. The Java operator sets
// spark.shuffle.service.enabled too. With spark.worker.preferConfiguredMasterAddress, workers find a master that
// restarted with another address.
func Build(r Request) (Objects, error) {
	d, err := newDraft(r)
	if err != nil {
		return Objects{}, err
	}

	o := &Objects{extra: map[Object]map[string]any{}}
	if err := d.configuration(o); err != nil {
		return Objects{}, err
	}

	for _, part := range []func(*Objects) error{d.master, d.workers, d.services, d.autoscaler} {
		if err := part(o); err != nil {
			return Objects{}, err
		}
	}

	d.policy(o)

	if err := d.openMetrics(o); err != nil {
		return Objects{}, err
	}

	d.masterPolicy(o)
	d.budget(o)
	d.warnAuthentication()
	d.warnLost(o)
	o.Warnings = d.warns
	return *o, nil
}

// All returns the objects in the order of their creation: an object follows the objects that it needs. If the template
// of an object has fields that the Go type does not have, the object is returned as unstructured and contains these
// fields. If a typed object was changed after Build, its fields override those of the template.
func (o Objects) All() ([]Object, error) {
	var all []Object

	add := func(there bool, object Object) error {
		if !there {
			return nil
		}

		if extra := o.extra[object]; len(extra) > 0 {
			tree, err := podtemplate.Tree(object)
			if err != nil {
				return err
			}

			podtemplate.Graft(tree, runtime.DeepCopyJSON(extra), func(string) {})
			object = &unstructured.Unstructured{Object: tree}
		}

		all = append(all, object)
		return nil
	}
	for _, candidate := range []struct {
		there  bool
		object Object
	}{
		{o.Config != nil, o.Config}, {o.Secret != nil, o.Secret}, {o.MasterService != nil, o.MasterService}, {o.WorkerService != nil, o.WorkerService},
		{o.Policy != nil, o.Policy}, {o.MasterPolicy != nil, o.MasterPolicy}, {o.Budget != nil, o.Budget}, {o.Master != nil, o.Master}, {o.Workers != nil, o.Workers}, {o.Autoscaler != nil, o.Autoscaler},
	} {
		if err := add(candidate.there, candidate.object); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// meta returns the metadata of an object with the user's labels and annotations. The role is empty for an object that
// belongs to the whole cluster.
func (d *draft) meta(name, role string, user Metadata) metav1.ObjectMeta {
	labels := map[string]string{}
	maps.Copy(labels, user.Labels)
	maps.Copy(labels, d.r.Labels)
	labels[labelOperatorName] = d.r.OperatorName
	maps.Copy(labels, d.podLabels(role))
	return metav1.ObjectMeta{
		Name: name, Namespace: d.r.Namespace, Labels: labels, Annotations: maps.Clone(user.Annotations), OwnerReferences: owners(d.r.Owner),
	}
}

// podLabels returns the labels by which users identify the cluster and the role of a pod or another object.
func (d *draft) podLabels(role string) map[string]string {
	labels := map[string]string{LabelClusterName: d.r.Name}
	if d.r.SparkVersion != "" {
		labels[LabelVersion] = d.r.SparkVersion
	}

	if role != "" {
		labels[LabelRole] = role
	}
	return labels
}

// selector returns the labels that select the pods of a role of this cluster.
func (d *draft) selector(role string) map[string]string {
	return map[string]string{LabelClusterName: d.r.Name, LabelRole: role}
}

// owners returns the owner reference, marked as the controller, or nil if the owner has no UID.
func owners(owner metav1.OwnerReference) []metav1.OwnerReference {
	if owner.UID == "" {
		return nil
	}

	controller := *owner.DeepCopy()
	controller.Controller = new(true)
	return []metav1.OwnerReference{controller}
}

// warnLost adds a warning for each field that the Go types do not have and that cannot be merged into the objects.
func (d *draft) warnLost(o *Objects) {
	for _, template := range []struct {
		field  string
		object Object
	}{
		{fieldMasterSet, o.Master}, {fieldWorkerSet, o.Workers}, {fieldMasterService, o.MasterService}, {fieldWorkerService, o.WorkerService}, {fieldAutoscaler, o.Autoscaler},
	} {
		extra := o.extra[template.object]
		if len(extra) == 0 {
			continue
		}

		if tree, err := podtemplate.Tree(template.object); err == nil {
			podtemplate.Graft(tree, runtime.DeepCopyJSON(extra), func(path string) { d.warns.OfField(template.field, "%s: has fields that cannot be kept", path) })
		}
	}
}

// keep stores the fields of an object's spec that the Go type does not have.
func (o *Objects) keep(object Object, extra map[string]any) {
	if len(extra) > 0 {
		o.extra[object] = map[string]any{"spec": extra}
	}
}

// envOf returns the variable of a container with the given name, or nil if there is none.
func envOf(c *corev1.Container, name string) *corev1.EnvVar {
	for i := range c.Env {
		if c.Env[i].Name == name {
			return &c.Env[i]
		}
	}
	return nil
}
