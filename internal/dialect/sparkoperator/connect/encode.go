package connect

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/executors"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// decodeConnect returns the memory that rememberConnect stored. A status of another operator contains no memory, so the
// result is the zero Memory. Our operator finds the other operator's server by its pod (Adopt).
func decodeConnect(s *v1alpha1.SparkConnectStatus) (m lifecycle.Memory) {
	if o := s.Operator; o != nil {
		dialect.DecodeMemory(&m, &o.OperatorStatus)
		m.AttemptID, m.Runs, m.Submissions = o.AttemptID, o.Runs, o.Submissions
	}
	return m
}

// rememberConnect stores the operator's memory in the status. decodeConnect reads it again.
func rememberConnect(s *v1alpha1.SparkConnectStatus, m lifecycle.Memory) {
	if s.Operator == nil {
		s.Operator = &v1alpha1.OperatorStatus{}
	}

	dialect.EncodeMemory(&s.Operator.OperatorStatus, m)
	s.Operator.AttemptID, s.Operator.Runs, s.Operator.Submissions = m.AttemptID, m.Runs, m.Submissions
}

// stampChange calls the given function, which may change the status. If the status has changed, stampChange sets
// lastUpdateTime.
func stampChange(sc *v1alpha1.SparkConnect, now time.Time, change func()) {
	before := sc.Status.DeepCopy()

	change()

	if !equality.Semantic.DeepEqual(*before, sc.Status) {
		sc.Status.LastUpdateTime = metav1.NewTime(now.Truncate(time.Second)) // as precise as it is stored
	}
}

// encodeConnect writes a decision into the status: the fields of this API, and the operator's memory. It returns a
// notice for each executor that failed after the previous pass.
func encodeConnect(sc *v1alpha1.SparkConnect, plan lifecycle.Plan, seen lifecycle.Observed) []lifecycle.Notice {
	s, m := &sc.Status, plan.Next
	reported := reportedFailures(s, m)
	rememberConnect(s, m)
	s.Operator.History = dialect.History(s.Operator.History, plan.Transitions)
	s.ObservedGeneration = sc.Generation
	s.State = connectState(s.State, m)
	s.Server.PodName, s.Server.PodIP = "", ""

	server := seen.Driver(m.Attempt)
	switch {
	case server != nil:
		s.Server.PodName = server.Name
		if m.Phase.Live() {
			s.Server.PodIP = server.Address
		}
	case m.Phase == lifecycle.Launched:
		s.Server.PodName = connect.ServerName(sc.Name)
	}

	if s.StartTime.IsZero() && m.Runs > 0 {
		s.StartTime = metav1.NewTime(m.SubmittedAt.Truncate(time.Second))
	}

	s.Executors = executorsByPhase(m, seen)
	return noticeFailures(s.Operator, m, seen, reported)
}

// reportedFailures returns the ids of those failed executors of the current attempt that were already reported.
func reportedFailures(s *v1alpha1.SparkConnectStatus, m lifecycle.Memory) executors.IDSet {
	if s.Operator == nil || s.Operator.Executors == nil || s.Operator.AttemptID != m.AttemptID {
		return nil
	}
	return executors.ParseIDs(s.Operator.Executors.Failed)
}

// noticeFailures returns a notice for each failed executor that was not reported yet, up to a limit. It also stores the
// ids of all failed executors whose pods exist, so that they are not reported again.
func noticeFailures(o *v1alpha1.OperatorStatus, m lifecycle.Memory, seen lifecycle.Observed, reported executors.IDSet) []lifecycle.Notice {
	var failed executors.IDSet

	var unreported []*lifecycle.Executor
	for i := range seen.Executors {
		e := &seen.Executors[i]
		if e.Attempt != m.Attempt || e.Phase != lifecycle.DriverFailed {
			continue
		}

		id := executors.ID(e.Name)
		failed.Add(id)

		if !reported.Has(id) && len(reported) < executors.MaxRanges {
			unreported = append(unreported, e)
		}
	}

	o.Executors = nil
	if len(failed) > 0 {
		o.Executors = &v1beta2.OperatorExecutors{Failed: failed.Cut(executors.MaxRanges).String()}
	}
	return executors.Notices(unreported, executors.MaxNotices)
}

// connectState returns the state of this API for a server. The argument before is the state in the stored status. If
// the server's pod runs but is not ready, the result depends on it: NotReady if the server was ready before, and
// Provisioning if it was not.
func connectState(before v1alpha1.SparkConnectState, m lifecycle.Memory) v1alpha1.SparkConnectState {
	switch m.Phase {
	case lifecycle.Running:
		return v1alpha1.SparkConnectStateReady
	case lifecycle.Started:
		if before == v1alpha1.SparkConnectStateReady || before == v1alpha1.SparkConnectStateNotReady {
			return v1alpha1.SparkConnectStateNotReady
		}
	case lifecycle.Unknown, lifecycle.Suspending, lifecycle.Suspended:
		return v1alpha1.SparkConnectStateNotReady
	case lifecycle.Ended, lifecycle.Retained, lifecycle.Done:
		return v1alpha1.SparkConnectStateFailed
	case lifecycle.Waiting:
		if backsOff(m) {
			return v1alpha1.SparkConnectStateFailed
		}
	}
	return v1alpha1.SparkConnectStateProvisioning
}

// backsOff reports whether a server has ended and the time for the next server has not come yet.
func backsOff(m lifecycle.Memory) bool {
	return m.Phase == lifecycle.Waiting && !m.NextAttempt.IsZero()
}

// executorPhases maps each phase of an executor pod to its name in this API: Kubernetes' name in lower case.
var executorPhases = map[lifecycle.DriverPhase]string{
	lifecycle.DriverPending:   "pending",
	lifecycle.DriverRunning:   "running",
	lifecycle.DriverSucceeded: "succeeded",
	lifecycle.DriverFailed:    "failed",
	lifecycle.DriverUnknown:   "unknown",
}

// executorsByPhase returns the number of existing executors of a server in each phase, or nil if there are none.
func executorsByPhase(m lifecycle.Memory, seen lifecycle.Observed) map[string]int {
	var counts map[string]int
	for i := range seen.Executors {
		e := &seen.Executors[i]
		if e.Attempt != m.Attempt {
			continue
		}

		if counts == nil {
			counts = map[string]int{}
		}
		counts[executorPhases[e.Phase]]++
	}
	return counts
}

// setCondition sets a condition. It changes the transition time only if the condition's status changes.
func setCondition(sc *v1alpha1.SparkConnect, kind string, status metav1.ConditionStatus, why lifecycle.Cause, now time.Time) {
	dialect.SetCondition(&sc.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: dialect.UsableReason(why.Reason), Message: why.Message,
	}, sc.Generation, now)
}
