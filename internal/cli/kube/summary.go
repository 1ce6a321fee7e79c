package kube

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/usage"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
)

// Result is a short form of an object's state. It has the same values for all kinds.
type Result string

// These are the values of Result.
const (
	Pending   Result = "pending"
	Running   Result = "running"
	Succeeded Result = "succeeded"
	Failed    Result = "failed"
	Suspended Result = "suspended"
)

// Summary is the state of an object of any kind.
type Summary struct {
	Kind      *kinds.Kind `json:"-"`
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Created   time.Time   `json:"created"`
	// State is the state as the status of the kind names it.
	State  string `json:"state"`
	Result `json:"result"`
	Ready  bool `json:"ready"`
	// Message says why the object is not ready. Reason is the corresponding reason as one word.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Advice says what to do about the reason; empty if that is unknown.
	Advice string `json:"advice,omitempty"`
	// Log is the end of the log of the container whose end the message is about; empty if nothing of it is kept.
	Log string `json:"log,omitempty"`
	// Attempt is the number of the current or last attempt; 0 before the first, and for kinds without attempts.
	Attempt int32 `json:"attempt,omitempty"`
	// Executors counts the executors of an application or a Connect server; nil for other kinds.
	Executors *statusv1.ExecutorCounts `json:"executors,omitempty"`
	// Detail is a text about fields that only this kind has, such as the times of a schedule.
	Detail string `json:"detail,omitempty"`
	// Pod is the driver's or the server's pod.
	Pod        string                        `json:"pod,omitempty"`
	Conditions []metav1.Condition            `json:"conditions,omitempty"`
	History    []statusv1.OperatorTransition `json:"history,omitempty"`
	// Started is when the current or last attempt was submitted. It is zero before the first, and for kinds without
	// attempts.
	Started time.Time `json:"started,omitzero"`
	// Ended is when the last attempt ended. It is zero while an attempt runs.
	Ended time.Time `json:"ended,omitzero"`
	// Next is when the next run of a schedule starts, or the next attempt of an application. It is zero if nothing is due.
	Next time.Time `json:"next,omitzero"`
	// Usage is what the pods of all attempts have requested, multiplied by time; nil for kinds without usage.
	Usage *statusv1.OperatorUsage `json:"usage,omitempty"`
	// Start tells when the pods of the current or last attempt became ready for work; nil before, and for kinds without
	// attempts.
	Start *statusv1.OperatorStart `json:"start,omitempty"`
	// Observed is true if the operator has decided about the current spec, and has carried out the restart request if
	// there is one.
	Observed bool `json:"observed"`
	// Held is true if the operator has decided to start nothing for the current spec; a restart request waits.
	Held bool `json:"held,omitempty"`
}

// Summarize returns the summary of an object.
func Summarize(object client.Object) Summary {
	s := Summary{
		Kind: kinds.Of(object), Namespace: object.GetNamespace(), Name: object.GetName(), Created: object.GetCreationTimestamp().Time,
		Conditions: reflect.ValueOf(object).Elem().FieldByName("Status").FieldByName("Conditions").Interface().([]metav1.Condition),
		Observed:   reflect.ValueOf(object).Elem().FieldByName("Status").FieldByName("ObservedGeneration").Int() == object.GetGeneration(),
	}
	s.remember(OperatorStatus(object))

	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		st := &object.Status

		s.State, s.Pod, s.Executors = string(st.AppState.State), st.DriverInfo.PodName, st.Executors
		if st.Operator == nil { // another operator's status
			s.Started, s.Ended = st.LastSubmissionAttemptTime.Time, st.TerminationTime.Time
		}

		s.Message = st.AppState.ErrorMessage
		s.Attempt = max(s.Attempt, st.SubmissionAttempts)
	case *v1beta2.ScheduledSparkApplication:
		s.State, s.Message = string(object.Status.ScheduleState), object.Status.Reason

		s.Next, s.Detail = object.Status.NextRun.Time, "at "+object.Spec.Schedule
		if last := object.Status.LastRunName; last != "" {
			s.Detail += ", last run " + last
		}
	case *v1alpha1.SparkConnect:
		st := &object.Status
		s.State, s.Pod = string(st.State), st.Server.PodName
		s.Executors = &statusv1.ExecutorCounts{
			Pending: int32(st.Executors["pending"]), Running: int32(st.Executors["running"]), Completed: int32(st.Executors["succeeded"]),
			Failed: int32(st.Executors["failed"]), Unknown: int32(st.Executors["unknown"]),
		}
	case *sparkv1.SparkApplication:
		st := &object.Status

		s.Executors = st.Executors
		if st.CurrentState != nil {
			s.State, s.Message = string(st.CurrentState.CurrentStateSummary), st.CurrentState.Message
		}
	case *sparkv1.SparkCluster:
		if state := object.Status.CurrentState; state != nil {
			s.State, s.Message = string(state.CurrentStateSummary), state.Message
		}

		s.Usage = cmp.Or(object.Status.Operator, &sparkv1.ClusterOperatorStatus{}).Usage
		workers := object.Spec.ClusterTolerations.InstanceConfig
		s.Detail = bounds.Count(workers.InitWorkers, "worker") + " wanted"
	}

	ready := meta.FindStatusCondition(s.Conditions, dialect.ConditionReady)

	s.Held = ready != nil && ready.ObservedGeneration == object.GetGeneration() &&
		(lifecycle.IsQuotaWait(ready.Reason) || slices.Contains([]string{apache.ReasonSuspendHeld, dialect.ReasonOtherOperator}, ready.Reason))
	if lifecycle.RestartRequested(restartDone(object), lifecycle.RestartRequest(object.GetAnnotations())) {
		s.Observed = false
	}

	s.conclude(ready)
	s.advise()
	return s
}

