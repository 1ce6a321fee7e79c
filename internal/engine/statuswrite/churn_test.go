package statuswrite

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestOnlyExecutorChurn checks which status writes of a SparkApplication are debounced: only those that contain nothing
// but executor churn, and no failed executor.
func TestOnlyExecutorChurn(t *testing.T) {
	t.Parallel()
	const comes = `{"metadata":{"uid":"u"},"status":{"executorState":{"e-2":"RUNNING"},"executors":{"running":2},"operator":{"executors":{"seen":"1-2"},"shortSince":null}}}`
	const scales = `{"status":{"conditions":[],"executors":{"pending":1},"operator":{"executors":{"seen":"1"},"phase":"Scaling","since":"s","history":[]}}}`
	scaling := func(plan *lifecycle.Plan) {
		plan.Transitions = []lifecycle.Transition{{From: lifecycle.Ready, To: lifecycle.Scaling}}
	}

	kind := configured.For(kinds.SparkApplication).Build(config.Default, nil)
	for _, test := range []struct {
		name   string
		patch  string
		change func(*lifecycle.Plan)
		want   bool
	}{
		{"a new executor", comes, nil, true},
		{"executorState only", `{"status":{"executorState":{"e-2":null}}}`, nil, true},
		{"the place of the logs is known", `{"status":{"executors":{"running":2},"operator":{"logs":{"attempt":1,"place":"s3://logs/1"}}}}`, nil, true},
		{"a log is kept", `{"status":{"executors":{"running":2},"operator":{"logs":{"keptAt":"now"}}}}`, nil, false},
		{"a state changes", `{"status":{"applicationState":{"state":"COMPLETED"},"executors":{"running":2}}}`, nil,
			false},
		{"a condition changes", `{"status":{"conditions":[],"executors":{"running":2}}}`, nil, false},
		{"an executor fails", `{"status":{"executors":{"failed":1},"operator":{"executors":{"failed":"1"}}}}`, nil,
			false},
		{"an executor is on a lost node",
			`{"status":{"executors":{"unknown":1},"operator":{"executors":{"leaving":"1"}}}}`, nil, false},
		{"the counts of an attempt are removed", `{"status":{"executors":null,"operator":{"executors":null}}}`, nil,
			false},
		{"nothing", `{"status":{}}`, nil, false},
		{"an invalid patch", `{`, nil, false},
		{"a transition", comes, func(plan *lifecycle.Plan) { plan.Transitions = []lifecycle.Transition{{}} }, false},
		{"the first executors exist, a minor transition", scales, scaling, true},
		{"a minor transition and a state",
			`{"status":{"applicationState":{"state":"RUNNING"},"operator":{"phase":"Scaling"}}}`, scaling, false},
		{"a minor transition and another transition", scales, func(plan *lifecycle.Plan) {
			scaling(plan)
			plan.Transitions = append(plan.Transitions, lifecycle.Transition{})
		}, false},
		{"the patch of a minor transition without the transition", scales, nil, false},
		{"an event", comes, func(plan *lifecycle.Plan) { plan.Notices = []lifecycle.Notice{{}} }, false},
		{"the shortage of executors begins", comes,
			func(plan *lifecycle.Plan) { plan.Next.ShortSince = scene.Noon }, true},
		{"the shortage of executors continues", comes,
			func(plan *lifecycle.Plan) { plan.Next.ShortSince = scene.Noon.Add(-time.Second) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var plan lifecycle.Plan
			if test.change != nil {
				test.change(&plan)
			}

			churn := kind.Traits().ExecutorChurn
			if got := OnlyExecutorChurn(churn, plan, []byte(test.patch)); got != test.want {
				t.Errorf("got %v", got)
			}

			churn.Fields = nil
			if OnlyExecutorChurn(churn, plan, []byte(test.patch)) {
				t.Error("a kind without fields of executor churn debounces a write")
			}
		})
	}
}
