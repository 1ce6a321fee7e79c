// Package schedule is the dialect of ScheduledSparkApplications of sparkoperator.k8s.io. It converts a custom resource
// into the input of the package internal/lifecycle/schedule, writes the decision into the custom resource's status, and
// renders the schedule's runs. It is pure.
package schedule

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/bounds"
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
)

// Options are the settings of the operator's configuration that apply to every schedule.
type Options struct {
	// TimestampPrecision is the unit of the number at the end of a run's name, which counts from 1970: nanos, micros,
	// millis, seconds or minutes. Empty means seconds. Every tick is a whole number of seconds, and the other suitable
	// units leave less room for the schedule's name.
	TimestampPrecision string
	// Runs judges the runs. A template is rejected for the same faults as its runs.
	Runs Runs
	// Zones finds time zones by name. If it is nil, only UTC is known.
	Zones schedule.Zones
}

// Runs is the part of the dialect of applications that judges the runs of a schedule.
type Runs interface {
	// Faults returns the errors in the spec that make every launch of the application impossible.
	Faults(run *v1beta2.SparkApplication, now time.Time) []*dialect.FieldError
	// Review returns the faults, the warnings and the pods of a launch of the application.
	Review(run *v1beta2.SparkApplication, now time.Time) dialect.Review
}

// Schedules decides about ScheduledSparkApplications and renders their runs. It is pure: its methods read nothing but
// their arguments.
type Schedules struct{ Options }

// Decide reads the schedule, runs the state machine, and writes the result into s.Status. It stores nothing. The plan
// contains only Actions, Notices and RequeueAfter, because a schedule has no phases. If the schedule is being deleted,
// Decide does not change the status, and the plan is empty.
//
// With the policy Replace, the active run is deleted in the foreground. The next run therefore starts when the previous
// run and its driver pod no longer exist.
func (d Schedules) Decide(s *v1beta2.ScheduledSparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	if s.DeletionTimestamp != nil {
		return lifecycle.Plan{}
	}

	want, doubts := d.schedule(s, now)
	taken := s.Status.Operator == nil && s.Status.ScheduleState != v1beta2.ScheduleStateNew

	plan := schedule.Step(want, decodeSchedule(s, want, now), seen, now)
	if taken {
		plan.Notices = append([]lifecycle.Notice{{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: schedule.ReasonTakenOver,
			Message: "taken over from another operator; the last run was " + cmp.Or(s.Status.LastRunName, "none")}}}, plan.Notices...)
	}

	plan.Notices = append(plan.Notices, encodeSchedule(s, want, plan, doubts, seen.TransientError, now)...)
	return lifecycle.Plan{Actions: plan.Actions, Notices: plan.Notices, RequeueAfter: plan.RequeueAfter}
}

// schedule returns what the spec of the custom resource requests, with its errors. It also returns warnings about
// doubtful settings: valid settings that the user may have meant differently. They do not prevent runs.
func (d Schedules) schedule(s *v1beta2.ScheduledSparkApplication, now time.Time) (want schedule.Schedule, doubts []lifecycle.Cause) {
	want, doubts, unread := d.unchecked(s)
	if s.OutOfBounds == "" {
		want.Invalid = dialect.Invalid(d.specFaults(s, unread, func(run *v1beta2.SparkApplication) []*dialect.FieldError { return d.Runs.Faults(run, now) }))
	}
	return want, doubts
}

// unchecked is schedule without the check for errors. It returns the error from parsing the schedule's times.
func (d Schedules) unchecked(s *v1beta2.ScheduledSparkApplication) (want schedule.Schedule, doubts []lifecycle.Cause, unread error) {
	spec := &s.Spec

	want = schedule.Schedule{
		Name:       s.Name,
		UID:        string(s.UID),
		Created:    s.CreationTimestamp.Time,
		Key:        bounds.Line(schedule.Key(spec.Schedule, spec.TimeZone)), // also of a schedule that is not valid
		Generation: s.Generation,
		Suspend:    dialect.Suspended(spec.Suspend),
		Successful: kept(spec.SuccessfulRunHistoryLimit),
		Failed:     kept(spec.FailedRunHistoryLimit),
		Jitter:     sparkoperator.Seconds(spec.JitterSeconds, 0),
		Request:    schedule.Request(s.Annotations[v1beta2.RunNowAnnotation]),
		Precision:  schedule.Precision(d.TimestampPrecision),
	}
	if spec.StartingDeadlineSeconds != nil {
		want.Deadline = new(sparkoperator.Seconds(spec.StartingDeadlineSeconds, 0))
	}

	if s.OutOfBounds != "" {
		return unreadSchedule(s, want), nil, nil
	}

	var unknown *dialect.FieldError
	if want.Policy, unknown = policy(spec.ConcurrencyPolicy); unknown != nil {
		doubts = append(doubts, lifecycle.Cause{Reason: reasonUnknownPolicy, Message: unknown.Error()})
	}

	want.Times, unread = schedule.Parse(spec.Schedule, spec.TimeZone, d.Zones)
	if want.Times != nil && want.Times.Local() {
		doubts = append(doubts, lifecycle.Cause{Reason: reasonLocalZone, Message: localZoneDoubt(spec)})
	}
	return want, doubts, unread
}

// unreadSchedule returns the schedule for a spec that could not be read. With this schedule, the operator starts and
// deletes no run and keeps the stored times.
func unreadSchedule(s *v1beta2.ScheduledSparkApplication, want schedule.Schedule) schedule.Schedule {
	want.Invalid = dialect.Invalid(dialect.OutOfBounds(s.OutOfBounds))
	want.Successful, want.Failed, want.Policy = math.MaxInt, math.MaxInt, schedule.Forbid

	want.Suspend = meta.IsStatusConditionTrue(s.Status.Conditions, dialect.ConditionSuspended)
	if o := s.Status.Operator; o != nil {
		want.Key = o.Schedule
	}
	return want
}