// Queued reports whether the operator creates no pods until a queue admits them.
func (s *Summary) Queued() bool { return lifecycle.IsQuotaWait(s.Reason) }

// OperatorStatus returns the operator's part of the status of an application or a Connect server, or nil.
func OperatorStatus(object client.Object) *statusv1.OperatorStatus {
	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		return object.Status.Operator
	case *v1alpha1.SparkConnect:
		if o := object.Status.Operator; o != nil {
			return &o.OperatorStatus
		}
	case *sparkv1.SparkApplication:
		if o := object.Status.Operator; o != nil {
			return &o.OperatorStatus
		}
	}
	return nil
}

// restartDone returns the last restart request that the operator has carried out for an object.
//
// A schedule cannot be restarted, so a restart request has no effect on it. For a schedule, restartDone returns the
// current request, as if it had been carried out. Otherwise the request would count as open forever.
func restartDone(object client.Object) string {
	if o := OperatorStatus(object); o != nil {
		return o.RestartRequest
	}

	switch object := object.(type) {
	case *sparkv1.SparkCluster:
		if o := object.Status.Operator; o != nil {
			return o.RestartRequest
		}
	case *v1beta2.ScheduledSparkApplication:
		return lifecycle.RestartRequest(object.GetAnnotations())
	}
	return ""
}

func (s *Summary) remember(o *statusv1.OperatorStatus) {
	if o == nil {
		return
	}

	s.Attempt, s.History, s.Usage, s.Start = o.Attempt, o.History, o.Usage, o.Start
	if o.Cause != nil {
		s.Advice, s.Log = o.Cause.Advice, o.Cause.Log
	}

	for at, into := range map[*metav1.MicroTime]*time.Time{o.SubmittedAt: &s.Started, o.EndedAt: &s.Ended, o.NextAttemptTime: &s.Next} {
		if at != nil {
			*into = at.Time
		}
	}
}

// Duration returns how long the current or last attempt has run, or 0 if there was none.
func (s *Summary) Duration(now time.Time) time.Duration {
	switch {
	case s.Started.IsZero():
		return 0
	case !s.Ended.IsZero():
		now = s.Ended
	}
	return now.Sub(s.Started)
}

// Used returns what the pods of all attempts have requested until now, multiplied by time.
func (s *Summary) Used(now time.Time) statusv1.UsageSums {
	if s.Usage == nil {
		return statusv1.UsageSums{}
	}
	return usage.Total(usage.At(s.Usage, now))
}

// conclude sets the result, the reason and the message from the conditions. If there are no conditions, because another
// operator wrote the status, it sets the result from the state. The argument is the condition Ready, or nil.
func (s *Summary) conclude(ready *metav1.Condition) {
	is := func(condition string) bool { return meta.IsStatusConditionTrue(s.Conditions, condition) }
	state := strings.ToLower(s.State)

	s.Ready = is(dialect.ConditionReady)
	switch {
	case is(dialect.ConditionSuspended), ready != nil && ready.Reason == apache.ReasonSuspendHeld && !is(dialect.ConditionRunning), len(s.Conditions) == 0 && state == "suspended":
		s.Result = Suspended
	case is(dialect.ConditionSucceeded), len(s.Conditions) == 0 && state == "completed":
		s.Result = Succeeded
	case is(dialect.ConditionFailed), dialect.Stands(s.Conditions), len(s.Conditions) == 0 && slices.Contains([]string{"failed", "failedvalidation"}, state):
		s.Result = Failed
	case is(dialect.ConditionRunning), s.Ready, len(s.Conditions) == 0 && state == "running":
		s.Result = Running
	default:
		s.Result = Pending
	}

	if ready != nil && ready.Status != metav1.ConditionTrue {
		s.Reason, s.Message = ready.Reason, cmp.Or(ready.Message, s.Message)
	}

	if degraded := meta.FindStatusCondition(s.Conditions, dialect.ConditionDegraded); degraded != nil && degraded.Status == metav1.ConditionTrue {
		s.Reason, s.Message = degraded.Reason, cmp.Or(degraded.Message, s.Message)
	}

	s.State = cmp.Or(s.State, "New")
}

// advise sets the advice. If the status has none, it follows from the reason.
func (s *Summary) advise() {
	if s.Message == "" {
		s.Advice = ""
		return
	}

	names := strings.NewReplacer("NAMESPACE", s.Namespace, "NAME", s.Kind.Name+"/"+s.Name+" -n "+s.Namespace, "sparkctl ", string(terminal.Hint("")))
	s.Advice = names.Replace(cmp.Or(s.Advice, cause.Advice(s.Reason, s.Message)))
}

// Over reports whether the object has ended: its result does not change any more, unless somebody edits the object.
func (s *Summary) Over() bool { return s.Observed && (s.Result == Succeeded || s.Result == Failed) }

// TimeOf returns a time of a status, or the zero time for nil.
func TimeOf(at *metav1.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.Time
}
