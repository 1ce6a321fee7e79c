// Package status writes the decisions about a SparkCluster into its status, and reads them back: the states of this API
// and the operator's memory (encode.go, decode.go) and the conditions (conditions.go). It also reports the decisions as
// events (events.go).
package status

import (
	"math"
	"time"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/cluster"
)

const (
	// MaxStates is the maximum number of states in the history of a cluster. The oldest states are dropped, and
	// the numbers of the states continue. A history of another operator may have thousands of states.
	MaxStates = 100
	// maxAttempt is the largest attempt number.
	maxAttempt = math.MaxInt32
)

// Decision is a decision about a cluster, with its input.
type Decision struct {
	Want    cluster.Cluster
	Seen    lifecycle.Observed
	Objects cluster.Objects
	Plan    cluster.Plan
	At      time.Time
	// Trim keeps only the states of the current attempt in the history.
	Trim bool
}

// Encode writes a decision into the status: the states of this API, and the operator's memory. Writing the same
// decision twice has the same result as writing it once. Encode returns a notice of each entered state, except of the
// first one, Submitted.
func Encode(sc *sparkv1.SparkCluster, d Decision) (notices []lifecycle.Notice) {
	s, m := &sc.Status, d.Plan.Next
	note := func() {
		notices = append(notices, apache.Entered(string(s.CurrentState.CurrentStateSummary), s.CurrentState.Message))
	}

	if s.CurrentState == nil {
		enter(s, sparkv1.ClusterSubmitted, "the cluster is submitted", firstSeen(sc, d.At))
	}

	notices = append(notices, refusals(d.Plan.Transitions)...)
	for _, t := range d.Plan.Transitions {
		switch {
		case t.From == lifecycle.Suspended && d.Trim:
			s.StateTransitionHistory = nil // of the same attempt, so that repeated suspensions do not fill the status
		case t.To == lifecycle.Resuming && t.From != lifecycle.Suspended:
			rollOver(s, d.Trim)
		}

		switch state := States[t.To]; {
		case state != s.CurrentState.CurrentStateSummary:
			enter(s, state, message(state, t, d.Want), t.At)

			if t.To == lifecycle.Suspending && t.Cause.Reason == lifecycle.ReasonQueueEviction {
				s.CurrentState.SuspendReason = sparkv1.KueueEviction
				keys := apache.KeysOf(s.StateTransitionHistory)
				s.StateTransitionHistory[keys[len(keys)-1]] = *s.CurrentState
			}

			note()
		case t.To == lifecycle.Launched && t.From != lifecycle.Started: // the state stays Submitted
			notices = append(notices, allObjectsExist)
		}
	}
	// The current state differs from the phase if another operator wrote it.
	if state := States[m.Phase]; state != s.CurrentState.CurrentStateSummary {
		enter(s, state, message(state, lifecycle.Transition{To: m.Phase, Cause: m.Cause}, d.Want), d.At)
		note()
	}

	if s.CurrentState.SuspendReason == sparkv1.KueueEviction && dialect.Suspended(sc.Spec.Suspend) {
		enter(s, sparkv1.ClusterSuspended, message(sparkv1.ClusterSuspended, lifecycle.Transition{}, d.Want), d.At)
		note()
	}

	apache.DropOldest(s.StateTransitionHistory, MaxStates)
	remember(s, m)
	s.ObservedGeneration = sc.Generation
	encodeMembers(s, d.Want, m, d.Seen)
	d.setConditions(sc)
	return notices
}

// firstSeen returns the time of a cluster's submission: its creation time, which does not depend on the time of the
// first pass.
func firstSeen(sc *sparkv1.SparkCluster, now time.Time) time.Time {
	if created := sc.CreationTimestamp.Time; !created.IsZero() && created.Before(now) {
		return created
	}
	return now
}

// States maps phases to states of this API. If a running cluster loses pods, its state does not change, but
// conditions report the loss.
var States = map[lifecycle.Phase]sparkv1.ClusterStateSummary{
	lifecycle.New:      sparkv1.ClusterSubmitted,
	lifecycle.Resuming: sparkv1.ClusterSubmitted,
	lifecycle.Launched: sparkv1.ClusterSubmitted,
	lifecycle.Started:  sparkv1.ClusterSubmitted,
	lifecycle.Waiting:  sparkv1.ClusterSchedulingFailure,
	lifecycle.Running:  sparkv1.ClusterRunningHealthy,
	lifecycle.Ended:    sparkv1.ClusterFailed,
	lifecycle.Done:     sparkv1.ClusterResourceReleased,

	lifecycle.Suspending: sparkv1.ClusterSuspended,
	lifecycle.Suspended:  sparkv1.ClusterSuspended,
}

