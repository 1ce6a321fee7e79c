package application

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// argoHealth contains the rules of Argo CD's health script (argoproj/argo-cd,
// resource_customizations/sparkoperator.k8s.io/SparkApplication/health.lua): the health of each state that the script
// names. RUNNING is healthy once all executors run. Every other state is Progressing. The script indexes
// applicationState without a check, so it ends in an error if a status has none.
var argoHealth = map[string]string{
	"": "Progressing", "SUBMITTED": "Progressing", "PENDING_RERUN": "Progressing", "SUCCEEDING": "Progressing",
	"UNKNOWN":   "Progressing",
	"COMPLETED": "Healthy",
	"FAILED":    "Degraded", "SUBMISSION_FAILED": "Degraded", "FAILING": "Degraded",
	"INVALIDATING": "Missing",
	"RUNNING":      "Healthy",
}

// TestStatusesSuitArgoCDAndKstatus writes the status of each phase and outcome, and compares what Argo CD's script and
// kstatus conclude from it. An application that waited for its first submission had conditions, but no state.
func TestStatusesSuitArgoCDAndKstatus(t *testing.T) {
	phases := []lifecycle.Phase{
		lifecycle.New, lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling,
		lifecycle.Running, lifecycle.Unknown,
		lifecycle.Ended, lifecycle.Retained, lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended,
		lifecycle.Resuming, lifecycle.Editing,
	}
	for _, phase := range phases {
		for _, outcome := range []lifecycle.Outcome{"", lifecycle.Succeeded, lifecycle.Failed, lifecycle.Refused} {
			over := phase == lifecycle.Ended || phase == lifecycle.Retained || phase == lifecycle.Done
			if over == (outcome == "") {
				continue // only an attempt that is over has an outcome
			}

			m := sparkapp.In(phase)
			if over {
				m = sparkapp.In(phase, sparkapp.Ended(outcome))
			}

			if phase == lifecycle.New {
				m = lifecycle.Memory{Phase: phase}
			}

			app := sparkapp.Sample()
			app.Generation = 7
			usual.encode(app, usual.app(app), lifecycle.Plan{Next: m}, lifecycle.Observed{}, sparkapp.T0)

			text, err := json.Marshal(app.Status)
			if err != nil {
				t.Fatal(err)
			}

			var status struct {
				ApplicationState *struct{ State *string }
			}
			if err := json.Unmarshal(text, &status); err != nil || status.ApplicationState == nil ||
				status.ApplicationState.State == nil {
				t.Errorf("%s %s: the status has no applicationState, so Argo CD's script ends in an error: %s", phase,
					outcome, text)
				continue
			}

			health, known := argoHealth[*status.ApplicationState.State]
			if !known {
				health = "Progressing"
			}

			if want := argoWants(phase, outcome); health != want {
				t.Errorf("%s %s: Argo CD shows %s for %q, want %s", phase, outcome, health,
					*status.ApplicationState.State, want)
			}

			if got, want := kstatusOf(app),
				map[string]string{"Healthy": "Current", "Progressing": "InProgress", "Missing": "InProgress",
					"Degraded": "Failed"}[health]; got != want && !earlier(phase) {
				t.Errorf("%s %s: kstatus concludes %s, and Argo CD %s", phase, outcome, got, health)
			}
		}
	}
}

// argoWants returns the health that users expect of a phase.
func argoWants(phase lifecycle.Phase, outcome lifecycle.Outcome) string {
	switch phase {
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running:
		return "Healthy"
	case lifecycle.Editing:
		return "Missing"
	case lifecycle.Ended:
		if outcome == lifecycle.Succeeded {
			return "Progressing"
		}
		return "Degraded"
	case lifecycle.Retained, lifecycle.Done:
		if outcome == lifecycle.Succeeded {
			return "Healthy"
		}
		return "Degraded"
	}
	return "Progressing"
}

// earlier reports whether the states of this API are coarser than the conditions: RUNNING begins before all executors
// run, FAILING may be followed by a retry, and a suspended application has reached what its spec wants.
func earlier(phase lifecycle.Phase) bool {
	switch phase {
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Ended, lifecycle.Suspended:
		return true
	}
	return false
}

// kstatusOf computes the status of an object as kstatus does
// (kubernetes-sigs/cli-utils, pkg/kstatus/status, genericStatus).
func kstatusOf(app *v1beta2.SparkApplication) string {
	is := func(kind string, status metav1.ConditionStatus) bool {
		c := meta.FindStatusCondition(app.Status.Conditions, kind)
		return c != nil && c.Status == status
	}
	switch {
	case app.Status.ObservedGeneration != app.Generation, is(dialect.ConditionReconciling, metav1.ConditionTrue):
		return "InProgress"
	case is(dialect.ConditionStalled, metav1.ConditionTrue):
		return "Failed"
	case is(dialect.ConditionReady, metav1.ConditionFalse):
		return "InProgress"
	}
	return "Current"
}
