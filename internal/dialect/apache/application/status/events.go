package status

import (
	corev1 "k8s.io/api/core/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Events returns the events of a plan that Decide returned, oldest first. Each state that the application enters has
// one event. The events of other facts have reasons that both API groups use (package dialect).
//
// A driver often starts, is ready and runs in one pass. The event of each such state except the last is marked as
// passed, because an event is a write. Warnings and ends are never passed.
func Events(plan lifecycle.Plan) (out []dialect.Event) {
	last := -1 // the index of the event before, if it is about a state of a live driver

	for _, n := range plan.Notices {
		event, ours := apache.NoticeEvent(n)
		if !ours {
			event = dialect.NoticeEvent(n)
		}

		live := n.Part == lifecycle.State && Rank(sparkv1.ApplicationStateSummary(n.Cause.Reason)) >= 0
		if live && last >= 0 {
			out[last].Passed = out[last].Type == corev1.EventTypeNormal
		}

		if last = -1; live {
			last = len(out)
		}

		out = append(out, event)
	}
	return out
}

// lostNode returns the notice that the node of a driver does not respond. This API has no state for it.
func lostNode(app *sparkv1.SparkApplication, t lifecycle.Transition) lifecycle.Notice {
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: t.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventDriverUnknown,
		Message: "driver pod " + naming.DriverPod(app, naming.ID(app, t.Attempt)) + ": " + dialect.CauseText(t.Cause)}}
}
