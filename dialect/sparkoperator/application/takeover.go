package application

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/gang"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// An application may have been begun by another operator of this API. Its status then has no memory of ours (status.operator), and its pods
// none of our labels: what it stands at is read from its state and from its pods, and the pods are known by the submission id that the other
// operator put on them. What follows is the same machine as for every application (docs/decisions/0007-take-over.md).

// foreign reports whether a status is another operator's, in a state that is none of this API's: nothing can be made of it.
func foreign(s *v1beta2.SparkApplicationStatus) bool {
	_, known := adopted[s.AppState.State]
	return s.Operator == nil && !known
}

// taking reports whether a status was left by another operator.
func taking(s *v1beta2.SparkApplicationStatus) bool {
	return s.Operator == nil && s.AppState.State != v1beta2.ApplicationStateNew
}

// adopted is where an application stands by the state that another operator left.
var adopted = map[v1beta2.ApplicationStateType]lifecycle.Memory{
	v1beta2.ApplicationStateNew:              {Phase: lifecycle.New},
	v1beta2.ApplicationStateSubmitted:        {Phase: lifecycle.Launched},
	v1beta2.ApplicationStateRunning:          {Phase: lifecycle.Started},
	v1beta2.ApplicationStateUnknown:          {Phase: lifecycle.Unknown},
	v1beta2.ApplicationStateSucceeding:       {Phase: lifecycle.Ended, Outcome: lifecycle.Succeeded},
	v1beta2.ApplicationStateFailing:          {Phase: lifecycle.Ended, Outcome: lifecycle.Failed},
	v1beta2.ApplicationStateFailedSubmission: {Phase: lifecycle.Ended, Outcome: lifecycle.Refused},
	v1beta2.ApplicationStatePendingRerun:     {Phase: lifecycle.Waiting},
	v1beta2.ApplicationStateInvalidating:     {Phase: lifecycle.Editing},
	v1beta2.ApplicationStateSuspending:       {Phase: lifecycle.Suspending},
	v1beta2.ApplicationStateSuspended:        {Phase: lifecycle.Suspended},
	v1beta2.ApplicationStateResuming:         {Phase: lifecycle.Resuming},
	v1beta2.ApplicationStateCompleted:        {Phase: lifecycle.Done, Outcome: lifecycle.Succeeded},
	v1beta2.ApplicationStateFailed:           {Phase: lifecycle.Done, Outcome: lifecycle.Failed},
}

// adoptState reads the status that another operator of this API left. Without a spec hash nothing is taken for an edit, so nothing restarts.
func adoptState(m *lifecycle.Memory, s *v1beta2.SparkApplicationStatus) {
	as := adopted[s.AppState.State]
	m.Phase, m.Outcome, m.Attempt = as.Phase, as.Outcome, attemptLeft(s)
	if m.Phase == lifecycle.New {
		return
	}
	m.SubmittedAt, m.EndedAt = s.LastSubmissionAttemptTime.UTC(), s.TerminationTime.UTC()
	m.Since = m.SubmittedAt
	switch {
	case m.Phase == lifecycle.Editing:
		m.Runs, m.Submissions = 0, 0 // the other operator forgets them when it comes to launch the new spec
		m.EndedAt = time.Time{}
	case m.Outcome == lifecycle.Undecided:
		m.EndedAt = time.Time{}
	default:
		if !m.EndedAt.IsZero() {
			m.Since = m.EndedAt
		}
		if m.Outcome == lifecycle.Refused {
			m.Submissions = max(m.Submissions, m.Runs+1) // this one came to no run
		}
		if m.Outcome != lifecycle.Succeeded {
			m.Cause = lifecycle.Cause{Reason: string(m.Outcome), Message: strings.TrimPrefix(s.AppState.ErrorMessage, notSubmitted(*m))}
		}
	}
}

