package submit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// DriverObject returns the driver pod to create. The result is Driver itself, or an unstructured pod that also contains
// DriverExtra if the template has fields that Driver's type does not have. If Driver was changed after native.Build,
// its fields override those of the template.
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

// Objects is the result of native.Build. The caller must create the objects of Before, in any order, then the driver
// pod.
type Objects struct {
	// Before contains ConfigMaps, Services, Secrets, NetworkPolicies, claims and the PodGroup.
	Before []Object
	// Driver is the driver pod. The caller must create the result of DriverObject instead, which adds DriverExtra to
	// it.
	Driver *corev1.Pod
	// DriverExtra contains the fields of the driver's template that Driver's type (from k8s.io/api) does not have, as
	// decoded JSON at their places in the pod. A list element that has a name has the name in DriverExtra too.
	// DriverExtra is nil if there are no such fields.
	DriverExtra map[string]any
	// Warnings are messages for the user.
	Warnings []string
}

// DeepCopy returns a copy that shares no memory with o.
func (o Objects) DeepCopy() Objects {
	before := make([]Object, len(o.Before))
	for i, object := range o.Before {
		before[i] = object.DeepCopyObject().(Object)
	}
	return Objects{Before: before, Driver: o.Driver.DeepCopy(), DriverExtra: runtime.DeepCopyJSON(o.DriverExtra), Warnings: slices.Clone(o.Warnings)}
}

// Object is a Kubernetes object, including its metadata.
type Object interface {
	metav1.Object
	runtime.Object
}
