// Package trim decides which part of an object the caches keep. An operator with 10,000 applications has 50,000
// executors in memory. The caches therefore drop the fields of incoming objects that the operator does not read, store
// equal strings only once, and bound the fields that a tenant can make large. Fields of dependents that Kept does not
// list are not even decoded.
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
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// childLabels are the labels that decisions read on pods and on other dependents.
var childLabels = append([]string{
	identity.AppUIDLabel, identity.AttemptLabel, identity.RoleLabel, lifecycle.ContentLabel, submit.SelectorLabel, submit.VersionLabel, submit.ExecutorIDLabel,
	v1beta2.SubmissionIDLabel, v1beta2.ScheduledAppNameLabel, appsv1.StatefulSetPodNameLabel,
}, identity.NameLabels...)

// podAnnotations are the annotations of a pod that become facts. They contain the digest of the spec from which the
// driver was created, the restart request that the driver carries out, the pod that submitted the driver, the number of
// the driver's other objects, and the exception that ended the driver. Spark 4.1 and newer write the exception if
// spark.kubernetes.driver.annotateExitException is set.
var podAnnotations = []string{
	lifecycle.SpecHashAnnotation, lifecycle.RestartRequestAnnotation, lifecycle.SubmitterAnnotation, lifecycle.ObjectsAnnotation, lifecycle.ExitExceptionAnnotation,
}

// Pod reduces a pod to the parts that become facts: identity, owners, node, service account, scheduler, scheduling
// gates, requests, names and images of containers, status, and the grace period if it is 0. The environment of a driver
// pod alone is larger than all these parts.
func Pod(in any) (any, error) {
	pod, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}

	if identity.Unlabelled(pod) && identity.NameKeys(pod) == nil { // a Spark pod that no operator manages
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}, nil
	}

	trimmed := &corev1.Pod{
		ObjectMeta: childMeta(&pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: words.intern(pod.Spec.NodeName), ServiceAccountName: words.intern(pod.Spec.ServiceAccountName), SchedulerName: words.intern(pod.Spec.SchedulerName),
			Resources: requestsOf(pod),
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPhase(words.intern(string(pod.Status.Phase))), Reason: shortened(pod.Status.Reason), Message: brieflySaid(pod.Status.Message),
			StartTime: pod.Status.StartTime, Conditions: boundedConditions(pod.Status.Conditions),
		},
	}
	if own := pod.Spec.TerminationGracePeriodSeconds; own != nil && *own <= 0 {
		trimmed.Spec.TerminationGracePeriodSeconds = own // only a grace period of 0 or less is a fact
	}

	for _, gate := range pod.Spec.SchedulingGates[:min(len(pod.Spec.SchedulingGates), maxGates)] {
		trimmed.Spec.SchedulingGates = append(trimmed.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: words.intern(shortened(gate.Name))})
	}

	spark := SparkContainer(pod)
	facts := append([]string{spark, overlay.ExecutorContainer, pod.Labels[identity.RoleLabel]}, lastContainer(pod)...)
	trimmed.Status.ContainerStatuses = containersRead(pod.Status.ContainerStatuses, facts)
	trimmed.Status.InitContainerStatuses = containersRead(pod.Status.InitContainerStatuses, nil)
	keepMemoryLimits(trimmed.Status.ContainerStatuses, pod.Spec.Containers)

	if identity.IsDriver(pod) {
		trimmed.Status.PodIP = pod.Status.PodIP // the addresses of executors are not read
	}

	for _, finalizer := range pod.Finalizers[:min(len(pod.Finalizers), maxPodFinalizers)] {
		trimmed.Finalizers = append(trimmed.Finalizers, words.intern(shortened(finalizer)))
	}

	for _, key := range podAnnotations {
		if value, found := pod.Annotations[key]; found {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, key, conf.HideAddresses(brieflySaid(value)))
		}
	}

	if pod.Labels[identity.RoleLabel] == identity.RoleExecutor {
		trimmed.Status.StartTime, trimmed.Status.Conditions = nil, conditionsRead(trimmed.Status.Conditions)
		if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == overlay.ExecutorContainer }) {
			return trimmed, nil // readers find this container by its name, so they do not need the container list
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

// executorConditions are the conditions of an executor that become facts.
var executorConditions = []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled, corev1.DisruptionTarget}

func conditionsRead(all []corev1.PodCondition) []corev1.PodCondition {
	kept := make([]corev1.PodCondition, 0, len(executorConditions))
	for _, c := range all {
		if slices.Contains(executorConditions, c.Type) {
			c.Type, c.Status = corev1.PodConditionType(words.intern(string(c.Type))), corev1.ConditionStatus(words.intern(string(c.Status)))
			kept = append(kept, c)
		}
	}
	return kept
}