// localZoneDoubt returns the warning about the time zone Local. This name refers to no particular place, so it has the
// same meaning as UTC and as no time zone.
func localZoneDoubt(spec *v1beta2.ScheduledSparkApplicationSpec) string {
	field := "spec.timeZone"
	if strings.Contains(spec.Schedule, "TZ=") { // a zone in spec.schedule has precedence
		field = "spec.schedule"
	}

	doubt := dialect.FieldError{Field: field, Message: "Local names no particular time zone and counts as UTC; write UTC, or a name from the IANA database such as Europe/Vienna"}
	return doubt.Error()
}

// kept returns the number of runs to keep for a history limit. A negative limit is invalid. In this case all runs are
// kept.
func kept(limit *int32) int {
	switch {
	case limit == nil:
		return 1 // the default of this API
	case *limit < 0:
		return math.MaxInt
	}
	return int(*limit)
}

// policy returns the concurrency policy. An unknown policy counts as Forbid, which is safe: no two runs are active at
// the same time, and no run is stopped.
func policy(p v1beta2.ConcurrencyPolicy) (schedule.Policy, *dialect.FieldError) {
	switch p {
	case "", v1beta2.ConcurrencyAllow:
		return schedule.Allow, nil
	case v1beta2.ConcurrencyForbid:
		return schedule.Forbid, nil
	case v1beta2.ConcurrencyReplace:
		return schedule.Replace, nil
	}
	return schedule.Forbid, &dialect.FieldError{Field: "spec.concurrencyPolicy", Message: "\"" + string(p) + "\" is not Allow, Forbid or Replace and counts as Forbid; write one of the three"}
}

// RunFacts returns the facts about a run that are needed to make decisions about its schedule.
func (d Schedules) RunFacts(app *v1beta2.SparkApplication) lifecycle.Run {
	run := lifecycle.Run{Name: app.Name, UID: string(app.UID), CreatedAt: app.CreationTimestamp.UTC(), Deleting: app.DeletionTimestamp != nil}
	switch app.Status.AppState.State {
	case v1beta2.ApplicationStateCompleted:
		run.Outcome = lifecycle.Succeeded
	case v1beta2.ApplicationStateFailed:
		run.Outcome = lifecycle.Failed
	default:
		return run
	}

	run.EndedAt = app.Status.TerminationTime.UTC()
	return run
}

// RenderRun returns the SparkApplication of a Create action. Its spec is the schedule's template, and it has the
// schedule's labels. The schedule owns it, so it is deleted with the schedule, unless the schedule is deleted with
// --cascade=orphan.
func (d Schedules) RenderRun(s *v1beta2.ScheduledSparkApplication, action lifecycle.Action) (*v1beta2.SparkApplication, error) {
	run := &v1beta2.SparkApplication{}
	run.APIVersion, run.Kind = v1beta2.SchemeGroupVersion.String(), "SparkApplication"
	run.Name, run.Namespace = action.Name, s.Namespace

	run.Labels = map[string]string{}
	for key, text := range s.Labels {
		if !strings.HasPrefix(key, dialect.OwnPrefix) { // the operator sets its own labels on the objects of a run
			run.Labels[key] = text
		}
	}

	run.Labels[sparkoperator.LabelScheduledAppName] = s.Name
	owner := metav1.NewControllerRef(s, v1beta2.SchemeGroupVersion.WithKind("ScheduledSparkApplication"))
	owner.Controller = nil // because tools of this API expect no controller: a run is an application like any other

	run.OwnerReferences = []metav1.OwnerReference{*owner}
	switch tick := schedule.TickOf(s.Name, action.Name); {
	case !tick.IsZero():
		run.Annotations = map[string]string{v1beta2.ScheduledAtAnnotation: tick.Format(time.RFC3339Nano)}
	case action.Name == schedule.RequestName(s.Name, string(s.UID), schedule.Request(s.Annotations[v1beta2.RunNowAnnotation])):
		run.Annotations = map[string]string{v1beta2.RunNowAnnotation: s.Annotations[v1beta2.RunNowAnnotation]}
	}

	s.Spec.Template.DeepCopyInto(&run.Spec)
	return run, nil
}

// RunLabels returns the labels that all runs of a schedule have.
func (d Schedules) RunLabels(s *v1beta2.ScheduledSparkApplication) map[string]string {
	return map[string]string{sparkoperator.LabelScheduledAppName: s.Name}
}

// normalNews contains the reasons of notices that become Normal events. All other notices become Warning events.
var normalNews = []string{
	schedule.ReasonStarted, schedule.ReasonCompleted, schedule.ReasonReplaced, schedule.ReasonWaiting, schedule.ReasonEdited, schedule.ReasonValid,
	schedule.ReasonSuspended, schedule.ReasonResumed, schedule.ReasonTakenOver, schedule.ReasonHonored,
}

// Events returns the events of a plan, oldest first.
func (d Schedules) Events(_ *v1beta2.ScheduledSparkApplication, plan lifecycle.Plan) []dialect.Event {
	var out []dialect.Event
	for _, n := range plan.Notices {
		kind, message := "Warning", n.Cause.Message
		if slices.Contains(normalNews, n.Cause.Reason) {
			kind = "Normal"
		}

		if n.Name != "" {
			message = "run " + n.Name + " " + message
		}

		out = append(out, dialect.Event{Type: kind, Reason: n.Cause.Reason, Message: message})
	}
	return out
}
