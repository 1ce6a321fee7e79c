package statuswrite

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/testkit/scene"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestOnlyExecutorChurn checks that a status write is debounced only if it contains nothing but executor churn without
// failures.
func TestOnlyExecutorChurn(t *testing.T) {
	t.Parallel()
	const comes = `{"metadata":{"uid":"u"},"status":{"executorState":{"e-2":"RUNNING"},"executors":{"running":2},"operator":{"executors":{"seen":"1-2"},"shortSince":null}}}`
	const scales = `{"status":{"conditions":[],"executors":{"pending":1},"operator":{"executors":{"seen":"1"},"phase":"Scaling","since":"s","history":[]}}}`
	scaling := func(plan *lifecycle.Plan) {
		plan.Transitions = []lifecycle.Transition{{From: lifecycle.Ready, To: lifecycle.Scaling}}
	}
	kind := kinds.SparkApplications(config.Default())
	for _, test := range []struct {
		name   string
		patch  string
		change func(*lifecycle.Plan)
		want   bool
	}{
		{"an executor comes", comes, nil, true},
		{"the map alone", `{"status":{"executorState":{"e-2":null}}}`, nil, true},
		{"a state", `{"status":{"applicationState":{"state":"COMPLETED"},"executors":{"running":2}}}`, nil, false},
		{"a condition", `{"status":{"conditions":[],"executors":{"running":2}}}`, nil, false},
		{"a failure", `{"status":{"executors":{"failed":1},"operator":{"executors":{"failed":"1"}}}}`, nil, false},
		{"one that is being lost", `{"status":{"executors":{"unknown":1},"operator":{"executors":{"leaving":"1"}}}}`, nil, false},
		{"an attempt's executors are forgotten", `{"status":{"executors":null,"operator":{"executors":null}}}`, nil, false},
		{"nothing", `{"status":{}}`, nil, false},
		{"no patch", `{`, nil, false},
		{"a transition", comes, func(plan *lifecycle.Plan) { plan.Transitions = []lifecycle.Transition{{}} }, false},
		{"the first executors are there", scales, scaling, true},
		{"and there is a state", `{"status":{"applicationState":{"state":"RUNNING"},"operator":{"phase":"Scaling"}}}`, scaling, false},
		{"and another transition", scales, func(plan *lifecycle.Plan) {
			scaling(plan)
			plan.Transitions = append(plan.Transitions, lifecycle.Transition{})
		}, false},
		{"what it changes, without it", scales, nil, false},
		{"an event", comes, func(plan *lifecycle.Plan) { plan.Notices = []lifecycle.Notice{{}} }, false},
		{"there are too few from now on", comes, func(plan *lifecycle.Plan) { plan.Next.ShortSince = scene.Noon }, true},
		{"there were too few already", comes, func(plan *lifecycle.Plan) { plan.Next.ShortSince = scene.Noon.Add(-time.Second) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var plan lifecycle.Plan
			if test.change != nil {
				test.change(&plan)
			}
			churn := kind.ExecutorChurn
			if got := OnlyExecutorChurn(churn, plan, []byte(test.patch)); got != test.want {
				t.Errorf("got %v", got)
			}
			churn.Fields = nil
			if OnlyExecutorChurn(churn, plan, []byte(test.patch)) {
				t.Error("a kind without a churn has something put off")
			}
		})
	}
}
