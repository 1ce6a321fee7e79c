package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
)

// Validate returns all errors in a schedule that prevent runs and that can be found without a cluster. These are errors
// in its times, numbers and name, and all errors for which an application with the template's spec would be rejected.
// An unknown concurrency policy is not an error (see policy).
func (d Schedules) Validate(s *v1beta2.ScheduledSparkApplication, now time.Time) []*dialect.FieldError {
	_, unread := schedule.Parse(s.Spec.Schedule, s.Spec.TimeZone, d.Zones)
	return d.specFaults(s, unread, func(run *v1beta2.SparkApplication) []*dialect.FieldError { return d.Runs.Faults(run, now) })
}

// specFaults returns the errors for Validate. The parameter unread is the error from parsing the schedule's times, or
// nil if the times are valid. It is a parameter because the caller has already parsed the times. The parameter ofRun
// returns the errors of a run, which is costly to render.
func (d Schedules) specFaults(s *v1beta2.ScheduledSparkApplication, unread error, ofRun func(*v1beta2.SparkApplication) []*dialect.FieldError) []*dialect.FieldError {
	if wrong := dialect.OutOfBounds(s.OutOfBounds); wrong != nil {
		return wrong
	}

	var wrong []*dialect.FieldError
	if refused, ok := errors.AsType[*schedule.Error](unread); ok {
		field := "spec.schedule"
		if refused.Field == schedule.FieldZone {
			field = "spec.timeZone"
		}

		wrong = append(wrong, &dialect.FieldError{Field: field, Message: refused.Message})
	}

	wrong = append(wrong, validNumbers(&s.Spec)...)
	wrong = append(wrong, dialect.CheckName(s.Name, "a run", schedule.MaxName)...)
	return append(wrong, d.validTemplate(s, ofRun)...)
}

// validNumbers rejects negative numbers, and history limits above dialect.MaxHistory.
func validNumbers(spec *v1beta2.ScheduledSparkApplicationSpec) (wrong []*dialect.FieldError) {
	check := func(field string, n int64, way string) {
		if n < 0 {
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: fmt.Sprintf("%d is below zero; %s", n, way)})
		}
	}

	most := func(field string, n int32) {
		if n > dialect.MaxHistory {
			message := fmt.Sprintf("%d is above %d, the largest number of runs that a schedule keeps; use a smaller number", n, dialect.MaxHistory)
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: message})
		}
	}
	if n := spec.SuccessfulRunHistoryLimit; n != nil {
		most("spec.successfulRunHistoryLimit", *n)
		check("spec.successfulRunHistoryLimit", int64(*n), "0 keeps no run that succeeded")
	}

	if n := spec.FailedRunHistoryLimit; n != nil {
		most("spec.failedRunHistoryLimit", *n)
		check("spec.failedRunHistoryLimit", int64(*n), "0 keeps no run that failed")
	}

	if n := spec.StartingDeadlineSeconds; n != nil {
		check("spec.startingDeadlineSeconds", *n, "leave it out for no deadline")
	}

	if n := spec.JitterSeconds; n != nil {
		check("spec.jitterSeconds", *n, "0 starts runs on time")
	}
	return wrong
}

// validTemplate returns the errors in the template: all errors for which an application with this spec would be
// rejected.
func (d Schedules) validTemplate(s *v1beta2.ScheduledSparkApplication, ofRun func(*v1beta2.SparkApplication) []*dialect.FieldError) (wrong []*dialect.FieldError) {
	run, err := d.RenderRun(s, lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.ScheduledRun, Name: schedule.RequestName("a", "", "")})
	if err != nil {
		return []*dialect.FieldError{{Field: "spec.template", Message: err.Error()}}
	}

	for _, e := range ofRun(run) {
		wrong = append(wrong, inTemplate(e))
	}
	return wrong
}

// inTemplate converts an error about an application into an error about the schedule's template. It changes only the
// beginning of the field's path. Later parts of the path may contain a key of sparkConf, which may be any text, or the
// spec of a pod template.
func inTemplate(e *dialect.FieldError) *dialect.FieldError {
	field := e.Field
	if rest, found := strings.CutPrefix(field, "spec"); found && (rest == "" || rest[0] == '.') {
		field = "spec.template" + rest
	}
	return &dialect.FieldError{Field: field, Incomplete: e.Incomplete, Message: mentioned.ReplaceAllStringFunc(e.Message, func(text string) string {
		if text[0] == '"' {
			return text
		}
		return strings.Replace(text, "spec.", "spec.template.", 1)
	})}
}

// mentioned matches each place where a message names a field of the application, such as "spec.driver". It also matches
// each quoted text. Quoted texts come from the user and must stay unchanged, so the caller skips these matches. A
// "spec." after a dot or a bracket does not match, because it belongs to another spec.
var mentioned = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|(?:^|[ ,;(])spec\.`)
