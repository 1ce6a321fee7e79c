package sparkoperator

import (
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
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
)

// standing is one condition that holds.
type standing struct {
	kind   string
	status metav1.ConditionStatus
}

// standings are the conditions of a memory; those that are not listed are absent.
func standings(m lifecycle.Memory) []standing {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	submitted := standing{ConditionSubmitted, yes}
	switch m.Phase {
	case lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Unknown:
		out := []standing{{ConditionReady, no}, {ConditionReconciling, yes}, submitted}
		if m.Phase == lifecycle.Ready || m.Phase == lifecycle.Scaling {
			out = append(out, standing{ConditionRunning, yes})
		}
		return out
	case lifecycle.Running:
		return []standing{{ConditionReady, yes}, submitted, {ConditionRunning, yes}}
	case lifecycle.Retained, lifecycle.Done:
		if m.Outcome == lifecycle.Succeeded {
			return []standing{{ConditionReady, yes}, submitted, {ConditionSucceeded, yes}}
		}
		out := []standing{{ConditionReady, no}, {ConditionStalled, yes}, {ConditionFailed, yes}}
		if m.Runs > 0 {
			out = append(out, submitted)
		}
		return out
	case lifecycle.Suspended:
		return []standing{{ConditionReady, no}, {ConditionSuspended, yes}}
	}
	return []standing{{ConditionReady, no}, {ConditionReconciling, yes}} // something is on its way
}

// degraded reports whether fewer executors are there, or have done their work, than the application started with. With dynamic allocation
// fewer is as it should be.
func degraded(app *v1beta2.SparkApplication, wanted lifecycle.App, m lifecycle.Memory) bool {
	if m.Phase != lifecycle.Running || dynamicAllocationEnabled(&app.Spec) {
		return false
	}
	var counts v1beta2.ExecutorCounts
	if app.Status.Executors != nil {
		counts = *app.Status.Executors
	}
	return counts.Running+counts.Completed < wanted.InitialExecutors
}

// encodeConditions sets what holds and removes the rest. The reason and message are the cause's, where there is one.
func encodeConditions(app *v1beta2.SparkApplication, wanted lifecycle.App, m lifecycle.Memory, now time.Time) {
	s := &app.Status
	hold := standings(m)
	if degraded(app, wanted, m) {
		hold = append(hold, standing{ConditionDegraded, metav1.ConditionTrue})
	}
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c metav1.Condition) bool {
		return !slices.ContainsFunc(hold, func(h standing) bool { return h.kind == c.Type })
	})
	for _, h := range hold {
		reason, message := account(h, m)
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: h.kind, Status: h.status, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(now), ObservedGeneration: app.Generation,
		})
	}
}

// account says why a condition stands as it does. Conditions that only state a milestone keep a plain reason, whatever the application
// waits for meanwhile.
func account(h standing, m lifecycle.Memory) (reason, message string) {
	switch h.kind {
	case ConditionDegraded:
		return "ExecutorsBelowThreshold", "fewer executors run than the application started with; status.executors has the counts"
	case ConditionSubmitted, ConditionRunning, ConditionSucceeded, ConditionSuspended:
		return h.kind, ""
	}
	reason = string(m.Phase)
	if m.Outcome != lifecycle.Undecided {
		reason = string(m.Outcome)
	}
	if m.Cause.Reason != "" && m.Outcome != lifecycle.Succeeded {
		reason, message = m.Cause.Reason, m.Cause.Message
	}
	if !validReason.MatchString(reason) {
		reason = "Pending"
	}
	return reason, message
}

// validReason is the pattern of a condition's reason (metav1.Condition).
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