// attemptLeft is the number of the attempt that another operator's status speaks of: that of its submission since the last edit; 0 before the
// first. Numbers of ours go on from there.
func attemptLeft(s *v1beta2.SparkApplicationStatus) int32 {
	switch {
	case s.Operator != nil:
		return s.Operator.Attempt
	case s.AppState.State == v1beta2.ApplicationStateNew || s.SubmissionID == "":
		return 0
	}
	return max(1, s.SubmissionAttempts)
}

// takeOver is the memory of an application that another operator began.
func takeOver(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Memory {
	m := decodeMemory(&app.Status)
	if !taking(&app.Status) {
		return m
	}
	for i := range seen.Drivers {
		// A status of ours from which the other operator struck what it does not know.
		if n := seen.Drivers[i].Attempt; n > m.Attempt && lifecycle.AttemptID(string(app.UID), n) == m.AttemptID {
			m.Attempt = n
		}
	}
	var driver *lifecycle.Driver
	if m.Attempt > 0 {
		driver = seen.Driver(m.Attempt)
		dateLaunch(&m, driver, now)
	}
	if driver != nil {
		m.AttemptID = cmp.Or(driver.AttemptID, m.AttemptID)
	}
	if m.Phase == lifecycle.Ended || m.Phase.Terminal() {
		believeDriver(&m, driver)
	}
	if m.Since.IsZero() {
		m.Since = m.SubmittedAt
	}
	if m.Since.IsZero() {
		m.Since = now
	}
	return m
}

// dateLaunch sees to it that an attempt was submitted at some time: a deadline must not count from the beginning of time.
func dateLaunch(m *lifecycle.Memory, driver *lifecycle.Driver, now time.Time) {
	switch {
	case !m.SubmittedAt.IsZero():
	case driver != nil && !driver.CreatedAt.IsZero() && driver.CreatedAt.Before(now):
		m.SubmittedAt = driver.CreatedAt.UTC()
	default:
		m.SubmittedAt = now
	}
}

// believeDriver believes what runs before what was written: a driver that goes on is that of a running application also where the state says that
// the attempt is over. The other operator concludes that from a driver that it did not find, or from a second submission that met the first.
func believeDriver(m *lifecycle.Memory, driver *lifecycle.Driver) {
	switch {
	case driver != nil && driver.Phase == lifecycle.DriverRunning && !driver.Deleting:
		if m.Outcome == lifecycle.Refused {
			m.Runs++
		}
		m.Phase, m.Outcome, m.Cause, m.EndedAt = lifecycle.Launched, lifecycle.Undecided, lifecycle.Cause{}, time.Time{}
		return
	case driver != nil && m.Phase == lifecycle.Done:
		m.Phase = lifecycle.Retained
	}
	if m.EndedAt.IsZero() {
		m.EndedAt = m.SubmittedAt
	}
}

// Adopt returns those of the pods that another operator of this API made for the application, each with the identity that its maker did not give it
// (labels and owner, in the copy that is returned alone). Candidates are pods without our labels that name the application (LabelAppName).
//
// A driver is one that the application controls, or, of versions of that operator that set no owner, that the status names. Its number is that of
// the attempt that the status speaks of; or the next, where its launch was not written down; or 0, where it is an earlier one's, of which nothing is
// wanted but its end. Executors are their driver's.
func (Dialect) Adopt(app *v1beta2.SparkApplication, candidates []corev1.Pod) []corev1.Pod {
	var out []corev1.Pod
	attempts := map[string]int32{app.Status.SubmissionID: attemptLeft(&app.Status)}
	unwritten := ""
	for i := range candidates {
		pod := &candidates[i]
		id := pod.Labels[sparkoperator.LabelSubmissionID]
		if pod.Labels[submit.RoleLabel] != submit.RoleDriver || id == "" || !left(pod, app) {
			continue
		}
		switch {
		case current(pod, &app.Status):
			attempts[id] = attemptLeft(&app.Status)
		case unrecorded(pod, &app.Status) && unwritten == "": // were there two, one goes
			unwritten = id
			attempts[id] = attemptLeft(&app.Status) + 1
		}
		out = append(out, identified(pod, app, attempts[id]))
	}
	for i := range candidates {
		pod := &candidates[i]
		if pod.Labels[submit.RoleLabel] == submit.RoleExecutor {
			out = append(out, identified(pod, app, attempts[pod.Labels[sparkoperator.LabelSubmissionID]]))
		}
	}
	return out
}

// GroupLeft returns the identity of the PodGroup that another operator made for the attempt that the status speaks of, with the labels that it lacks; nil
// where a batch scheduler knows the application by none, or while the attempt may still need it. That operator deletes it when the driver has ended, and
// so it is the attempt's to lose.
func (d Dialect) GroupLeft(app *v1beta2.SparkApplication, seen lifecycle.Observed) *metav1.PartialObjectMetadata {
	attempt := attemptLeft(&app.Status)
	if attempt == 0 || app.Status.SubmissionID == lifecycle.AttemptID(string(app.UID), attempt) {
		return nil
	}
	stops := app.Spec.Suspend != nil && *app.Spec.Suspend
	if driver := seen.Driver(attempt); !stops && driver != nil && driver.Phase != lifecycle.DriverSucceeded && driver.Phase != lifecycle.DriverFailed {
		return nil
	}
	group := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: app.Namespace, Labels: map[string]string{sparkoperator.LabelAppUID: string(app.UID), sparkoperator.LabelAttempt: strconv.Itoa(int(attempt))},
	}}
	switch _, kind, _ := d.gangOf(app); kind {
	case volcanoGang:
		group.Name = gang.VolcanoName(app.Name)
		group.SetGroupVersionKind(gang.VolcanoKind)
	case coschedulingGang:
		group.Name = gang.CoschedulingName(app.Name)
		group.SetGroupVersionKind(gang.CoschedulingKind)
	default:
		return nil
	}
	return group
}

