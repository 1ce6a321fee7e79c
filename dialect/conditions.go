package dialect

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Types of the conditions. Ready, Reconciling and Stalled are what kstatus reads (sigs.k8s.io/cli-utils).
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
	ConditionSubmitted   = "Submitted"
	ConditionRunning     = "Running"
	ConditionDegraded    = "Degraded"
	ConditionSucceeded   = "Succeeded"
	ConditionFailed      = "Failed"
	ConditionSuspended   = "Suspended"
	// ConditionExposed tells whether everything stands beside the driver that is to stand there: Services, Ingresses,
	// routes. It is absent where nothing is to. False never keeps the application from running.
	ConditionExposed = "Exposed"
)

// ReasonAwaitingExecutors is the reason of the conditions Ready (False) and Reconciling (True) in the phase Ready, in
// which the driver is ready and no executor was seen. The name of the phase would contradict the condition's status.
const ReasonAwaitingExecutors = "AwaitingExecutors"

// Standing is one condition that holds.
type Standing struct {
	Type   string
	Status metav1.ConditionStatus
}

// Standings are the conditions of an application's memory; those that are not listed are absent.
func Standings(m lifecycle.Memory) []Standing {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	submitted := Standing{ConditionSubmitted, yes}
	switch m.Phase {
	case lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Unknown:
		out := []Standing{{ConditionReady, no}, {ConditionReconciling, yes}, submitted}
		if m.Phase == lifecycle.Ready || m.Phase == lifecycle.Scaling {
			out = append(out, Standing{ConditionRunning, yes})
		}
		return out
	case lifecycle.Running, lifecycle.Partial, lifecycle.Below: // Degraded is the dialect's, which knows how many there are
		return []Standing{{ConditionReady, yes}, submitted, {ConditionRunning, yes}}
	case lifecycle.Retained, lifecycle.Done:
		if m.Outcome == lifecycle.Succeeded {
			return []Standing{{ConditionReady, yes}, submitted, {ConditionSucceeded, yes}}
		}
		out := []Standing{{ConditionReady, no}, {ConditionStalled, yes}, {ConditionFailed, yes}}
		if m.Runs > 0 {
			out = append(out, submitted)
		}
		return out
	case lifecycle.Suspended:
		return []Standing{{ConditionReady, no}, {ConditionSuspended, yes}}
	}
	return []Standing{{ConditionReady, no}, {ConditionReconciling, yes}} // something is on its way
}

// validReason is the pattern of a condition's reason (metav1.Condition).
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReason is the most characters of a condition's reason (metav1.Condition).
const maxReason = 1024

// UsableReason is a reason as a condition may have it: Kubernetes, or a webhook, may give one that it refuses.
func UsableReason(reason string) string {
	if len(reason) > maxReason || !validReason.MatchString(reason) {
		return "Pending"
	}
	return reason
}

// maxOthers is the most conditions that others may have in a status. Kubernetes has no limit, but each of them is
// copied and compared in every pass.
const maxOthers = 64

// KeepConditions removes those of our own conditions that are over, and those of others beyond 64.
func KeepConditions(conditions *[]metav1.Condition, own []string, over func(kind string) bool) {
	others := 0
	*conditions = slices.DeleteFunc(*conditions, func(c metav1.Condition) bool {
		if slices.Contains(own, c.Type) {
			return over(c.Type)
		}
		others++
		return others > maxOthers
	})
}

// Account says why a condition stands as it does. Conditions that only state a milestone keep a plain reason, whatever
// the application waits for meanwhile.
func Account(h Standing, wanted lifecycle.App, m lifecycle.Memory) (reason, message string) {
	switch h.Type {
	case ConditionDegraded:
		if m.Cause.Reason == "" {
			return lifecycle.ReasonBelowThreshold, "fewer executors run than the application started with; status.executors has the counts"
		}
	case ConditionReady:
		if m.Phase == lifecycle.Running {
			return string(m.Phase), "" // whatever degrades it
		}
	case ConditionSubmitted, ConditionRunning, ConditionSucceeded, ConditionSuspended:
		return h.Type, ""
	}
	reason = string(m.Phase)
	if m.Phase == lifecycle.Ready {
		reason = ReasonAwaitingExecutors
	}
	if m.Outcome != lifecycle.Undecided {
		reason = string(m.Outcome)
	}
	message = Awaited(wanted, m)
	if m.Cause.Reason != "" && m.Outcome != lifecycle.Succeeded {
		reason, message = m.Cause.Reason, cmp.Or(m.Cause.Message, message)
	}
	return UsableReason(reason), message
}

// Awaited says what a phase waits for where nothing keeps it. It changes with the phase alone: a message that followed
// the count of the executors would be one more thing to write with each of them.
func Awaited(wanted lifecycle.App, m lifecycle.Memory) string {
	switch m.Phase {
	case lifecycle.Launched:
		return "the driver pod waits to start"
	case lifecycle.Started:
		return "the driver runs; its pod is not ready yet"
	case lifecycle.Ready:
		return fmt.Sprintf("0 of %d executors run", wanted.InitialExecutors)
	case lifecycle.Scaling:
		return fmt.Sprintf("fewer than %d executors run; status.executors has the counts", wanted.InitialExecutors)
	case lifecycle.Unknown:
		return "the driver's node does not answer"
	case lifecycle.Ended:
		return "the attempt is over; what is left of it is being cleared away"
	case lifecycle.Waiting:
		if m.NextAttempt.IsZero() {
			return "what the last attempt left is being cleared away, then the next starts"
		}
		return "the next attempt starts at " + m.NextAttempt.UTC().Format(time.RFC3339)
	case lifecycle.Suspending:
		return "the attempt is being stopped"
	case lifecycle.Suspended:
		return "the application is suspended"
	case lifecycle.Resuming:
		return "the suspension is lifted; the next attempt starts when nothing of the last is left"
	case lifecycle.Editing:
		return "the run of the old spec is being cleared away"
	}
	return ""
}

// SetCondition sets a condition of a generation as it will be stored; the time is only taken where its status changes.
func SetCondition(conditions *[]metav1.Condition, c metav1.Condition, generation int64, now time.Time) {
	c.LastTransitionTime, c.ObservedGeneration = metav1.NewTime(now.Truncate(time.Second)), generation
	meta.SetStatusCondition(conditions, c)
}

// EncodeWeather says what keeps the operator from going on where a custom resource is not Ready, or what degrades one
// that is Running. It is remembered nowhere: with the first pass that goes through it is gone. Before is what the
// conditions said last: its message stays while the reason does, since each failure may be worded anew and is no news.
func EncodeWeather(conditions *[]metav1.Condition, phase lifecycle.Phase, weather *lifecycle.Weather, before []metav1.Condition, generation int64, now time.Time) {
	if weather == nil || phase.Terminal() || phase == lifecycle.Suspended {
		return
	}
	held := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, Reason: weather.Cause.Reason, Message: weather.Cause.Message,
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: generation,
	}
	if phase.Runs() {
		held.Type, held.Status = ConditionDegraded, metav1.ConditionTrue
	}
	if was := meta.FindStatusCondition(before, held.Type); was != nil && was.Reason == held.Reason {
		held.Message = was.Message
	}
	meta.SetStatusCondition(conditions, held)
}
