// Package takeover continues SparkApplications that another operator of this API started. Their status does not contain
// our memory (status.operator), and their pods do not have our labels. The package derives a memory from the state and
// from the pods. It finds the pods by the submission id in the other operator's labels. After the take-over, the usual
// state machine decides (docs/decisions/0007-take-over.md).
package takeover

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Foreign reports whether another operator wrote a state that this API does not have. Our operator ignores such an
// application.
func Foreign(s *v1beta2.SparkApplicationStatus) bool {
	_, known := adopted[s.AppState.State]
	return s.Operator == nil && !known
}

// Needed reports whether another operator wrote the status. If so, our operator takes over the application.
func Needed(s *v1beta2.SparkApplicationStatus) bool {
	return s.Operator == nil && s.AppState.State != v1beta2.ApplicationStateNew
}

// adopted maps each state that another operator may have written last to the memory with which our operator continues.
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

// Derive derives a memory from the status that another operator of this API wrote. This memory contains no hash of
// the spec. Therefore the operator cannot detect earlier edits of the spec, and restarts nothing.
func Derive(m *lifecycle.Memory, s *v1beta2.SparkApplicationStatus) {
	as := adopted[s.AppState.State]

	m.Phase, m.Outcome, m.Attempt = as.Phase, as.Outcome, inheritedAttempt(s)
	if m.Phase == lifecycle.New {
		return
	}

	m.SubmittedAt, m.EndedAt = s.LastSubmissionAttemptTime.UTC(), s.TerminationTime.UTC()

	m.Since = m.SubmittedAt
	switch {
	case m.Phase == lifecycle.Editing:
		m.Runs, m.Submissions = 0, 0 // the other operator resets them when it launches the new spec
		m.EndedAt = time.Time{}
	case m.Outcome == lifecycle.Undecided:
		m.EndedAt = time.Time{}
	default:
		if !m.EndedAt.IsZero() {
			m.Since = m.EndedAt
		}

		if m.Outcome == lifecycle.Refused {
			m.Submissions = max(m.Submissions, m.Runs+1) // this submission did not get to run
		}

		if m.Outcome != lifecycle.Succeeded {
			m.Cause = lifecycle.Cause{Reason: string(m.Outcome), Message: s.AppState.ErrorMessage}
		}
	}
}

// inheritedAttempt returns the number of the attempt in the status, or 0 before the first submission. In another
// operator's status, this is the number of submissions since the last edit. Our attempt numbers continue from it.
func inheritedAttempt(s *v1beta2.SparkApplicationStatus) int32 {
	switch {
	case s.Operator != nil:
		return s.Operator.Attempt
	case s.AppState.State == v1beta2.ApplicationStateNew || s.SubmissionID == "":
		return 0
	}
	return max(1, s.SubmissionAttempts)
}

// Complete completes the memory that was derived from the status of another operator by what the driver pods show.
func Complete(app *v1beta2.SparkApplication, m lifecycle.Memory, seen lifecycle.Observed, now time.Time) lifecycle.Memory {
	for i := range seen.Drivers {
		// Our operator wrote the status before, and the other operator removed the fields that it does not know.
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
		adoptDriverFacts(&m, driver)
	}

	if m.Since.IsZero() {
		m.Since = m.SubmittedAt
	}

	if m.Since.IsZero() {
		m.Since = now
	}
	return m
}

// dateLaunch sets the submission time of an attempt if the other operator's status does not contain it. Without a
// submission time, deadlines would count from the zero time.
func dateLaunch(m *lifecycle.Memory, driver *lifecycle.Driver, now time.Time) {
	switch {
	case !m.SubmittedAt.IsZero():
	case driver != nil && !driver.CreatedAt.IsZero() && driver.CreatedAt.Before(now):
		m.SubmittedAt = driver.CreatedAt.UTC()
	default:
		m.SubmittedAt = now
	}
}

