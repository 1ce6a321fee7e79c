package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// cacheOptions say what is watched: our pods, the metadata of our other children, the custom resources; and of each only the
// fields that somebody reads. What else lives in a namespace, and how much of it, does not matter.
func cacheOptions(cfg config.Configuration) cache.Options {
	options := cache.Options{
		// A read of something that is not watched is a fault in the program, not a reason to watch it as well.
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: sparkPods(cfg.SparkClusters()), Transform: trimPod}},
	}
	for _, kind := range childKinds {
		options.ByObject[metadataOnly(kind)] = cache.ByObject{Label: ourChildren(), Transform: trimMetadata}
	}
	if cfg.Namespaces.Selector != "" {
		options.ByObject[metadataOnly(namespaceKind)] = cache.ByObject{Transform: trimMetadata}
	}
	if cfg.WatchesAll() {
		return options // what is outside may come in at any time
	}
	for _, name := range cfg.Namespaces.Names {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[name] = cache.Config{}
	}
	return options
}

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
		ObjectMeta: trimmedMeta(&pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, ServiceAccountName: pod.Spec.ServiceAccountName, SchedulerName: pod.Spec.SchedulerName,
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, StartTime: pod.Status.StartTime,
			Conditions: pod.Status.Conditions, ContainerStatuses: pod.Status.ContainerStatuses,
			InitContainerStatuses: pod.Status.InitContainerStatuses,
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
	for _, container := range pod.Spec.Containers {
		trimmed.Spec.Containers = append(trimmed.Spec.Containers, corev1.Container{Name: container.Name})
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
