package application

import (
	"slices"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// ensureBudget ensures the PodDisruptionBudget that protects the driver from evictions. The budget exists while the
// driver runs and the application requests a budget. When the driver has ended, the budget is deleted, because a
// sidecar may keep the pod running for a long time.
//
// If the driver is missing in the observation, the budget is kept, because the read may be late. A deletion of the
// whole attempt also deletes the budget. If the API server rejects the budget, the operator only requests it again
// later, because an application runs just as well without a budget.
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
