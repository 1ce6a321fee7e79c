package application

import (
	"slices"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// ensureBudget ensures the PodDisruptionBudget that protects the driver from evictions. The budget exists while the
// driver runs, if the application requests a budget. It is deleted when the driver ends, even if the pod continues to
// run because of a sidecar.
//
// If the observation contains no driver, the budget is kept, because the cache may be behind. If the whole attempt is
// deleted, ensureBudget does nothing, because the budget is then deleted too. If the API server rejects the budget, the
// operator tries again later. The application runs without a budget until then.
func (s *step) ensureBudget() {
	if s.app.Deleting {
		return
	}

	d, has := s.seen.Driver(s.m.Attempt), slices.Contains(s.seen.Budgets, s.m.Attempt)

	live := s.m.Phase.Live()
	switch {
	case live && s.app.Budget == has, live && d == nil, !live && !has:
		return
	case live && !has && (d.Deleting || driverEnded(d)):
		return
	case slices.ContainsFunc(s.plan.Actions, s.deletesBudget):
		return
	}

	s.requeueAfter(repeatDelay)

	if s.actionsBlocked() {
		return
	}

	verb := lifecycle.Delete
	if live && !has {
		verb = lifecycle.Create
	}

	s.do(verb, lifecycle.DriverBudget, s.m.Attempt)
}

// deletesBudget reports whether an action deletes the current attempt's budget together with other objects.
func (s *step) deletesBudget(a lifecycle.Action) bool {
	return a.Verb == lifecycle.Delete && a.Attempt == s.m.Attempt && (a.Part == lifecycle.Attempt || a.Part == lifecycle.DriverPod)
}
