package schedule

import (
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// Review returns the errors and warnings about a schedule and its template, and the pods of its next run.
func (d Schedules) Review(s *v1beta2.ScheduledSparkApplication, now time.Time) (review dialect.Review) {
	var ofRun dialect.Review
	_, doubts, unread := d.unchecked(s)

	review.Faults = d.specFaults(s, unread, func(run *v1beta2.SparkApplication) []*dialect.FieldError {
		ofRun = d.Runs.Review(run, now)
		return ofRun.Faults
	})
	if len(review.Faults) > 0 {
		return review
	}

	for _, doubt := range doubts {
		review.Warnings = append(review.Warnings, doubt.Message)
	}

	review.Pods = ofRun.Pods
	for _, text := range ofRun.Warnings {
		review.Warnings = append(review.Warnings, inTemplate(&dialect.FieldError{Message: text}).Message)
	}
	return review
}