// message returns the message of a state, which says why the cluster entered the state.
func message(state sparkv1.ClusterStateSummary, t lifecycle.Transition, want cluster.Cluster) string {
	switch {
	case state == sparkv1.ClusterSchedulingFailure:
		return "the API server rejects an object of the cluster, and the operator retries: " + dialect.CauseText(t.Cause)
	case state == sparkv1.ClusterRunningHealthy && want.Scales:
		return "the master and at least " + bounds.Count(want.Workers, "worker") + " are ready"
	case state == sparkv1.ClusterRunningHealthy:
		return "the master and " + bounds.Count(want.Workers, "worker") + " are ready"
	case state == sparkv1.ClusterFailed:
		return dialect.CauseText(t.Cause)
	case state == sparkv1.ClusterResourceReleased:
		return "the cluster's objects are gone; an edit of the spec starts it again"
	case state == sparkv1.ClusterSuspended && t.Cause.Reason == lifecycle.ReasonQueueEviction:
		return t.Cause.Message + "; its pods and its objects are deleted, except its Services, and it is queued again"
	case state == sparkv1.ClusterSuspended:
		return "the cluster is suspended, because spec.suspend is true: its pods and its objects are deleted, except its Services"
	case t.To == lifecycle.Resuming:
		return t.Cause.Message
	}
	return "all objects of the cluster exist; its pods are starting"
}

// enter adds a state to the history and makes it the current state.
func enter(s *sparkv1.ClusterStatus, state sparkv1.ClusterStateSummary, message string, at time.Time) {
	last, histories := "", []map[string]sparkv1.ClusterState{s.StateTransitionHistory}
	if s.CurrentState != nil {
		last = s.CurrentState.LastTransitionTime
	}

	if s.PreviousAttemptSummary != nil {
		histories = append(histories, s.PreviousAttemptSummary.StateTransitionHistory)
	}

	key, timestamp := apache.NextEntry(at, last, histories...)

	entry := sparkv1.ClusterState{CurrentStateSummary: state, LastTransitionTime: timestamp, Message: lifecycle.Cut(message, apache.MaxMessage)}
	if state == sparkv1.ClusterSuspended {
		entry.SuspendReason = sparkv1.SpecSuspend
	}

	if s.StateTransitionHistory == nil {
		s.StateTransitionHistory = map[string]sparkv1.ClusterState{}
	}

	s.StateTransitionHistory[key] = entry
	s.CurrentState = &entry
}

// rollOver prepares the status for the next attempt: currentAttemptSummary becomes previousAttemptSummary. If
// trim is true, the states in the history move into previousAttemptSummary too.
func rollOver(s *sparkv1.ClusterStatus, trim bool) {
	previous := &sparkv1.ClusterAttemptSummary{}
	if last := s.CurrentAttemptSummary; last != nil && last.AttemptInfo != nil {
		previous.AttemptInfo = new(*last.AttemptInfo)
	}

	if trim {
		previous.StateTransitionHistory, s.StateTransitionHistory = s.StateTransitionHistory, nil
	}

	s.PreviousAttemptSummary = previous
}

// remember stores a memory in the status. Memory reads the same memory back.
func remember(s *sparkv1.ClusterStatus, m cluster.Memory) {
	var before sparkv1.ClusterOperatorStatus
	if s.Operator != nil {
		before = *s.Operator
	}

	s.Operator = &sparkv1.ClusterOperatorStatus{
		Defaults: before.Defaults, // Decide sets this field
		Usage:    before.Usage,    // the engine updates it before a write
		Phase:    string(m.Phase), Since: dialect.EncodeTime(m.Since), Generation: m.Generation,
		RestartRequest: m.RestartRequest, Adopted: m.Adopted,
		BegunAt: dialect.EncodeTime(m.Begun), CompleteAt: dialect.EncodeTime(m.Complete), Cause: dialect.EncodeCause(m.Cause),
	}
	if s.CurrentAttemptSummary == nil {
		s.CurrentAttemptSummary = &sparkv1.ClusterAttemptSummary{}
	}

	number := int64(m.Attempt) - 1
	s.CurrentAttemptSummary.AttemptInfo = &sparkv1.ClusterAttemptInfo{ID: number, RestartCounter: number}
}

// encodeMembers writes the numbers of desired and existing pods into the status. If the spec is invalid, the desired
// number of workers is unknown, so the status keeps the number that it already contains.
func encodeMembers(s *sparkv1.ClusterStatus, want cluster.Cluster, m cluster.Memory, seen lifecycle.Observed) {
	masters, workers := sparkv1.MemberCounts{}, sparkv1.MemberCounts{}
	if m.Wants() {
		masters.Desired, workers.Desired = 1, want.Workers
		if want.Invalid != nil && s.Workers != nil {
			workers.Desired = s.Workers.Desired
		}
	}

	for i := range seen.Members {
		counts := &workers
		if seen.Members[i].Role == lifecycle.Master {
			counts = &masters
		}

		countMember(counts, &seen.Members[i])
	}

	s.Masters, s.Workers = &masters, &workers
	if m.Phase == lifecycle.Done && masters == workers && masters == (sparkv1.MemberCounts{}) {
		s.Masters, s.Workers = nil, nil
	}
}

func countMember(counts *sparkv1.MemberCounts, m *lifecycle.Member) {
	switch m.Phase {
	case lifecycle.DriverPending:
		counts.Pending++
	case lifecycle.DriverRunning:
		counts.Running++
		if m.Ready && !m.Deleting {
			counts.Ready++
		}
	default:
		counts.Failed++
	}
}
