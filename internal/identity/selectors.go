package identity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Dependents selects the objects that carry the UID of a custom resource, of any custom resource.
func Dependents() labels.Selector {
	return labels.NewSelector().Add(requirement(AppUIDLabel, selection.Exists))
}

// SparkPods selects drivers, Spark Connect servers, submitters and executors, and the pods of standalone clusters if
// clusters is true.
//
// It selects by Spark's own role label, since the pods of another operator have no label of this one.
func SparkPods(clusters bool) labels.Selector {
	roles := append([]string{RoleExecutor}, launchedRoles...)
	if clusters {
		roles = append(roles, clusterRoles...)
	}
	return labels.NewSelector().Add(requirement(RoleLabel, selection.In, roles...))
}

// PodsNamed selects the pods that have a value of a label: AppUIDLabel, or the label that names their custom resource.
// It panics if the value is not valid for a label; UIDs and names of custom resources are.
func PodsNamed(label, value string) labels.Selector {
	return labels.NewSelector().Add(requirement(label, selection.Equals, value))
}

// LaunchedPodsNamed selects those pods of PodsNamed that IsLaunched accepts.
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

// CacheIndex is the name of the cache index by IndexKeys.
const CacheIndex = "app-uid"

// IndexKeys returns the keys of an object in the cache index: the UID of AppUIDLabel, or the keys of NameKeys if the
// object is unlabelled.
func IndexKeys(object client.Object) []string {
	if uid := object.GetLabels()[AppUIDLabel]; uid != "" {
		return []string{uid}
	}
	return NameKeys(object)
}

// NameKeys returns the index keys of an object of another operator: one for each custom resource that its labels name.
//
// An object can name several. A Connect server passes its own labels on to its pods, also the label that names a
// SparkApplication. Kind.Adopt and the owner references decide whose the object is.
func NameKeys(object metav1.Object) []string {
	var keys []string
	for _, label := range NameLabels {
		if name := object.GetLabels()[label]; name != "" {
			keys = append(keys, NameKey(label, name))
		}
	}
	return keys
}

// NameKey returns the index key of the custom resource that a label names. It never equals a UID.
func NameKey(label, name string) string { return label + "=" + name }

// Key returns the namespace and the name of an object.
func Key(object metav1.Object) client.ObjectKey {
	return client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// MetadataOnly returns an empty object to ask for objects of a kind without their content.
func MetadataOnly(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}
