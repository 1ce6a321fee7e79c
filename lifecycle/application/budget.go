package application

import (
	"slices"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// guard sees to the budget that keeps the driver from evictions: it is there while the driver goes on and the application asks for it, and gone
// when the driver has ended, since a sidecar may go on in its pod for long. A driver that is not seen, on a late read, loses it not. What is to go
// as a whole takes its budget along, and after a refusal it is only waited: an application runs without one just as well.
func (s *step) guard() {
	if s.app.Deleting {
		return
	}
	d, has := s.seen.Driver(s.m.Attempt), slices.Contains(s.seen.Budgets, s.m.Attempt)
	live := s.m.Phase.Live()
	switch {
	case live && s.app.Budget == has, live && d == nil, !live && !has:
		return
	case live && !has && (d.Deleting || over(d)):
		return
	case slices.ContainsFunc(s.plan.Do, s.takesBudget):
		return
	}
	s.check(reassert)
	if s.barred() {
		return
	}
	verb := lifecycle.Delete
	if live && !has {
		verb = lifecycle.Create
	}
	s.do(verb, lifecycle.DriverBudget, s.m.Attempt)
}

// takesBudget reports whether an action deletes the budget of the attempt with what it is about.
func (s *step) takesBudget(a lifecycle.Action) bool {
	return a.Verb == lifecycle.Delete && a.Attempt == s.m.Attempt && (a.Part == lifecycle.Attempt || a.Part == lifecycle.DriverPod)
}