// containersRead returns the statuses of the first maxContainers containers, and of other containers with the given
// names. It leaves out the fields that only a kubelet needs.
func containersRead(all []corev1.ContainerStatus, names []string) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range all {
		c := &all[i]
		if i >= maxContainers && !slices.Contains(names, c.Name) {
			continue
		}

		kept = append(kept, corev1.ContainerStatus{
			Name: words.intern(c.Name), State: stateRead(c.State), LastTerminationState: stateRead(c.LastTerminationState),
			Ready: c.Ready, RestartCount: c.RestartCount, Image: words.intern(shortened(c.Image)), ImageID: words.intern(shortened(c.ImageID)), Started: c.Started,
		})
		if len(kept) == 2*maxContainers { // several statuses may have a given name
			break
		}
	}
	return kept
}

// containerNames returns the first maxContainers containers, and other containers with the given names. Only the
// fields Name and Image of each are set. The number is bounded because a container takes half a kilobyte in memory,
// even if it takes only a few bytes in the encoded pod.
func containerNames(all []corev1.Container, names []string) []corev1.Container {
	var kept []corev1.Container
	for i := range all {
		if i < maxContainers || len(kept) < 2*maxContainers && slices.Contains(names, all[i].Name) {
			kept = append(kept, corev1.Container{Name: words.intern(all[i].Name), Image: words.intern(shortened(all[i].Image))})
		}
	}
	return kept
}

// keepMemoryLimits copies the memory limits of containers that were killed for memory into their statuses. A message
// names the limit. The kubelet copies it too, but only since Kubernetes 1.33.
func keepMemoryLimits(statuses []corev1.ContainerStatus, containers []corev1.Container) {
	for i := range statuses {
		if end := statuses[i].State.Terminated; end == nil || end.Reason != lifecycle.ReasonOOMKilled {
			continue
		}

		for j := range containers {
			limit, found := containers[j].Resources.Limits[corev1.ResourceMemory]
			if found && containers[j].Name == statuses[i].Name {
				statuses[i].Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: limit}}
			}
		}
	}
}

// stateRead returns a container's state with bounded texts. It hides users, passwords and signatures in addresses,
// because the message is the last output of a program, and more people may read conditions and Events than the
// program's log.
func stateRead(state corev1.ContainerState) corev1.ContainerState {
	if w := state.Waiting; w != nil {
		w.Reason, w.Message = shortened(w.Reason), conf.HideAddresses(brieflySaid(w.Message))
	}

	if t := state.Terminated; t != nil {
		t.Reason, t.Message, t.ContainerID = shortened(t.Reason), conf.HideAddresses(brieflySaid(t.Message)), shortened(t.ContainerID)
	}
	return state
}

// lastContainer returns a list with the name of a pod's last container. Facts use this container if no container has
// the expected name.
func lastContainer(pod *corev1.Pod) []string {
	if n := len(pod.Spec.Containers); n > 0 {
		return []string{pod.Spec.Containers[n-1].Name}
	}
	return nil
}

// boundedConditions returns at most maxConditions of a pod's conditions, with bounded texts. It is necessary because a
// tenant who may write the status can add any number of conditions.
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

// resourceAnnotations are the annotations of a custom resource that decisions use.
var resourceAnnotations = []string{v1beta2.RunNowAnnotation, v1beta2.ScheduledAtAnnotation, lifecycle.RestartAnnotation, lifecycle.ReserveAnnotation}

// resourceFinalizers are the finalizers that the cache keeps if a custom resource has more than maxFinalizers. All
// others are dropped. If the operator wrote back the shortened list, it would remove finalizers of others. It therefore
// does not remove another operator's finalizers (contract.Inherited) from such a custom resource.
var resourceFinalizers = []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}

// Bound reduces a custom resource's metadata to the parts that are read, and limits the lists in it. Each limit is
// higher than the number of entries in any normal object. The limits are necessary because an entry of a map or a list
// takes several times as many bytes in memory as in the object's JSON.
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

// MaxSpec is the size of the largest spec that the cache keeps, in bytes of JSON. Few specs are larger than 10 kB. A
// pass reads a larger spec from the API server, so that large specs take no memory between passes.
const MaxSpec = 32 << 10

// SpecDropper is a custom resource that can measure its spec and drop it.
type SpecDropper interface {
	// DropLargeSpec empties the spec if it has more than most bytes. It returns true if it has emptied the spec, now or
	// in an earlier call.
	DropLargeSpec(most int) bool
}

// Resource drops the parts of a custom resource that the operator does not read, and the spec if it is larger than
// MaxSpec.
func Resource(in any) (any, error) {
	object, ok := in.(metav1.Object)
	if !ok {
		return in, nil // not an object, but a tombstone: the watch missed a deletion
	}

	object.SetManagedFields(nil)
	Bound(object)

	if large, ok := in.(SpecDropper); ok {
		large.DropLargeSpec(MaxSpec)
	}
	return in, nil
}

