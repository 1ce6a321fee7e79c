package apply

import (
	"context"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// createBudget creates the PodDisruptionBudget of a driver. If the API server rejects the budget, the rejection is
// reported, but the other actions continue, because the driver can run without a budget.
func (a Applier) createBudget(ctx context.Context, view dependents.View, d Decision, action lifecycle.Action) (Outcome, error) {
	made, cause, err := a.Budgets.Create(ctx, view, action.Attempt, func() (submit.Objects, *lifecycle.Cause) { return a.render(d, action) })
	outcome := Outcome{Created: made}
	if err != nil || cause.Reason == "" {
		return outcome, err
	}
	return outcome.Add(rejectedAction(view, cause, "the driver is not protected from evictions, because its PodDisruptionBudget was not created: "+cause.Message)), nil
}
