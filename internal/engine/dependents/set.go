// Package dependents finds the objects in the cluster that belong to one custom resource, and reads and deletes them.
// It finds the objects by their identity (package identity). Other packages decide what happens to the objects.
package dependents

import (
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Set holds the dependents of one custom resource, as they were read.
type Set struct {
	Drivers    []corev1.Pod
	Submitters []corev1.Pod // pods that run spark-submit
	Executors  []corev1.Pod
	Members    []corev1.Pod                   // the pods of a standalone cluster
	Strays     []corev1.Pod                   // pods of a standalone cluster whose StatefulSet is being replaced
	Others     []metav1.PartialObjectMetadata // objects of Kinds and of optional kinds
	Runs       []client.Object                // the runs, for a kind that creates applications
	// driverUIDs and setDrivers hold the two ways in which an executor names its driver: by the driver's UID, or by the
	// id of the Spark application that a StatefulSet or Deployment of executors belongs to.
	driverUIDs map[types.UID]bool
	setDrivers map[identity.SetDriver]bool
}

// SortPods divides the pods of a custom resource into drivers, submitters and executors. The argument uid is the UID of
// the custom resource. A pod is a driver or a submitter only if the custom resource is its controller. A pod is an
// executor only if the custom resource or one of these drivers owns it, or if it belongs to a StatefulSet or Deployment
// of a driver. The labels of a pod are not enough, because anybody who may create pods can set labels.
func SortPods(pods []corev1.Pod, uid types.UID) Set {
	var s Set

	executors := 0
	for i := range pods {
		pod := &pods[i]
		if pod.Labels[identity.RoleLabel] == identity.RoleExecutor {
			executors++
		}

		if ref := metav1.GetControllerOfNoCopy(pod); ref == nil || ref.UID != uid {
			continue
		}

		switch {
		case identity.IsDriver(pod):
			s.Drivers = append(s.Drivers, *pod)
		case pod.Labels[identity.RoleLabel] == identity.RoleSubmitter:
			s.Submitters = append(s.Submitters, *pod)
		}
	}

	s.driverUIDs, s.setDrivers = indexOf(s.Drivers)
	if executors > 0 {
		s.Executors = make([]corev1.Pod, 0, executors)
	}

	for i := range pods {
		pod := &pods[i]
		if pod.Labels[identity.RoleLabel] == identity.RoleExecutor && (identity.OwnedBy(pod, uid) || s.Drives(pod)) {
			s.Executors = append(s.Executors, *pod)
		}
	}

	byName := func(a, b corev1.Pod) int { return CompareNames(a.Name, b.Name) }
	slices.SortFunc(s.Drivers, byName)
	slices.SortFunc(s.Submitters, byName)
	slices.SortFunc(s.Executors, byName)
	return s
}

// indexOf returns two indexes of the drivers: their UIDs, and the identities by which executors in a StatefulSet or
// Deployment name their driver. Without these indexes, Set.Drives would compare every executor with every driver, and
// anybody who may create pods can create thousands of both.
func indexOf(drivers []corev1.Pod) (map[types.UID]bool, map[identity.SetDriver]bool) {
	uids, ofSets := map[types.UID]bool{}, map[identity.SetDriver]bool{}
	for i := range drivers {
		uids[drivers[i].UID] = true
		if mayHaveSetExecutors(&drivers[i]) {
			ofSets[identity.SetDriverOf(&drivers[i])] = true
		}
	}
	return uids, ofSets
}

// mayHaveSetExecutors reports whether executors in a StatefulSet or Deployment can belong to a driver. They can if the
// driver pod has a label with Spark's id of the application and has not ended.
func mayHaveSetExecutors(driver *corev1.Pod) bool {
	if driver.Labels[submit.SelectorLabel] == "" {
		return false
	}

	switch lifecycle.DriverFacts(driver, overlay.DriverContainer).Phase {
	case lifecycle.DriverSucceeded, lifecycle.DriverFailed:
		return false
	}
	return true
}

// Drives reports whether a pod is an executor of one of the drivers in the set.
func (s *Set) Drives(executor *corev1.Pod) bool {
	for _, ref := range executor.OwnerReferences {
		if s.driverUIDs[ref.UID] {
			return true
		}
	}
	return identity.InSet(executor) && s.setDrivers[identity.SetDriverOf(executor)]
}

// CompareNames compares the names of executors by their numbers, so that exec-9 is before exec-10.
func CompareNames(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}

	if a < b {
		return -1
	}
	return 1
}

