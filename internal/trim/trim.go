// Package trim says what the caches keep of an object. An operator of 10,000 applications has 50,000 executors in memory: what nobody reads of one is dropped as it
// comes in, what many say is kept once, and what a tenant can make large is bounded. What of a child is not even decoded follows from the same (Kept).
package trim

import (
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// childLabels are the labels of pods and of childKinds that anything is decided by.
var childLabels = append([]string{
	identity.AppUIDLabel, identity.AttemptLabel, identity.RoleLabel, lifecycle.ContentLabel, submit.SelectorLabel, submit.VersionLabel, submit.ExecutorIDLabel,
	sparkoperator.LabelSubmissionID, sparkoperator.LabelScheduledAppName, appsv1.StatefulSetPodNameLabel,
}, identity.NameLabels...)

// podAnnotations are the annotations of a pod that become facts: the spec that a driver was made from, the pod that submitted it, and where Spark 4.1 and newer
// leave the exception that ended a driver (spark.kubernetes.driver.annotateExitException).
var podAnnotations = []string{lifecycle.SpecHashAnnotation, lifecycle.SubmitterAnnotation, "spark.exit-exception"}

// Pod keeps of a pod what becomes facts: identity, owners, node, service account, scheduler, scheduling gates,
// container names, a grace period of 0, status. A driver pod's environment alone is larger than all of that.
func Pod(in any) (any, error) {
	pod, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	if identity.Unlabelled(pod) && identity.NameKeys(pod) == nil { // of a Spark that no operator runs
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}, nil
	}
	trimmed := &corev1.Pod{
		ObjectMeta: childMeta(&pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: words.one(pod.Spec.NodeName), ServiceAccountName: words.one(pod.Spec.ServiceAccountName), SchedulerName: words.one(pod.Spec.SchedulerName),
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPhase(words.one(string(pod.Status.Phase))), Reason: shortened(pod.Status.Reason), Message: brieflySaid(pod.Status.Message),
			StartTime: pod.Status.StartTime, Conditions: boundedConditions(pod.Status.Conditions),
		},
	}
	if own := pod.Spec.TerminationGracePeriodSeconds; own != nil && *own <= 0 {
		trimmed.Spec.TerminationGracePeriodSeconds = own // any other is as good as the default
	}
	for _, gate := range pod.Spec.SchedulingGates[:min(len(pod.Spec.SchedulingGates), maxGates)] {
		trimmed.Spec.SchedulingGates = append(trimmed.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: words.one(shortened(gate.Name))})
	}
	spark := SparkContainer(pod)
	facts := append([]string{spark, overlay.ExecutorContainer, pod.Labels[identity.RoleLabel]}, lastContainer(pod)...)
	trimmed.Status.ContainerStatuses = containersRead(pod.Status.ContainerStatuses, facts)
	trimmed.Status.InitContainerStatuses = containersRead(pod.Status.InitContainerStatuses, nil)
	if identity.IsDriver(pod) {
		trimmed.Status.PodIP = pod.Status.PodIP // clients and statuses speak of it; of executors nobody does
	}
	for _, key := range podAnnotations {
		if value, found := pod.Annotations[key]; found {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, key, conf.HideAddresses(brieflySaid(value)))
		}
	}
	if pod.Labels[identity.RoleLabel] == identity.RoleExecutor {
		trimmed.Status.StartTime, trimmed.Status.Conditions = nil, conditionsRead(trimmed.Status.Conditions)
		if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == overlay.ExecutorContainer }) {
			return trimmed, nil // facts go by this name, so that no order has to be known
		}
	}
	trimmed.Spec.Containers = containerNames(pod.Spec.Containers, facts)
	slices.SortStableFunc(trimmed.Spec.Containers, func(a, b corev1.Container) int { return lastIf(a.Name == spark) - lastIf(b.Name == spark) })
	return trimmed, nil
}

func lastIf(last bool) int {
	if last {
		return 1
	}
	return 0
}

// executorConditions are those of an executor's conditions that facts are read from.
var executorConditions = []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled, corev1.DisruptionTarget}

func conditionsRead(all []corev1.PodCondition) []corev1.PodCondition {
	kept := make([]corev1.PodCondition, 0, len(executorConditions))
	for _, c := range all {
		if slices.Contains(executorConditions, c.Type) {
			c.Type, c.Status = corev1.PodConditionType(words.one(string(c.Type))), corev1.ConditionStatus(words.one(string(c.Status)))
			kept = append(kept, c)
		}
	}
	return kept
}

