package gang

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The PodGroup kinds of Volcano and of the coscheduling plugin.
var (
	// VolcanoKind is Volcano's PodGroup.
	VolcanoKind = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}
	// CoschedulingKind is the PodGroup of kube-scheduler's coscheduling plugin.
	CoschedulingKind = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
)

const (
	// VolcanoAnnotation on a pod names its PodGroup for Volcano.
	VolcanoAnnotation = "scheduling.k8s.io/group-name"
	// CoschedulingLabel on a pod names its PodGroup for the coscheduling plugin.
	CoschedulingLabel = "scheduling.x-k8s.io/pod-group"
)

// Group is the input of a PodGroup.
type Group struct {
	// Namespace and Name of the object. They are not checked: the API server rejects invalid names.
	Namespace, Name string
	// Labels of the object.
	Labels map[string]string
	// Owner of the object. If its UID is empty, the object has no owner.
	Owner metav1.OwnerReference
	// MinResources are the resources that must be free before the first pod starts (spec.minResources). If the list is
	// empty, the field is omitted.
	MinResources corev1.ResourceList
	// Queue and PriorityClassName are fields of Volcano's PodGroup (spec.queue, spec.priorityClassName). Empty values
	// are omitted; the queue is then "default". The PodGroup of the coscheduling plugin has neither field, because the
	// plugin uses the pods' priority.
	Queue, PriorityClassName string
}

// VolcanoName returns the name of an application's PodGroup for Volcano.
func VolcanoName(application string) string { return "spark-" + application + "-pg" }

// maxLabel is the maximum length of a label value.
const maxLabel = 63

// CoschedulingName returns the name of an application's PodGroup for the coscheduling plugin, "<application>-pg". The
// name is also a label value. If the name would be too long for a label value, the application's name is cut, and eight
// digits of its SHA-256 are added, so that the names of different applications stay different.
func CoschedulingName(application string) string {
	const suffix = "-pg"
	if len(application)+len(suffix) <= maxLabel {
		return application + suffix
	}

	sum := sha256.Sum256([]byte(application))
	suffixes := "-" + hex.EncodeToString(sum[:4]) + suffix
	return strings.TrimRight(application[:maxLabel-len(suffixes)], "-.") + suffixes
}

// Volcano returns the PodGroup with which Volcano schedules an application. Its minimum is one member. Its phase is
// Pending, the phase in which Volcano decides whether to admit a group to its queue. A new object can set its phase,
// because this kind has no status subresource.
func Volcano(g Group) *unstructured.Unstructured {
	spec := g.spec()
	if g.Queue != "" {
		spec["queue"] = g.Queue
	}

	if g.PriorityClassName != "" {
		spec["priorityClassName"] = g.PriorityClassName
	}

	object := g.object(VolcanoKind, spec)
	object.Object["status"] = map[string]any{"phase": "Pending"}
	return object
}

// Coscheduling returns the PodGroup with which kube-scheduler's coscheduling plugin schedules an application. Its
// minimum is one member.
func Coscheduling(g Group) *unstructured.Unstructured { return g.object(CoschedulingKind, g.spec()) }

func (g Group) spec() map[string]any {
	spec := map[string]any{"minMember": int64(1)}
	if len(g.MinResources) > 0 {
		least := map[string]any{}
		for name, amount := range g.MinResources {
			least[string(name)] = amount.String()
		}

		spec["minResources"] = least
	}
	return spec
}

func (g Group) object(kind schema.GroupVersionKind, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(g.Namespace)
	object.SetName(g.Name)

	if len(g.Labels) > 0 {
		object.SetLabels(maps.Clone(g.Labels))
	}

	if g.Owner.UID != "" {
		object.SetOwnerReferences([]metav1.OwnerReference{*g.Owner.DeepCopy()})
	}
	return object
}
