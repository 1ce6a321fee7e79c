package sparkoperator

import (
	"errors"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// ScheduleOptions is what the operator's configuration gives every schedule.
type ScheduleOptions struct {
	// TimestampPrecision is the unit of the number that ends a run's name: nanos, micros, millis, seconds or minutes, since 1970. Empty means
	// seconds, which every tick is a whole number of.
	TimestampPrecision string
	// Applications are the options that the runs are decided about with: a template is refused by them as its runs would be.
	Applications Options
}

// Schedules decides about ScheduledSparkApplications and renders their runs. It is pure: its methods read nothing but their arguments.
type Schedules struct{ ScheduleOptions }

// Decide reads the schedule, lets the machine decide, and writes what follows into the schedule's status, in memory. The plan has Do, Tell and
// Check; a schedule has no phases. One that is being deleted keeps the status that it has, and nothing is done about it.
//
// The deletion of a run that goes on is meant in the foreground: with Replace the next one starts when the run is gone, and its driver pod with it.
func (d Schedules) Decide(s *v1beta2.ScheduledSparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	return lifecycle.Plan{}
}

// RenderRun returns the application that a Create action of a ScheduledRun makes. An error is a *FieldError that names what the user wrote.
func (d Schedules) RenderRun(s *v1beta2.ScheduledSparkApplication, action lifecycle.Action) (*v1beta2.SparkApplication, error) {
	return nil, errors.New("nothing is rendered yet")
}

// RunFacts reads an application into what a schedule's decisions need to know of it.
func (d Schedules) RunFacts(app *v1beta2.SparkApplication) lifecycle.Run { return lifecycle.Run{} }

// Events are what to tell about a plan, oldest first.
func (d Schedules) Events(s *v1beta2.ScheduledSparkApplication, plan lifecycle.Plan) []Event {
	return nil
}
