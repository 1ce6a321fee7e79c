package dialect

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"time"

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
	// ConditionExposed tells whether everything stands beside the driver that is to stand there: Services, Ingresses, routes. It is absent where nothing
	// is to. False never keeps the application from running.
	ConditionExposed = "Exposed"
)

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
	case lifecycle.Running:
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

// UsableReason is a reason as a condition may have it: Kubernetes, or a webhook, may give one that it refuses.
func UsableReason(reason string) string {
	if !validReason.MatchString(reason) {
		return "Pending"
	}
	return reason
}

// EncodeWeather says what keeps the operator from going on where a custom resource is not Ready, or what degrades one that is Running. It is remembered
// nowhere: with the first pass that goes through it is gone. Before is what the conditions said last: its message stays while the reason does, since each
// failure may be worded anew and is no news.
func EncodeWeather(conditions *[]metav1.Condition, phase lifecycle.Phase, weather *lifecycle.Weather, before []metav1.Condition, generation int64, now time.Time) {
	if weather == nil || phase.Terminal() || phase == lifecycle.Suspended {
		return
	}
	held := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, Reason: weather.Cause.Reason, Message: weather.Cause.Message,
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: generation,
	}
	if phase == lifecycle.Running {
		held.Type, held.Status = ConditionDegraded, metav1.ConditionTrue
	}
	if was := meta.FindStatusCondition(before, held.Type); was != nil && was.Reason == held.Reason {
		held.Message = was.Message
	}
	meta.SetStatusCondition(conditions, held)
}
