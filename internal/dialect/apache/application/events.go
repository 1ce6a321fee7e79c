package application

import (
	"slices"
	"strings"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Reasons of events that only this API has. The other reasons are in package dialect (dialect.EventSubmitted and the
// constants after it).
const (
	EventReleased         = "SparkApplicationReleased"
	EventExecutorsBelow   = "SparkExecutorsBelowThreshold"
	EventExecutorsPartial = "SparkExecutorsPartialCapacity"
	EventExecutorsEnough  = "SparkExecutorsSufficient"
)

// Events returns the events of a plan that Decide returned, oldest first. A successful application has three:
// submitted, running, completed.
func Events(app *sparkv1.SparkApplication, plan lifecycle.Plan) []dialect.Event {
	var out []dialect.Event
	for _, t := range plan.Transitions {
		if e, ok := transitionEvent(app, plan, t); ok {
			out = append(out, e)
		}
	}

	for _, n := range plan.Notices {
		out = append(out, dialect.NoticeEvent(n))
	}
	return out
}

func transitionEvent(app *sparkv1.SparkApplication, plan lifecycle.Plan, t lifecycle.Transition) (dialect.Event, bool) {
	driver := driverPodName(app, appID(app, t.Attempt))
	switch t.To {
	case lifecycle.Launched:
		return launchEvent(plan, t, driver+countsFromZero(app, driver))
	case lifecycle.Started:
		return dialect.Normal(dialect.EventDriverRunning, "driver pod %s runs", driver)
	case lifecycle.Running, lifecycle.Partial, lifecycle.Below:
		return thresholdEvent(t)
	case lifecycle.Unknown:
		return dialect.Warning(dialect.EventDriverUnknown, "driver pod %s: %s", driver, dialect.CauseText(t.Cause))
	case lifecycle.Ended:
		return dialect.EndEvent(t)
	case lifecycle.Waiting:
		return dialect.Normal(dialect.EventPendingRerun, "the application is run again after attempt %d", t.Attempt)
	case lifecycle.Retained, lifecycle.Done:
		return overEvent(t)
	}
	return dialect.Event{}, false
}

// countsFromZero returns a note for messages that name a driver pod: " (names count attempts from 0)". The pod's name
// counts attempts from 0 and messages count them from 1, so the two numbers differ by one. The result is "" if the
// pod's name contains no number of an attempt.
func countsFromZero(app *sparkv1.SparkApplication, driver string) string {
	if !strings.HasPrefix(driver, app.Name+"-") || app.Spec.SparkConf[confAppID] != "" || app.Spec.SparkConf[confDriverPodName] != "" {
		return ""
	}
	return " (names count attempts from 0)"
}

// launchEvent returns the event of a submission. Its message says whether spark-submit or the operator itself submits
// the driver. If the operator stopped before it stored the launch, and a later pass found the driver, the message does
// not say which of them submitted it.
//
// The second result is false if the transition launched nothing: the driver's node did not respond for a while, and now
// responds again.
func launchEvent(plan lifecycle.Plan, t lifecycle.Transition, driver string) (dialect.Event, bool) {
	switch {
	case t.From == lifecycle.Unknown:
		return dialect.Event{}, false // the node answers again; nothing was launched
	case t.Cause.Reason == dialect.ReasonSparkSubmit:
		return dialect.Normal(dialect.EventSubmitted, "attempt %d is being submitted as driver pod %s; %s", t.Attempt, driver, t.Cause.Message)
	case slices.ContainsFunc(plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Create }):
		return dialect.Normal(dialect.EventSubmitted, "attempt %d was submitted as driver pod %s by the operator itself", t.Attempt, driver)
	}
	return dialect.Normal(dialect.EventSubmitted, "attempt %d was submitted as driver pod %s", t.Attempt, driver)
}

// thresholdEvent returns an event if the number of running executors falls below a threshold, and another event if
// enough executors run again. The second result is false for all other transitions.
func thresholdEvent(t lifecycle.Transition) (dialect.Event, bool) {
	switch {
	case t.To == lifecycle.Below:
		return dialect.Warning(EventExecutorsBelow, "%s", dialect.CauseText(t.Cause))
	case t.To == lifecycle.Partial:
		return dialect.Normal(EventExecutorsPartial, "%s", dialect.CauseText(t.Cause))
	case t.From == lifecycle.Below, t.From == lifecycle.Partial:
		return dialect.Normal(EventExecutorsEnough, "at least as many executors run as "+thresholdsField+" requires")
	}
	return dialect.Event{}, false
}

// overEvent returns the event for the end of an application. If the application's objects were retained, it returns
// another event when they are released.
func overEvent(t lifecycle.Transition) (dialect.Event, bool) {
	switch {
	case t.From == lifecycle.Retained:
		return dialect.Normal(EventReleased, "the retention of the application's objects has ended; they are gone")
	case t.Outcome == lifecycle.Succeeded:
		return dialect.Normal(dialect.EventCompleted, "the application completed in attempt %d%s", t.Attempt, exhausted(t))
	}
	return dialect.Warning(dialect.EventFailed, "the application failed: %s", dialect.CauseText(t.Cause))
}
