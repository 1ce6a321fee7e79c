package identity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Dependents returns a selector of the objects that have an AppUIDLabel, for any custom resource.
func Dependents() labels.Selector {
	return labels.NewSelector().Add(requirement(AppUIDLabel, selection.Exists))
}

// SparkPods returns a selector of drivers, Spark Connect servers, submitters and executors. If the argument `clusters`
// is true, the selector includes the pods of standalone clusters.
//
// The selector uses Spark's own role label, because the pods of another operator have none of our labels.
func SparkPods(clusters bool) labels.Selector {
	roles := append([]string{RoleExecutor}, launchedRoles...)
	if clusters {
		roles = append(roles, clusterRoles...)
	}
	return labels.NewSelector().Add(requirement(RoleLabel, selection.In, roles...))
}

// PodsNamed returns a selector of the pods that have the given value of a label. The label is AppUIDLabel, or a label
// that names the pods' custom resource. PodsNamed panics if the value is not a valid label value; UIDs and names of
// custom resources are valid.
func PodsNamed(label, value string) labels.Selector {
	return labels.NewSelector().Add(requirement(label, selection.Equals, value))
}

// LaunchedPodsNamed returns a selector of the drivers and submitters among the pods that PodsNamed selects.
func LaunchedPodsNamed(label, value string) labels.Selector {
	return PodsNamed(label, value).Add(requirement(RoleLabel, selection.In, launchedRoles...))
}

func requirement(label string, operator selection.Operator, values ...string) labels.Requirement {
	r, err := labels.NewRequirement(label, operator, values)
	if err != nil {
		panic(err)
	}
	return *r
}

// CacheIndex is the name of the index by which the caches find the dependents of a custom resource. IndexKeys returns
// the keys of an object in this index.
const CacheIndex = "app-uid"

// IndexKeys returns the keys of an object in the cache index: the value of AppUIDLabel or, if the object is unlabelled,
// the result of NameKeys.
func IndexKeys(object client.Object) []string {
	if uid := object.GetLabels()[AppUIDLabel]; uid != "" {
		return []string{uid}
	}
	return NameKeys(object)
}

// NameKeys returns the index keys of an object of another operator: a key for each custom resource that the object's
// labels name.
//
// An object can name several custom resources. For example, a Connect server passes its own labels on to its pods,
// including a label that names a SparkApplication. dependents.Adopter and the owner references decide who owns the
// object.
func NameKeys(object metav1.Object) []string {
	var keys []string
	for _, label := range NameLabels {
		if name := object.GetLabels()[label]; name != "" {
			keys = append(keys, NameKey(label, name))
		}
	}
	return keys
}

// NameKey returns the index key of the custom resource that a label names. The other index keys are UIDs. They contain
// no "=", so they never equal a name key.
func NameKey(label, name string) string { return label + "=" + name }

// Key returns the namespace and the name of an object.
func Key(object metav1.Object) client.ObjectKey {
	return client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// MetadataOnly returns an empty object with which to read only the metadata of objects of a kind.
func MetadataOnly(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}
