package cluster

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

// Reasons of events about SparkClusters.
const (
	EventClusterSubmitted         = "SparkClusterSubmitted"
	EventClusterSchedulingFailure = "SparkClusterSchedulingFailure"
	EventClusterPending           = "SparkClusterPending"
	EventClusterRunning           = "SparkClusterRunning"
	EventClusterDegraded          = "SparkClusterDegraded"
	EventClusterRecovered         = "SparkClusterRecovered"
	EventClusterSpecChanged       = "SparkClusterSpecChanged"
	EventClusterRestartRequested  = "SparkClusterRestartRequested"
	EventClusterRolledOut         = "SparkClusterRolledOut"
	EventClusterRolloutTimedOut   = "SparkClusterRolloutTimedOut"
	EventClusterInvalid           = "SparkClusterInvalid"
	EventClusterFailed            = "SparkClusterFailed"
	EventClusterReleased          = "SparkClusterReleased"
	EventClusterRestarted         = "SparkClusterRestarted"
	EventClusterTakenOver         = "SparkClusterTakenOver"
	EventClusterWarning           = "SparkClusterWarning"
)

// Events returns the events of a plan, oldest first. The plan consists of the results of both decisions of a pass:
// Decide and AuxiliaryObjects.Decide.
func (c Clusters) Events(sc *sparkv1.SparkCluster, plan lifecycle.Plan) (out []dialect.Event) {
	tell := plan.Notices
	if len(tell) > 0 && tell[0].Cause.Reason == EventClusterTakenOver {
		// The event of the take-over precedes the transitions.
		out, tell = append(out, clusterNotice(tell[0])), tell[1:]
	}

	for _, t := range plan.Transitions {
		if e, ok := clusterEvent(sc, t); ok {
			out = append(out, e)
		}
	}

	for _, n := range tell {
		out = append(out, clusterNotice(n))
	}
	return out
}

// clusterEvent returns the event for a transition. The second result is false if the transition has no event.
func clusterEvent(sc *sparkv1.SparkCluster, t lifecycle.Transition) (dialect.Event, bool) {
	switch t.To {
	case lifecycle.Launched:
		if t.From != lifecycle.Started {
			return dialect.Normal(EventClusterSubmitted, "all objects of the cluster exist")
		}
	case lifecycle.Waiting:
		return dialect.Warning(EventClusterSchedulingFailure, "an object of the cluster was rejected and will be retried: %s", dialect.CauseText(t.Cause))
	case lifecycle.Running:
		ready := int32(0)
		if sc.Status.Workers != nil {
			ready = sc.Status.Workers.Ready
		}
		return dialect.Normal(EventClusterRunning, "the master and %s are ready", bounds.Count(ready, "worker"))
	case lifecycle.Ended:
		reason := EventClusterFailed
		if t.Cause.Reason == lifecycle.ReasonInvalid {
			reason = EventClusterInvalid
		}
		return dialect.Warning(reason, "the cluster failed and its objects are being deleted: %s", dialect.CauseText(t.Cause))
	case lifecycle.Done:
		return dialect.Normal(EventClusterReleased, "the cluster's objects are gone")
	case lifecycle.Resuming:
		return dialect.Normal(EventClusterRestarted, "the cluster starts again, attempt %d", t.Attempt)
	}
	return dialect.Event{}, false
}

// goodNews contains the notices that become events of the type Normal, because they require no action of the user. Its
// keys are the reasons of the notices, and its values are the reasons of the events.
var goodNews = map[string]string{
	cluster.ReasonEdited:    EventClusterSpecChanged,
	cluster.ReasonRestarted: EventClusterRestartRequested,
	cluster.ReasonRolledOut: EventClusterRolledOut,
	cluster.ReasonRecovered: EventClusterRecovered,
	EventClusterTakenOver:   EventClusterTakenOver,
}

// badNews contains notices that become events of the type Warning. Its keys are the reasons of the notices, and its
// values are the reasons of the events.
var badNews = map[string]string{
	cluster.ReasonRolloutTimedOut: EventClusterRolloutTimedOut,
	EventClusterInvalid:           EventClusterInvalid,
	EventClusterWarning:           EventClusterWarning,
	apache.ReasonSuspendHeld:      apache.ReasonSuspendHeld,
	dialect.ReasonOtherOperator:   dialect.ReasonOtherOperator,
}

// clusterNotice returns the event for a notice.
func clusterNotice(n lifecycle.Notice) (e dialect.Event) {
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
		reason = EventClusterSchedulingFailure
	}

	e, _ = dialect.Warning(reason, "%s", dialect.CauseText(n.Cause))
	return e
}

// clusterTakenOver returns the notice that the cluster was taken over from another operator.
func clusterTakenOver(sc *sparkv1.SparkCluster) lifecycle.Notice {
	state := "without a state"
	if left := sc.Status.CurrentState; left != nil {
		state = fmt.Sprintf("in state %s", left.CurrentStateSummary)
	}
	return lifecycle.Notice{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: EventClusterTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it %s; its pods stay unchanged until the cluster is edited", state)}}
}
