package application

import (
	"slices"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// ensureBudget ensures the PodDisruptionBudget that protects the driver from evictions. The budget exists while the
// driver runs and the application requests it. It is deleted when the driver has ended, since a sidecar may keep the
// pod running for long.
//
// A driver that is missing because of a late read keeps its budget. A deletion of the whole attempt deletes the budget
// too. A rejected budget is only requested again later: an application runs just as well without one.
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

// deletesBudget reports whether an action deletes the attempt's budget together with other objects.
func (s *step) deletesBudget(a lifecycle.Action) bool {
	return a.Verb == lifecycle.Delete && a.Attempt == s.m.Attempt && (a.Part == lifecycle.Attempt || a.Part == lifecycle.DriverPod)
}