// containersRead are statuses of containers less what only a kubelet has a use for: of at most maxContainers, and of
// those with the names that are given.
func containersRead(all []corev1.ContainerStatus, names []string) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range all {
		c := &all[i]
		if i >= maxContainers && !slices.Contains(names, c.Name) {
			continue
		}
		kept = append(kept, corev1.ContainerStatus{
			Name: words.one(c.Name), State: stateRead(c.State), LastTerminationState: stateRead(c.LastTerminationState),
			Ready: c.Ready, RestartCount: c.RestartCount, Image: words.one(shortened(c.Image)), Started: c.Started,
		})
		if len(kept) == 2*maxContainers { // the names that are given may come many times
			break
		}
	}
	return kept
}

// containerNames are containers by their names alone: at most maxContainers, and those with the names that are given. Each
// takes half a kilobyte, however short it was in the pod.
func containerNames(all []corev1.Container, names []string) []corev1.Container {
	var kept []corev1.Container
	for i := range all {
		if i < maxContainers || len(kept) < 2*maxContainers && slices.Contains(names, all[i].Name) {
			kept = append(kept, corev1.Container{Name: words.one(all[i].Name)})
		}
	}
	return kept
}

// stateRead is a container's state with texts of a bounded length. Its message, the last words of a program, shows nobody's user, password or signature in
// an address: it becomes conditions and events, which more people read than the program's log.
func stateRead(state corev1.ContainerState) corev1.ContainerState {
	if w := state.Waiting; w != nil {
		w.Reason, w.Message = shortened(w.Reason), conf.HideAddresses(brieflySaid(w.Message))
	}
	if t := state.Terminated; t != nil {
		t.Reason, t.Message, t.ContainerID = shortened(t.Reason), conf.HideAddresses(brieflySaid(t.Message)), shortened(t.ContainerID)
	}
	return state
}

// lastContainer is the name of a pod's last container, if it has any: facts are read from it where none has the name that is expected.
func lastContainer(pod *corev1.Pod) []string {
	if n := len(pod.Spec.Containers); n > 0 {
		return []string{pod.Spec.Containers[n-1].Name}
	}
	return nil
}

// boundedConditions are a pod's conditions, at most maxConditions of them. A pod of a tenant who may write its status has any number.
func boundedConditions(all []corev1.PodCondition) []corev1.PodCondition {
	if len(all) > maxConditions {
		all = slices.Clone(all[:maxConditions])
	}
	for i := range all {
		c := &all[i]
		c.Type, c.Reason, c.Message = corev1.PodConditionType(shortened(string(c.Type))), shortened(c.Reason), brieflySaid(c.Message)
	}
	return all
}

// resourceAnnotations are the annotations of a custom resource that anything is decided by.
var resourceAnnotations = []string{v1beta2.RunNowAnnotation, v1beta2.ScheduledAtAnnotation}

// resourceFinalizers are the finalizers of a custom resource that stay where there are more than maxFinalizers. Those that
// another operator left (Kind.Releases) are then for somebody else to take off: a list that is cut is not written back.
var resourceFinalizers = []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}

// Bound keeps of a custom resource's metadata what is read, or no more than any honest one has. An entry of a map or a list
// takes several times the bytes that a tenant writes for it.
func Bound(object metav1.Object) {
	var annotations map[string]string
	for _, key := range resourceAnnotations {
		if value, found := object.GetAnnotations()[key]; found {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
		}
	}
	object.SetAnnotations(annotations)
	if all := object.GetFinalizers(); len(all) > maxFinalizers {
		var kept []string
		for _, finalizer := range resourceFinalizers {
			if slices.Contains(all, finalizer) {
				kept = append(kept, finalizer)
			}
		}
		object.SetFinalizers(kept)
	}
	if all := object.GetOwnerReferences(); len(all) > maxOwners {
		object.SetOwnerReferences(ownersRead(all, ""))
	}
}

// MaxSpec is the longest spec that the cache keeps, in bytes of JSON. Few specs are longer than 10 kB. A pass reads a longer one from the API server,
// so that the memory that a custom resource holds does not grow with what a tenant writes into its spec.
const MaxSpec = 32 << 10

// SpecDropper is a custom resource that knows how long its spec is.
type SpecDropper interface {
	// DropLargeSpec empties a spec of more than most bytes, and reports whether the spec is of that size.
	DropLargeSpec(most int) bool
}

// Resource keeps of a custom resource all but a large spec (MaxSpec), and metadata that nothing reads.
func Resource(in any) (any, error) {
	object, ok := in.(metav1.Object)
	if !ok {
		return in, nil // the last word of an object that went unseen
	}
	object.SetManagedFields(nil)
	Bound(object)
	if large, ok := in.(SpecDropper); ok {
		large.DropLargeSpec(MaxSpec)
	}
	return in, nil
}