// adoptDriverFacts corrects a memory according to which the attempt has ended. If the attempt's driver is running, the
// attempt counts as running again.
//
// The other operator's status may wrongly report the end of an attempt in two cases. Either that operator did not find
// the driver, or its second submission failed because the driver of the first submission still existed.
func adoptDriverFacts(m *lifecycle.Memory, driver *lifecycle.Driver) {
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

// Adopt returns copies of those candidates that another operator of this API created for the application. The copies
// have the labels and the owner by which our operator finds pods. Candidates are pods without our labels that name the
// application (LabelAppName).
//
// A driver pod must be owned by the application. Some versions of the other operator create driver pods without an
// owner. Such a pod must have the driver pod's name and the submission id that are in the status.
//
// The attempt number of a driver is the number of the attempt in the status. If the launch of the driver was not
// stored, it is the next number. It is 0 if the driver belongs to an earlier attempt and must only be stopped.
// Executors have the number of their driver.
func Adopt(app *v1beta2.SparkApplication, candidates []corev1.Pod) []corev1.Pod {
	var out []corev1.Pod
	owner := naming.Owner(app)
	attempts := map[string]int32{app.Status.SubmissionID: inheritedAttempt(&app.Status)}

	unwritten := ""
	for i := range candidates {
		pod := &candidates[i]

		id := pod.Labels[sparkoperator.LabelSubmissionID]
		if pod.Labels[submit.RoleLabel] != submit.RoleDriver || id == "" || !ownsDriver(pod, app) {
			continue
		}

		switch {
		case current(pod, &app.Status):
			attempts[id] = inheritedAttempt(&app.Status)
		case unrecorded(pod, &app.Status) && unwritten == "": // if there are two such drivers, one is deleted
			unwritten = id
			attempts[id] = inheritedAttempt(&app.Status) + 1
		}

		out = append(out, dialect.WithIdentity(pod, owner, attempts[id], id))
	}

	for i := range candidates {
		pod := &candidates[i]
		if pod.Labels[submit.RoleLabel] == submit.RoleExecutor {
			id := pod.Labels[sparkoperator.LabelSubmissionID]
			out = append(out, dialect.WithIdentity(pod, owner, attempts[id], id))
		}
	}
	return out
}

// InheritedGroup returns the identity of the PodGroup that another operator created for the attempt in the status, so
// that our operator deletes it together with the attempt. The other operator would delete the PodGroup when the driver
// has ended.
//
// The result has our labels, although the PodGroup itself does not have them. It is nil in three cases: the batch
// scheduler uses no PodGroup, our operator launched the attempt, or the attempt may still need the PodGroup.
func InheritedGroup(app *v1beta2.SparkApplication, batch batch.Options, seen lifecycle.Observed) *metav1.PartialObjectMetadata {
	attempt := inheritedAttempt(&app.Status)
	if attempt == 0 || app.Status.SubmissionID == lifecycle.AttemptID(string(app.UID), attempt) {
		return nil
	}

	stops := dialect.Suspended(app.Spec.Suspend)
	if driver := seen.Driver(attempt); !stops && driver != nil && driver.Phase != lifecycle.DriverSucceeded && driver.Phase != lifecycle.DriverFailed {
		return nil
	}

	group := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: app.Namespace, Labels: map[string]string{sparkoperator.LabelAppUID: string(app.UID), sparkoperator.LabelAttempt: strconv.Itoa(int(attempt))},
	}}

	kind, name := batch.Group(app)
	if name == "" {
		return nil
	}

	group.Name = name
	group.SetGroupVersionKind(kind)
	return group
}

// current reports whether a driver pod belongs to the attempt in the status. The pod and the status must have the same
// submission id. If the other operator wrote the status, the same driver name is enough, because that operator
// identifies its driver by name.
func current(pod *corev1.Pod, s *v1beta2.SparkApplicationStatus) bool {
	if inheritedAttempt(s) == 0 {
		return false
	}
	return pod.Labels[sparkoperator.LabelSubmissionID] == s.SubmissionID || s.Operator == nil && pod.Name == s.DriverInfo.PodName
}

// unrecorded reports whether a driver pod belongs to an attempt whose launch was not stored. Otherwise the pod belongs
// to an earlier attempt. Callers must check first that the pod does not belong to the attempt in the status (current).
func unrecorded(pod *corev1.Pod, s *v1beta2.SparkApplicationStatus) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil || s.Operator == nil && s.SubmissionID != "" && ended {
		return false
	}
	return s.Operator == nil || !pod.CreationTimestamp.Time.Before(s.LastSubmissionAttemptTime.Time)
}

// ownsDriver reports whether an inherited driver pod belongs to the application.
func ownsDriver(pod *corev1.Pod, app *v1beta2.SparkApplication) bool {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		return ref.UID == app.UID
	}

	if slices.ContainsFunc(pod.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == app.UID }) {
		return true
	}
	return len(pod.OwnerReferences) == 0 && pod.Name == app.Status.DriverInfo.PodName && pod.Labels[sparkoperator.LabelSubmissionID] == app.Status.SubmissionID
}

// Notice returns the notice that the application was taken over from another operator. Its message contains the last
// state that the other operator wrote.
func Notice(app *v1beta2.SparkApplication, m lifecycle.Memory) lifecycle.Notice {
	submissions := "submissions"
	if app.Status.SubmissionAttempts == 1 {
		submissions = "submission"
	}
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s after %d %s",
			app.Status.AppState.State, app.Status.SubmissionAttempts, submissions)}}
}

// ExplainForeign sets the condition Ready, which explains why the operator ignores the application. It changes nothing
// else in the status.
func ExplainForeign(app *v1beta2.SparkApplication, now time.Time) {
	dialect.SetCondition(&app.Status.Conditions, metav1.Condition{
		Type: dialect.ConditionReady, Status: metav1.ConditionFalse, Reason: dialect.ReasonOtherOperator,
		Message: fmt.Sprintf("another operator left the application in state %q, which this operator does not support: "+
			"let the other operator finish it, or delete it and create it again", app.Status.AppState.State),
	}, app.Generation, now)
}
