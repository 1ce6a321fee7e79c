package status

import (
	"fmt"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

// Reasons of events about facts of SparkClusters that are no states. The event of a state has the name of the state.
const (
	EventClusterSubmitted        = "SparkClusterSubmitted"
	EventRequestFailed           = "ClusterRequestFailed" // an object is refused
	EventClusterPending          = "SparkClusterPending"
	EventClusterDegraded         = "SparkClusterDegraded"
	EventClusterRecovered        = "SparkClusterRecovered"
	EventClusterSpecChanged      = "SparkClusterSpecChanged"
	EventClusterRestartRequested = "SparkClusterRestartRequested"
	EventClusterRolledOut        = "SparkClusterRolledOut"
	EventClusterRolloutTimedOut  = "SparkClusterRolloutTimedOut"
	EventClusterInvalid          = "SparkClusterInvalid"
	EventClusterTakenOver        = "SparkClusterTakenOver"
	EventClusterWarning          = "SparkClusterWarning"
)

// Events returns the events of a plan, oldest first. The plan consists of the results of both decisions of a pass:
// Decide and AuxiliaryObjects.Decide. Each state that the cluster enters has one event.
func Events(plan lifecycle.Plan) (out []dialect.Event) {
	for _, n := range plan.Notices {
		event, ours := apache.NoticeEvent(n)
		if !ours {
			event = noticeEvent(n)
		}

		out = append(out, event)
	}
	return out
}

// allObjectsExist is the notice that the API server has accepted all objects of a cluster. The cluster's state is
// Submitted before and after that.
var allObjectsExist = lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventClusterSubmitted, Message: "all objects of the cluster exist"}}

// refusals returns the notices that the API server has refused an object of a cluster.
func refusals(transitions []lifecycle.Transition) (notices []lifecycle.Notice) {
	for _, t := range transitions {
		if t.To == lifecycle.Waiting {
			notices = append(notices, lifecycle.Notice{Part: lifecycle.Application, Waits: true, Cause: t.Cause})
		}
	}
	return notices
}

// goodNews contains the notices that become events of the type Normal, because they require no action of the user. Its
// keys are the reasons of the notices, and its values are the reasons of the events.
var goodNews = map[string]string{
	cluster.ReasonEdited:    EventClusterSpecChanged,
	cluster.ReasonRestarted: EventClusterRestartRequested,
	cluster.ReasonRolledOut: EventClusterRolledOut,
	cluster.ReasonRecovered: EventClusterRecovered,
	EventClusterTakenOver:   EventClusterTakenOver,
	EventClusterSubmitted:   EventClusterSubmitted,
}

// badNews contains notices that become events of the type Warning. Its keys are the reasons of the notices, and its
// values are the reasons of the events.
var badNews = map[string]string{
	cluster.ReasonRolloutTimedOut: EventClusterRolloutTimedOut,
	EventClusterInvalid:           EventClusterInvalid,
	EventClusterWarning:           EventClusterWarning,
	cluster.ReasonPodsRemain:      cluster.ReasonPodsRemain,
	apache.ReasonEvicted:          apache.ReasonEvicted,
	dialect.ReasonOtherOperator:   dialect.ReasonOtherOperator,

	lifecycle.ReasonQuotaRequestFailed: lifecycle.ReasonQuotaRequestFailed,
	lifecycle.ReasonFlavorUnreadable:   lifecycle.ReasonFlavorUnreadable,
	dialect.ReasonRequestMissing:       dialect.ReasonRequestMissing,
}

// noticeEvent returns the event for a notice.
func noticeEvent(n lifecycle.Notice) (e dialect.Event) {
	switch {
	case n.Part == lifecycle.Application && goodNews[n.Cause.Reason] != "":
		e, _ = dialect.Normal(goodNews[n.Cause.Reason], "%s", n.Cause.Message)
		return e
	case badNews[n.Cause.Reason] != "":
		e, _ = dialect.Warning(badNews[n.Cause.Reason], "%s", n.Cause.Message)
		return e
	}

	reason := EventClusterDegraded
	switch {
	case !n.Waits:
	case n.Part == lifecycle.Members:
		reason = EventClusterPending
	default:
		reason = EventRequestFailed
	}

	e, _ = dialect.Warning(reason, "%s", dialect.CauseText(n.Cause))
	return e
}

// TakenOver returns the notice that the cluster was taken over from another operator.
func TakenOver(sc *sparkv1.SparkCluster) lifecycle.Notice {
	state := "without a state"
	if left := sc.Status.CurrentState; left != nil {
		state = fmt.Sprintf("in state %s", left.CurrentStateSummary)
	}
	return lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventClusterTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it %s; its pods stay unchanged until the cluster is edited", state)}}
}
