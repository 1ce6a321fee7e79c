package schedule

import (
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/schedule"
)

// Review returns the errors and warnings about a schedule and its template, and the pods of its next run.
func (d Schedules) Review(s *v1beta2.ScheduledSparkApplication, now time.Time) (review dialect.Review) {
	if review.Faults = d.Validate(s, now); len(review.Faults) > 0 {
		return review
	}
	_, doubts := d.schedule(s, now)
	for _, doubt := range doubts {
		review.Warnings = append(review.Warnings, doubt.Message)
	}
	run, err := d.RenderRun(s, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: schedule.RequestName("a", "", "")})
	if err != nil {
		return review // Validate reports it
	}
	ofRun := (application.Dialect{Options: d.Applications}).Review(run, now)
	review.Pods = ofRun.Pods
	for _, text := range ofRun.Warnings {
		review.Warnings = append(review.Warnings, inTemplate(&dialect.FieldError{Message: text}).Message)
	}
	return review
}
