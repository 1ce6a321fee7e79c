package status

import (
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Reasons of events that only this API has. The other reasons are in package dialect (dialect.EventSubmitted and the
// constants after it).
const (
	eventSuspending = "SparkApplicationSuspending"
	eventSuspended  = "SparkApplicationSuspended"
	eventResuming   = "SparkApplicationResuming"
)

// Events returns the events of a plan, oldest first. An application that succeeds has three: submitted, running and
// completed.
func Events(app *v1beta2.SparkApplication, plan lifecycle.Plan) []dialect.Event {
	ofTransition := func(t lifecycle.Transition) (dialect.Event, bool) { return transitionEvent(app, plan, t) }
	return dialect.EventsOf(plan, ofTransition, dialect.NoticeEvent)
}

// transitionEvent returns the event of a transition. The second result is false if the transition has none.
func transitionEvent(app *v1beta2.SparkApplication, plan lifecycle.Plan, t lifecycle.Transition) (dialect.Event, bool) {
	driver := naming.DriverPodName(app)
	switch t.To {
	case lifecycle.Launched:
		return dialect.LaunchEvent(plan, t, driver, " by pod "+submit.RunnerName(naming.Prefix(app, plan.Next.AttemptID)))
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running:
		if t.From == lifecycle.Launched {
			return dialect.Normal(dialect.EventDriverRunning, "driver pod %s runs", driver)
		}
	case lifecycle.Retained, lifecycle.Done:
		if t.Outcome == lifecycle.Succeeded {
			return dialect.Normal(dialect.EventCompleted, "the application completed in attempt %d", t.Attempt)
		}
		return dialect.Warning(dialect.EventFailed, "the application failed: %s", dialect.CauseText(t.Cause))
	case lifecycle.Editing:
		return dialect.Normal(dialect.EventSpecChanged, "the spec changed; attempt %d is replaced", t.Attempt)
	case lifecycle.Suspending:
		return dialect.Normal(eventSuspending, "attempt %d is stopped", t.Attempt)
	case lifecycle.Suspended:
		return dialect.Normal(eventSuspended, "the application is suspended")
	case lifecycle.Resuming:
		return dialect.Normal(eventResuming, "the application is resumed")
	}
	return dialect.DriverEvent(t, driver)
}