// Facts returns what decisions need to know about the dependents. The order is fixed, so that the same objects lead to
// the same decision. The result contains no runs, which runs.Observe reads.
func (s *Set) Facts() lifecycle.Observed {
	var seen lifecycle.Observed
	for i := range s.Drivers {
		seen.Drivers = append(seen.Drivers, DriverFacts(&s.Drivers[i]))
	}

	for i := range s.Submitters {
		seen.Submitters = append(seen.Submitters, lifecycle.SubmitterFacts(&s.Submitters[i], submit.RunnerContainer))
	}

	for i := range s.Executors {
		seen.Executors = append(seen.Executors, lifecycle.ExecutorFacts(&s.Executors[i]))
	}

	for i := range s.Members {
		seen.Members = append(seen.Members, lifecycle.MemberFacts(&s.Members[i]))
	}

	seen.AuxiliaryCount += len(s.Strays)
	for i := range s.Others {
		attempt := identity.Attempt(&s.Others[i])
		if identity.IsAuxiliary(&s.Others[i]) {
			seen.AuxiliaryCount++
			if KindOf(&s.Others[i]) == "Service" {
				seen.AuxiliaryServices++
			}
			continue
		}

		if attempt <= 0 {
			continue
		}

		seen.RemainingAttempts = append(seen.RemainingAttempts, attempt)

		going := s.Others[i].DeletionTimestamp != nil
		if isBudget(&s.Others[i]) && !going {
			seen.Budgets = append(seen.Budgets, attempt)
		}

		if isPodGroup(&s.Others[i]) && !going {
			seen.Groups = append(seen.Groups, attempt)
		}
	}

	slices.Sort(seen.RemainingAttempts)

	seen.RemainingAttempts = slices.Compact(seen.RemainingAttempts)
	for i := range seen.Drivers {
		seen.Drivers[i].MissingObjects = s.missingObjects(&s.Drivers[i])
	}
	return seen
}

// missingObjects returns how many of the objects that the operator created for a driver no longer exist.
func (s *Set) missingObjects(driver *corev1.Pod) int32 {
	created, err := strconv.ParseInt(driver.Annotations[lifecycle.ObjectsAnnotation], 10, 32)
	if err != nil {
		return 0
	}

	exist := 0
	for i := range s.Others {
		if object := &s.Others[i]; identity.Attempt(object) == identity.Attempt(driver) && IsDriverObject(object) {
			exist++
		}
	}
	return max(int32(created)-int32(exist), 0)
}

// IsAttemptObject reports whether an object is one of an attempt's objects that Render returns: an object of the
// driver, or the driver's budget.
func IsAttemptObject(object client.Object) bool {
	return IsDriverObject(object) || isBudget(object) && !identity.IsAuxiliary(object)
}

// HasCountedObjects reports whether the driver of an attempt carries the number of its objects (CountObjects), because
// a launch of this operator has created them.
func (s *Set) HasCountedObjects(attempt int32) bool {
	return slices.ContainsFunc(s.Drivers, func(pod corev1.Pod) bool {
		return identity.Attempt(&pod) == attempt && pod.Annotations[lifecycle.ObjectsAnnotation] != ""
	})
}

// IsDriverObject reports whether an object is one of those that ObjectsAnnotation counts: an object that a launch
// creates besides pods, and that the operator always watches.
func IsDriverObject(object client.Object) bool {
	return AlwaysWatched(object) && !isBudget(object) && !identity.IsAuxiliary(object)
}

// CountObjects writes into a driver pod how many objects the operator creates for it, so that a later pass finds
// whether one is missing (lifecycle.ObjectsAnnotation).
func CountObjects(driver client.Object, objects []client.Object) {
	if !identity.IsDriver(driver) {
		return // spark-submit creates the objects of its driver
	}

	count := 0
	for _, object := range objects {
		if IsDriverObject(object) {
			count++
		}
	}

	annotations := maps.Clone(driver.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}

	annotations[lifecycle.ObjectsAnnotation] = strconv.Itoa(count)
	driver.SetAnnotations(annotations)
}

