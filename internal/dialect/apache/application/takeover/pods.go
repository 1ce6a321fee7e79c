package takeover

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Pods returns copies of those candidates that the Apache Spark project's operator created for the application. Each
// copy has the labels and the owner that identify our own pods. Candidates are pods without our labels that name the
// application (LabelAppName).
//
// Pods adopts a driver only if the application owns it. The driver's label with spark.app.id identifies its attempt.
// This can be the last attempt in the status. It can also be the next attempt, if the other operator launched that
// attempt without storing the launch. Every other driver belongs to an older attempt and gets the attempt number 0,
// because the operator only waits for its end.
//
// Pods adopts an executor if one of these drivers controls it, or if its driver no longer exists. The executor's own
// label with spark.app.id identifies its attempt in the same way. If the application has no driver, Pods omits the
// executors of older attempts.
//
// Pods does not adopt other objects of the other operator. The driver pod owns them, so Kubernetes deletes them with
// it.
func Pods(app *sparkv1.SparkApplication, candidates []corev1.Pod) []corev1.Pod {
	attempts := attemptsByID(app)

	drivers := slices.DeleteFunc(slices.Clone(candidates), func(pod corev1.Pod) bool { return !drivenBy(&pod, app) })
	if id := unrecordedID(app, drivers, attempts); id != "" {
		attempts[id] = lastAttempt(&app.Status)
	}
	var out []corev1.Pod

	owner := naming.Owner(app)
	for i := range drivers {
		id := drivers[i].Labels[submit.SelectorLabel]
		out = append(out, dialect.WithIdentity(&drivers[i], owner, attempts[id], id))
	}

	for i := range candidates {
		pod := &candidates[i]
		if pod.Labels[submit.RoleLabel] != submit.RoleExecutor || !executes(pod, drivers) {
			continue
		}

		id := pod.Labels[submit.SelectorLabel]
		if attempt, known := attempts[id]; known || len(drivers) > 0 {
			out = append(out, dialect.WithIdentity(pod, owner, attempt, id))
		}
	}
	return out
}

// lastAttempt returns the number of the last attempt in a status, counted from 1. It returns 0 before the first
// attempt. Either this operator or the other operator may have written the status.
func lastAttempt(s *sparkv1.ApplicationStatus) int32 {
	if s.Operator != nil {
		return s.Operator.Attempt
	}
	return launchedByOther(s)
}

// attemptsByID returns the attempts that may have inherited pods, as a map from spark.app.id to the attempt's number.
// It contains the last attempt in the status. If the other operator wrote the status, it also contains the next
// attempt, because the other operator may have launched this attempt without storing the launch.
func attemptsByID(app *sparkv1.SparkApplication) map[string]int32 {
	last, attempts := lastAttempt(&app.Status), map[string]int32{}
	if o := app.Status.Operator; o == nil {
		attempts[naming.NewID(app, last+1)] = last + 1
	}

	if last > 0 {
		attempts[naming.ID(app, last)] = last // overwrites the next attempt if the user set one id for all attempts
	}
	return attempts
}

// unrecordedID finds the driver of the last attempt if no driver has an id in `attempts`. It returns that driver's id
// (spark.app.id), or "" if there is no such driver. The ids in `attempts` are computed from the spec, so they are wrong
// if the spec was edited after the launch.
//
// If the other operator wrote the status, and the status says that the last attempt runs or is retained, unrecordedID
// assumes that the newest driver belongs to this attempt. The other operator does not identify its drivers by ids
// either.
func unrecordedID(app *sparkv1.SparkApplication, drivers []corev1.Pod, attempts map[string]int32) string {
	state := status.Current(&app.Status)
	if app.Status.Operator != nil || status.Rank(state) < 0 && state != sparkv1.ApplicationTerminatedWithoutReleaseResources {
		return ""
	}

	var newest *corev1.Pod
	for i := range drivers {
		pod := &drivers[i]
		if _, known := attempts[pod.Labels[submit.SelectorLabel]]; known {
			return ""
		}

		if newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}

	if newest == nil {
		return ""
	}
	return newest.Labels[submit.SelectorLabel]
}

// drivenBy reports whether a pod is a driver that the application owns. Any owner reference counts, because the other
// operator does not mark the application as the controller.
func drivenBy(pod *corev1.Pod, app *sparkv1.SparkApplication) bool {
	return pod.Labels[submit.RoleLabel] == submit.RoleDriver && pod.Labels[submit.SelectorLabel] != "" &&
		slices.ContainsFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == app.UID })
}

// executes reports whether an executor pod belongs to the application. This is the case if one of the given drivers
// controls the pod. It is also the case if the pod has no controller, because then its driver no longer exists. An
// executor with any other controller belongs to another application.
func executes(pod *corev1.Pod, drivers []corev1.Pod) bool {
	owner := cmp.Or(metav1.GetControllerOf(pod), &metav1.OwnerReference{})
	if owner.UID == "" {
		return true
	}
	return slices.ContainsFunc(drivers, func(driver corev1.Pod) bool { return driver.UID == owner.UID })
}
