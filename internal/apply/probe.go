package apply

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// probe finds out why requested executors are missing, and returns the answer as a fact.
func (a Applier) probe(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) Outcome {
	short := explain.Shortage{Of: identity.Key(view.Owner), UID: view.Owner.GetUID(), Attempt: action.Attempt, Since: d.Plan.Next.ShortSince}
	if driver := view.Seen.Driver(action.Attempt); driver != nil {
		short.Driver, short.Account, short.Created = types.UID(driver.UID), view.Set.AccountOf(driver.UID), driver.CreatedAt
	}
	if a.Kind.Executors.Render != nil {
		short.Executor = func() (*corev1.Pod, error) {
			return a.Kind.Executors.Render(d.Object, action.Attempt, nextExecutor(view.Seen.Executors, action.Attempt), short.Driver, view.Now)
		}
	}
	answer := a.Explainer.Executors(ctx, short, view.Now)
	return Outcome{RequeueAfter: answer.QueryAfter, Fact: func(seen *lifecycle.Observed) {
		seen.ProbeResult, seen.QuerySkipped = &answer.Cause, seen.QuerySkipped || answer.Skipped
	}}
}

// nextExecutor returns an executor id that no executor of the attempt uses.
func nextExecutor(executors []lifecycle.Executor, attempt int32) int {
	last := 0
	for i := range executors {
		if id, err := strconv.Atoi(executors[i].ID); err == nil && executors[i].Attempt == attempt {
			last = max(last, id)
		}
	}
	return last + 1
}