// DriverFacts returns what decisions need to know about a driver pod. For an inherited driver it leaves out the version
// of Spark. Such a pod names the version of spark-submit in the other operator's image, and the driver's image may have
// another version.
func DriverFacts(pod *corev1.Pod) lifecycle.Driver {
	d := lifecycle.DriverFacts(pod, trim.SparkContainer(pod))
	if d.AttemptID != "" {
		d.SparkVersion = ""
	}
	return d
}

// Holder returns the pod whose end ends the use of quota: the newest driver or, of a cluster, the master. The executors
// and workers are deleted at the same time. It returns nil if no such pod runs.
func (s *Set) Holder() *corev1.Pod {
	var holder *corev1.Pod
	for i := range s.Drivers {
		if pod := &s.Drivers[i]; !ended(pod) && (holder == nil || identity.Attempt(pod) > identity.Attempt(holder)) {
			holder = pod
		}
	}

	for i := range s.Members {
		if pod := &s.Members[i]; !ended(pod) && pod.Labels[identity.RoleLabel] == identity.RoleMaster {
			holder = pod
		}
	}
	return holder
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Has reports whether the set contains the given object, by its UID. It does not search executors, members and runs.
func (s *Set) Has(object metav1.Object) bool {
	uid := object.GetUID()
	hasUID := func(pod corev1.Pod) bool { return pod.UID == uid }
	return slices.ContainsFunc(s.Drivers, hasUID) || slices.ContainsFunc(s.Submitters, hasUID) ||
		slices.ContainsFunc(s.Others, func(other metav1.PartialObjectMetadata) bool { return other.UID == uid })
}

// Behind reports whether this set, which was read from the cache, differs from a set that was read live. It compares
// the phase and the readiness of each live driver. If the argument executors is true, it also compares the phase of
// each live executor. A pod that is missing in this set counts as a difference.
func (s *Set) Behind(live Set, executors bool) bool {
	type state struct {
		phase lifecycle.DriverPhase
		ready bool
	}

	seen := map[types.UID]state{}
	for i := range s.Drivers {
		d := DriverFacts(&s.Drivers[i])
		seen[s.Drivers[i].UID] = state{d.Phase, d.Ready}
	}

	for i := range live.Drivers {
		if d := DriverFacts(&live.Drivers[i]); seen[live.Drivers[i].UID] != (state{d.Phase, d.Ready}) {
			return true
		}
	}

	if !executors {
		return false
	}

	for i := range s.Executors {
		seen[s.Executors[i].UID] = state{phase: lifecycle.ExecutorFacts(&s.Executors[i]).Phase}
	}
	return slices.ContainsFunc(live.Executors, func(pod corev1.Pod) bool {
		return seen[pod.UID] != state{phase: lifecycle.ExecutorFacts(&pod).Phase}
	})
}

// LacksMember reports whether the live pods of a standalone cluster include a pod that this set lacks.
func (s *Set) LacksMember(live []corev1.Pod) bool {
	return slices.ContainsFunc(live, func(pod corev1.Pod) bool {
		role := lifecycle.Role(pod.Labels[identity.RoleLabel])
		if role != lifecycle.Master && role != lifecycle.Worker {
			return false
		}
		return !slices.ContainsFunc(s.Members, func(member corev1.Pod) bool { return member.UID == pod.UID })
	})
}

// Deletable returns all objects that the end of an attempt may have to delete: drivers, submitters, executors and other
// objects. It leaves out runs, members, and pods that have lost their StatefulSet.
func (s *Set) Deletable() []client.Object {
	var all []client.Object
	for i := range s.Drivers {
		all = append(all, &s.Drivers[i])
	}

	for i := range s.Submitters {
		all = append(all, &s.Submitters[i])
	}

	for i := range s.Executors {
		all = append(all, &s.Executors[i])
	}

	for i := range s.Others {
		all = append(all, &s.Others[i])
	}
	return all
}

// IsStray reports whether a pod of a standalone cluster has lost its StatefulSet: the pod has no controller, but has a
// label that Kubernetes sets only on the pods of a StatefulSet.
func IsStray(pod *corev1.Pod) bool {
	return identity.IsClusterPod(pod) && pod.DeletionTimestamp == nil && metav1.GetControllerOfNoCopy(pod) == nil &&
		pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name
}
