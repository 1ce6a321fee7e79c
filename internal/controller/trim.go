package controller

import (
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// What the caches keep of an object. An operator of 10,000 applications has 50,000 executors in memory: what nobody reads of one is dropped as it comes in,
// and what many say is kept once.

// childLabels are the labels of pods and of childKinds that anything is decided by.
var childLabels = append([]string{
	labelAppUID, labelAttempt, labelRole, lifecycle.ContentLabel, submit.SelectorLabel, submit.VersionLabel, submit.ExecutorIDLabel,
	sparkoperator.LabelSubmissionID, sparkoperator.LabelScheduledAppName, appsv1.StatefulSetPodNameLabel,
}, nameLabels...)

// podAnnotations are the annotations of a pod that become facts: the spec that a driver was made from, the pod that submitted it, and where Spark 4.1 and newer
// leave the exception that ended a driver (spark.kubernetes.driver.annotateExitException).
var podAnnotations = []string{lifecycle.SpecHashAnnotation, lifecycle.SubmitterAnnotation, "spark.exit-exception"}

// trimPod keeps of a pod what becomes facts: identity, owners, node, service account, scheduler, container names, status. A driver pod's environment alone is
// larger than all of that.
func trimPod(in any) (any, error) {
	pod, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	if unlabelled(pod) && byName(pod) == nil { // of a Spark that no operator runs
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}, nil
	}
	trimmed := &corev1.Pod{
		ObjectMeta: childMeta(&pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: words.one(pod.Spec.NodeName), ServiceAccountName: words.one(pod.Spec.ServiceAccountName), SchedulerName: words.one(pod.Spec.SchedulerName),
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPhase(words.one(string(pod.Status.Phase))), Reason: pod.Status.Reason, Message: pod.Status.Message, StartTime: pod.Status.StartTime,
			Conditions: pod.Status.Conditions, ContainerStatuses: containersRead(pod.Status.ContainerStatuses),
			InitContainerStatuses: containersRead(pod.Status.InitContainerStatuses),
		},
	}
	if isDriver(pod) {
		trimmed.Status.PodIP = pod.Status.PodIP // clients and statuses speak of it; of executors nobody does
	}
	for _, key := range podAnnotations {
		if value, found := pod.Annotations[key]; found {
			metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, key, value)
		}
	}
	if pod.Labels[labelRole] == roleExecutor {
		trimmed.Status.StartTime, trimmed.Status.Conditions = nil, conditionsRead(pod.Status.Conditions)
		if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == executorContainer }) {
			return trimmed, nil // facts go by this name, so that no order has to be known
		}
	}
	for _, container := range pod.Spec.Containers {
		trimmed.Spec.Containers = append(trimmed.Spec.Containers, corev1.Container{Name: words.one(container.Name)})
	}
	spark := sparkContainer(pod)
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

// containersRead are statuses of containers less what only a kubelet has a use for.
func containersRead(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	for i, c := range all {
		all[i] = corev1.ContainerStatus{
			Name: words.one(c.Name), State: c.State, LastTerminationState: c.LastTerminationState,
			Ready: c.Ready, RestartCount: c.RestartCount, Image: words.one(c.Image), Started: c.Started,
		}
	}
	return all
}

// trimResource keeps of a custom resource all but what its clients noted of their own writes: who wrote which field, and the whole of it as it was applied.
func trimResource(in any) (any, error) {
	object, ok := in.(metav1.Object)
	if !ok {
		return in, nil // the last word of an object that went unseen
	}
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
	return in, nil
}

// trimChild keeps of the metadata of one of childKinds what identifies it, and whose it is.
func trimChild(in any) (any, error) {
	partial, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	trimmed := &metav1.PartialObjectMetadata{TypeMeta: partial.TypeMeta, ObjectMeta: childMeta(&partial.ObjectMeta)}
	trimmed.Generation = partial.Generation
	return trimmed, nil
}

// trimMetadata keeps of an object's metadata what identifies it.
func trimMetadata(in any) (any, error) {
	if partial, ok := in.(*metav1.PartialObjectMetadata); ok {
		trimmed := &metav1.PartialObjectMetadata{TypeMeta: partial.TypeMeta, ObjectMeta: trimmedMeta(&partial.ObjectMeta)}
		trimmed.Generation = partial.Generation // tells that somebody edited an Ingress or a route
		return trimmed, nil
	}
	if object, err := meta.Accessor(in); err == nil {
		object.SetManagedFields(nil)
	}
	return in, nil
}

func trimmedMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Labels: m.Labels, OwnerReferences: m.OwnerReferences,
	}
}

// childMeta is trimmedMeta with no more labels than are read, and with one copy of what the children of one application, or of all, say alike.
func childMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	trimmed := trimmedMeta(m)
	trimmed.Namespace = words.one(m.Namespace)
	trimmed.Labels = make(map[string]string, len(childLabels)/2)
	for _, key := range childLabels {
		if value, found := m.Labels[key]; found {
			trimmed.Labels[key] = words.one(value)
		}
	}
	for i := range trimmed.OwnerReferences {
		owner := &trimmed.OwnerReferences[i]
		owner.APIVersion, owner.Kind, owner.Name = words.one(owner.APIVersion), words.one(owner.Kind), words.one(owner.Name)
		owner.UID = types.UID(words.one(string(owner.UID)))
	}
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

// maxWords bounds a vocabulary: some megabytes of names and UIDs.
const maxWords = 1 << 15

func (v *vocabulary) one(word string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if is, known := v.known[word]; known {
		return is
	}
	if v.known == nil || len(v.known) >= maxWords {
		v.known = map[string]string{}
	}
	v.known[word] = word
	return word
}