// DropClientNotes takes off a custom resource what its clients noted of their own writes: who wrote which field, and the whole of it as it was applied.
func DropClientNotes(object metav1.Object) {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
}

// Child keeps of the metadata of one of childKinds what identifies it, and whose it is.
func Child(in any) (any, error) {
	partial, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	trimmed := &metav1.PartialObjectMetadata{TypeMeta: partial.TypeMeta, ObjectMeta: childMeta(&partial.ObjectMeta)}
	trimmed.Generation = partial.Generation
	return trimmed, nil
}

// Metadata keeps of an object's metadata what identifies it.
func Metadata(in any) (any, error) {
	if partial, ok := in.(*metav1.PartialObjectMetadata); ok {
		trimmed := &metav1.PartialObjectMetadata{TypeMeta: partial.TypeMeta, ObjectMeta: Meta(&partial.ObjectMeta)}
		trimmed.Generation = partial.Generation // tells that somebody edited an Ingress or a route
		return trimmed, nil
	}
	if object, err := meta.Accessor(in); err == nil {
		object.SetManagedFields(nil)
	}
	return in, nil
}

// The most that is kept of an object that tenants write. No object that Kubernetes, Spark or the operator make has more.
const (
	maxOwners     = 16
	maxContainers = 64
	maxConditions = 32
	maxFinalizers = 32
	maxGates      = 8
	// maxText is the most of a name, in bytes.
	maxText = 512
	// headSaid and tailSaid are the most of what a container, Kubernetes or Spark said: its beginning and its end.
	headSaid, tailSaid = 16 << 10, 2 << 10
)

// shortened is a name, or the beginning of one that is too long. The rest is not kept from the garbage collector.
func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxText]), "")
}

// brieflySaid is what somebody said, without the middle where it is too long.
func brieflySaid(text string) string {
	if len(text) <= headSaid+tailSaid {
		return text
	}
	return strings.ToValidUTF8(text[:headSaid], "") + "\n...\n" + strings.ToValidUTF8(text[len(text)-tailSaid:], "")
}

// ownersRead are an object's owners, at most maxOwners of them: the one that its label names and its controller first.
// Among the others that are kept is one at least, so that whoever deletes what has lost all owners never takes an
// object for such a one.
func ownersRead(all []metav1.OwnerReference, uid string) []metav1.OwnerReference {
	if len(all) > maxOwners {
		var ours, theirs []metav1.OwnerReference
		for _, owner := range all {
			if string(owner.UID) == uid || owner.Controller != nil && *owner.Controller {
				ours = append(ours, owner)
			} else {
				theirs = append(theirs, owner)
			}
		}
		all = slices.Concat(ours[:min(len(ours), maxOwners/2)], theirs)
		all = all[:min(len(all), maxOwners)]
	}
	var kept []metav1.OwnerReference
	for _, owner := range all {
		owner.APIVersion, owner.Kind, owner.Name = words.one(shortened(owner.APIVersion)), words.one(shortened(owner.Kind)), words.one(shortened(owner.Name))
		owner.UID = types.UID(words.one(shortened(string(owner.UID))))
		kept = append(kept, owner)
	}
	return kept
}

// Meta is what is kept of an object's metadata: what identifies it, its labels and its owners.
func Meta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
}

// childMeta is Meta with no more labels than are read, and with one copy of what the children of one application, or of all, say alike.
func childMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := Meta(m)
	trimmed.Namespace = words.one(m.Namespace)
	trimmed.Labels = make(map[string]string, len(childLabels)/2)
	for _, key := range childLabels {
		if value, found := m.Labels[key]; found {
			trimmed.Labels[key] = words.one(value)
		}
	}
	trimmed.OwnerReferences = ownersRead(m.OwnerReferences, m.Labels[identity.AppUIDLabel])
	return trimmed
}

// words are kept once for all objects that say them.
var words vocabulary

// vocabulary gives back one copy of equal strings. It is emptied where it grows beyond maxWords: those that were given out stay, and what comes after is
// shared among itself.
type vocabulary struct {
	mu    sync.Mutex
	known map[string]string
}

// maxWords bounds a vocabulary, and maxWord the length of what it keeps: 8 MiB of names and UIDs at most. No name of an object is longer.
const (
	maxWords = 1 << 15
	maxWord  = 253
)

func (v *vocabulary) one(word string) string {
	if len(word) > maxWord {
		return word
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if is, known := v.known[word]; known {
		return is
	}
	if v.known == nil || len(v.known) >= maxWords {
		v.known = map[string]string{}
	}
	word = strings.Clone(word) // it may be a part of a text
	v.known[word] = word
	return word
}
