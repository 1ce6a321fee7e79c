package application

import (
	"fmt"
	"slices"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Reasons of events that only this API has. The other reasons are in package dialect (dialect.EventSubmitted and the
// constants after it).
const (
	EventSuspending = "SparkApplicationSuspending"
	EventSuspended  = "SparkApplicationSuspended"
	EventResuming   = "SparkApplicationResuming"
)

// Events returns the events of a plan, oldest first. An application that succeeds has three: submitted, running and
// completed.
func Events(app *v1beta2.SparkApplication, plan lifecycle.Plan) []dialect.Event {
	var out []dialect.Event
	for _, t := range plan.Transitions {
		e, ok := transitionEvent(app, t)
		if t.To == lifecycle.Launched {
			e, ok = launchEvent(app, plan, t)
		}

		if ok {
			out = append(out, e)
		}
	}

	for _, n := range plan.Notices {
		out = append(out, dialect.NoticeEvent(n))
	}
	return out
}

// takenOver returns the notice that the application was taken over from another operator. Its message contains the last
// state that the other operator wrote.
func takenOver(app *v1beta2.SparkApplication, m lifecycle.Memory) lifecycle.Notice {
	submissions := "submissions"
	if app.Status.SubmissionAttempts == 1 {
		submissions = "submission"
	}
	return lifecycle.Notice{Part: lifecycle.Application, Attempt: m.Attempt, Cause: lifecycle.Cause{Reason: dialect.EventTakenOver,
		Message: fmt.Sprintf("taken over from another operator, which left it in state %s after %d %s",
			app.Status.AppState.State, app.Status.SubmissionAttempts, submissions)}}
}

func transitionEvent(app *v1beta2.SparkApplication, t lifecycle.Transition) (dialect.Event, bool) {
	switch t.To {
	case lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running:
		if t.From == lifecycle.Launched {
			return dialect.Normal(dialect.EventDriverRunning, "driver pod %s runs", DriverPodName(app))
		}
	case lifecycle.Unknown:
		return dialect.Warning(dialect.EventDriverUnknown, "driver pod %s: %s", DriverPodName(app), dialect.CauseText(t.Cause))
	case lifecycle.Ended:
		return dialect.EndEvent(t)
	case lifecycle.Retained, lifecycle.Done:
		if t.Outcome == lifecycle.Succeeded {
			return dialect.Normal(dialect.EventCompleted, "the application completed in attempt %d", t.Attempt)
		}
		return dialect.Warning(dialect.EventFailed, "the application failed: %s", dialect.CauseText(t.Cause))
	case lifecycle.Waiting:
		return dialect.Normal(dialect.EventPendingRerun, "the application is run again after attempt %d", t.Attempt)
	case lifecycle.Editing:
		return dialect.Normal(dialect.EventSpecChanged, "the spec changed; attempt %d is replaced", t.Attempt)
	case lifecycle.Suspending:
		return dialect.Normal(EventSuspending, "attempt %d is stopped", t.Attempt)
	case lifecycle.Suspended:
		return dialect.Normal(EventSuspended, "the application is suspended")
	case lifecycle.Resuming:
		return dialect.Normal(EventResuming, "the application is resumed")
	}
	return dialect.Event{}, false
}

// launchEvent returns the event of a submission. Its message contains the submission mode and, if spark-submit creates
// the driver, the reason for this mode. If this plan creates nothing, because an earlier pass created the driver but
// could not store the launch, the message contains no mode.
func launchEvent(app *v1beta2.SparkApplication, plan lifecycle.Plan, t lifecycle.Transition) (dialect.Event, bool) {
	driver := DriverPodName(app)
	switch {
	case t.Cause.Reason == dialect.ReasonSparkSubmit:
		return dialect.Normal(dialect.EventSubmitted, "attempt %d is being submitted as driver pod %s by pod %s; %s", t.Attempt, driver,
			submit.RunnerName(namePrefix(app, plan.Next.AttemptID)), t.Cause.Message)
	case slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Create }):
		return dialect.Normal(dialect.EventSubmitted, "attempt %d was submitted as driver pod %s by the operator itself", t.Attempt, driver)
	}
	return dialect.Normal(dialect.EventSubmitted, "attempt %d was submitted as driver pod %s", t.Attempt, driver)
}
