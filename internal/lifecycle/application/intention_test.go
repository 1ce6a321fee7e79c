package application

import (
	"slices"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/queue"
)

// checkIntention checks that each deletion in a plan is allowed. It is allowed if the stored memory already contains
// its reason, or if an exception of Unstored applies.
func checkIntention(t *testing.T, app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed,
	plan lifecycle.Plan) {
	for _, a := range plan.Actions {
		if !givesUp(a) || reasonStored(mem, plan, a) {
			continue
		}

		if !slices.ContainsFunc(Unstored, func(e Exception) bool {
			return slices.Contains(e.Parts, a.Part) && exceptions[e.When](app, mem, seen, a)
		}) {
			t.Fatalf("%v before its reason is stored: from %q of attempt %d through %v\nseen %+v", a, mem.Phase,
				mem.Attempt, plan.Transitions, seen)
		}
	}
}

// givesUp reports whether an action deletes an object, or gives quota back.
func givesUp(a lifecycle.Action) bool {
	return a.Verb == lifecycle.Delete || a.Part == lifecycle.QuotaReturn
}

// reasonStored reports whether the reason of a deletion was stored before the decision. This is the case if the stored
// phase says that the attempt or the whole application has ended or is being stopped, and the plan enters no other
// phase.
func reasonStored(mem lifecycle.Memory, plan lifecycle.Plan, a lifecycle.Action) bool {
	switch {
	case len(plan.Transitions) > 0:
		return false
	case a.Part == lifecycle.Application:
		return mem.Phase.Terminal()
	}
	return mem.Phase != lifecycle.New && !mem.Phase.Live()
}

// exceptions contains a function for each exception of Unstored, which checks whether the exception applies. The key is
// the field When of the exception.
var exceptions = map[string]func(lifecycle.App, lifecycle.Memory, lifecycle.Observed, lifecycle.Action) bool{
	"the application is being deleted": func(app lifecycle.App, _ lifecycle.Memory, _ lifecycle.Observed,
		_ lifecycle.Action) bool {
		return app.Deleting
	},
	"a live read found neither a driver nor a submitter of the attempt; in addition, either the attempt's number is stored, or no executor has this number": func(
		_ lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, a lifecycle.Action,
	) bool {
		executors := slices.ContainsFunc(seen.Executors,
			func(e lifecycle.Executor) bool { return e.Attempt == a.Attempt })
		return seen.Confirmed && seen.Driver(a.Attempt) == nil && seen.Submitter(a.Attempt) == nil &&
			(a.Attempt <= mem.Attempt || !executors)
	},
	"the stored number is that of a later attempt": func(_ lifecycle.App, mem lifecycle.Memory, _ lifecycle.Observed,
		a lifecycle.Action) bool {
		return a.Attempt < mem.Attempt
	},
	"a live read found no pod that uses quota": func(_ lifecycle.App, _ lifecycle.Memory, seen lifecycle.Observed,
		_ lifecycle.Action) bool {
		return seen.PodsConfirmed && !seen.CacheBehind && !queue.Used(seen)
	},
	"the spec no longer requests a budget": func(app lifecycle.App, _ lifecycle.Memory, _ lifecycle.Observed,
		_ lifecycle.Action) bool {
		return !app.Budget
	},
}

// TestUnstoredIsWhatHappens checks that no exception of Unstored is superfluous: for each of them, a random decision
// requests a deletion that only this exception allows. It also checks that the map exceptions has a function for each.
func TestUnstoredIsWhatHappens(t *testing.T) {
	if len(exceptions) != len(Unstored) {
		t.Errorf("%d rules for %d exceptions", len(exceptions), len(Unstored))
	}

	needed := map[string]bool{}
	randomDecisions(80000, func(app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, plan lifecycle.Plan) {
		for _, a := range plan.Actions {
			if !givesUp(a) || reasonStored(mem, plan, a) {
				continue
			}

			var hold []string
			for _, e := range Unstored {
				if slices.Contains(e.Parts, a.Part) && exceptions[e.When](app, mem, seen, a) {
					hold = append(hold, e.When)
				}
			}

			if len(hold) == 1 {
				needed[hold[0]] = true
			}
		}
	})

	for _, e := range Unstored {
		if !needed[e.When] {
			t.Errorf("%v: %s: no plan needs the exception", e.Parts, e.When)
		}
	}
}