// DropClientNotes removes the managed fields and the annotation with the last applied configuration from a custom
// resource.
func DropClientNotes(object metav1.Object) {
	object.SetManagedFields(nil)

	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
}

// Child reduces the metadata of a dependent to the parts that identify the dependent and its owner.
func Child(in any) (any, error) {
	partial, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}

	trimmed := &metav1.PartialObjectMetadata{TypeMeta: partial.TypeMeta, ObjectMeta: childMeta(&partial.ObjectMeta)}
	trimmed.Generation = partial.Generation
	return trimmed, nil
}

// Metadata reduces the metadata of an object to its identity, labels and owners.
func Metadata(in any) (any, error) {
	if partial, ok := in.(*metav1.PartialObjectMetadata); ok {
		trimmed := &metav1.PartialObjectMetadata{TypeMeta: partial.TypeMeta, ObjectMeta: Meta(&partial.ObjectMeta)}
		trimmed.Generation = partial.Generation // shows edits of an Ingress or a route
		return trimmed, nil
	}

	if object, err := meta.Accessor(in); err == nil {
		object.SetManagedFields(nil)
	}
	return in, nil
}

// These constants limit the parts of an object that tenants can write. Objects that Kubernetes, Spark or the operator
// creates do not reach the limits.
const (
	maxOwners     = 16
	maxContainers = 64
	maxConditions = 32
	maxFinalizers = 32
	// maxPodFinalizers is the number of a pod's finalizers that the caches keep, for messages.
	maxPodFinalizers = 3
	maxGates         = 8
	// maxText bounds a name, in bytes.
	maxText = 512
	// headSaid and tailSaid are the sizes, in bytes, of the start and the end that are kept of a long message from a
	// container, Kubernetes or Spark.
	headSaid, tailSaid = 16 << 10, 2 << 10
)

// shortened returns a text of at most maxText bytes. A text that was cut is a copy, so that the garbage collector can
// free the original.
func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxText]), "")
}

// brieflySaid returns a message. It cuts out the middle of a long message.
func brieflySaid(text string) string {
	if len(text) <= headSaid+tailSaid {
		return text
	}
	return strings.ToValidUTF8(text[:headSaid], "") + "\n...\n" + strings.ToValidUTF8(text[len(text)-tailSaid:], "")
}

// ownersRead returns at most maxOwners owners of an object. It prefers the controller and the owner with the given UID.
// The caller takes this UID from the object's label. At least one of the other owners is kept, so that no sweep
// mistakes the object for an orphan.
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
		owner.APIVersion, owner.Kind, owner.Name = words.intern(shortened(owner.APIVersion)), words.intern(shortened(owner.Kind)), words.intern(shortened(owner.Name))
		owner.UID = types.UID(words.intern(shortened(string(owner.UID))))
		kept = append(kept, owner)
	}
	return kept
}

// Meta returns the kept metadata of an object: its identity, labels and owners.
func Meta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
}

// childMeta returns the metadata that Meta returns, but only with the labels that decisions read. Equal strings in the
// metadata of different objects share memory.
func childMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := Meta(m)
	trimmed.Namespace = words.intern(m.Namespace)

	trimmed.Labels = make(map[string]string, len(childLabels)/2)
	for _, key := range childLabels {
		if value, found := m.Labels[key]; found {
			trimmed.Labels[key] = words.intern(value)
		}
	}

	trimmed.OwnerReferences = ownersRead(m.OwnerReferences, m.Labels[identity.AppUIDLabel])
	return trimmed
}

// words is the vocabulary that all cached objects share.
var words vocabulary

// vocabulary stores each string once, so that all objects with an equal string share its memory. It is emptied when it
// has maxWords strings. Strings that it returned earlier stay valid, but equal strings that come later do not share
// their memory.
type vocabulary struct {
	mu    sync.Mutex
	known map[string]string
}

// maxWords limits the number of strings in a vocabulary, and maxWord the length of each in bytes. Together they allow 8
// MiB. A name of an object or a UID is not longer than maxWord.
const (
	maxWords = 1 << 15
	maxWord  = 253
)

func (v *vocabulary) intern(word string) string {
	if len(word) > maxWord {
		return word
	}

	v.mu.Lock()
	defer v.mu.Unlock()

	if shared, known := v.known[word]; known {
		return shared
	}

	if v.known == nil || len(v.known) >= maxWords {
		v.known = map[string]string{}
	}

	word = strings.Clone(word) // word may be a part of a larger text
	v.known[word] = word
	return word
}
