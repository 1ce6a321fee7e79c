package application

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect/apache"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// labelAppID is where Spark itself puts spark.app.id on the pods of a run.
const labelAppID = "spark-app-selector"

// Adopt returns those of the pods that the operator of the Apache Spark project made for the application, each with the identity that its maker did not
// give it (labels and owner, in the copy that is returned alone). Candidates are pods without our labels that name the application (LabelAppName).
//
// A driver is one that the application owns. Its number is that of the attempt whose id Spark put on it: the one that the status speaks of, or the next,
// whose launch was not written down; or 0, where it is an earlier one's, of which nothing is wanted but its end. Executors are their driver's: those of a
// driver that is gone are of the attempt with their id, too. What else the other operator made is owned by the driver's pod, and goes with it.
func (a Applications) Adopt(app *sparkv1.SparkApplication, candidates []corev1.Pod) []corev1.Pod {
	attempts := attemptsByID(app)
	drivers := slices.DeleteFunc(slices.Clone(candidates), func(pod corev1.Pod) bool { return !drivenBy(&pod, app) })
	if id := strayID(app, drivers, attempts); id != "" {
		attempts[id] = lastAttempt(&app.Status)
	}
	var out []corev1.Pod
	for i := range drivers {
		out = append(out, identified(&drivers[i], app, attempts[drivers[i].Labels[labelAppID]]))
	}
	for i := range candidates {
		pod := &candidates[i]
		if pod.Labels[submit.RoleLabel] != submit.RoleExecutor || !executes(pod, drivers) {
			continue
		}
		if attempt, known := attempts[pod.Labels[labelAppID]]; known || len(drivers) > 0 {
			out = append(out, identified(pod, app, attempt))
		}
	}
	return out
}

// lastAttempt is our number of the last attempt that a status tells of, whoever wrote it; 0 before the first.
func lastAttempt(s *sparkv1.ApplicationStatus) int32 {
	if s.Operator != nil {
		return s.Operator.Attempt
	}
	return attemptLeft(s)
}

// attemptsByID are the numbers of the attempts whose pods there may be, by Spark's id: the last one, and the next where another operator launched it and
// did not come to write that down. One of ours is not met here: it has our labels.
func attemptsByID(app *sparkv1.SparkApplication) map[string]int32 {
	last, attempts := lastAttempt(&app.Status), map[string]int32{}
	if o := app.Status.Operator; o == nil {
		attempts[newAppID(app, last+1)] = last + 1
	}
	if last > 0 {
		attempts[appID(app, last)] = last // where the user's id is that of all attempts, it is this one's
	}
	return attempts
}

// strayID is the id of the one driver that goes on, or is kept, where none has an id that is expected and the status tells of an attempt that runs, or of
// one that is retained: the spec, whose ids these were computed from, was edited meanwhile. The other operator knows its driver by no id either.
func strayID(app *sparkv1.SparkApplication, drivers []corev1.Pod, attempts map[string]int32) string {
	state := current(&app.Status)
	if app.Status.Operator != nil || rung(state) < 0 && state != sparkv1.ApplicationTerminatedWithoutReleaseResources {
		return ""
	}
	var newest *corev1.Pod
	for i := range drivers {
		pod := &drivers[i]
		if _, known := attempts[pod.Labels[labelAppID]]; known {
			return ""
		}
		if newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Labels[labelAppID]
}

// drivenBy reports whether a pod is a driver that the application owns. Its maker is no controller of it.
func drivenBy(pod *corev1.Pod, app *sparkv1.SparkApplication) bool {
	return pod.Labels[submit.RoleLabel] == submit.RoleDriver && pod.Labels[labelAppID] != "" &&
		slices.ContainsFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == app.UID })
}

// executes reports whether an executor is of one of the drivers, or of one that is gone: an executor that another pod owns is somebody else's.
func executes(pod *corev1.Pod, drivers []corev1.Pod) bool {
	owner := cmp.Or(metav1.GetControllerOf(pod), &metav1.OwnerReference{})
	if owner.UID == "" {
		return true
	}
	return slices.ContainsFunc(drivers, func(driver corev1.Pod) bool { return driver.UID == owner.UID })
}

// identified is a copy of a pod with the labels of an attempt and, of a driver, with its owner as its controller.
func identified(pod *corev1.Pod, app *sparkv1.SparkApplication, attempt int32) corev1.Pod {
	out := *pod.DeepCopy()
	out.Labels[apache.LabelAppUID], out.Labels[apache.LabelAttempt] = string(app.UID), strconv.Itoa(int(attempt))
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, lifecycle.AdoptedAnnotation, pod.Labels[labelAppID])
	if out.Labels[submit.RoleLabel] == submit.RoleDriver && metav1.GetControllerOf(&out) == nil {
		out.OwnerReferences = []metav1.OwnerReference{ownerReference(app)}
	}
	return out
}