// current reports whether a driver is of the attempt that the status speaks of. The other operator knows its driver by the name alone, whatever its
// labels say; ours by the id that was taken over.
func current(pod *corev1.Pod, s *v1beta2.SparkApplicationStatus) bool {
	if attemptLeft(s) == 0 {
		return false
	}
	return pod.Labels[sparkoperator.LabelSubmissionID] == s.SubmissionID || s.Operator == nil && pod.Name == s.DriverInfo.PodName
}

// unrecorded reports whether a driver that is not current is one whose launch nobody wrote down, rather than what is left of an earlier attempt.
func unrecorded(pod *corev1.Pod, s *v1beta2.SparkApplicationStatus) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil || s.Operator == nil && s.SubmissionID != "" && ended {
		return false
	}
	return s.Operator == nil || !pod.CreationTimestamp.Time.Before(s.LastSubmissionAttemptTime.Time)
}

// left reports whether a driver pod of another operator's is the application's.
func left(pod *corev1.Pod, app *v1beta2.SparkApplication) bool {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		return ref.UID == app.UID
	}
	if slices.ContainsFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == app.UID }) {
		return true
	}
	return len(pod.OwnerReferences) == 0 && pod.Name == app.Status.DriverInfo.PodName && pod.Labels[sparkoperator.LabelSubmissionID] == app.Status.SubmissionID
}

// identified is a copy of a pod with the labels of an attempt and, of a driver, with its owner.
func identified(pod *corev1.Pod, app *v1beta2.SparkApplication, attempt int32) corev1.Pod {
	out := *pod.DeepCopy()
	out.Labels[sparkoperator.LabelAppUID], out.Labels[sparkoperator.LabelAttempt] = string(app.UID), strconv.Itoa(int(attempt))
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, lifecycle.AdoptedAnnotation, pod.Labels[sparkoperator.LabelSubmissionID])
	if out.Labels[submit.RoleLabel] == submit.RoleDriver && metav1.GetControllerOf(&out) == nil {
		out.OwnerReferences = []metav1.OwnerReference{ownerReference(app)}
	}
	return out
}
