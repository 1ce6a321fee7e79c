// Package schedule is the dialect of ScheduledSparkApplications of sparkoperator.k8s.io: it reads one into the terms of lifecycle/schedule, writes the
// decision back into its status, and renders its runs. It is pure.
package schedule

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/schedule"
)

// Options is what the operator's configuration gives every schedule.
type Options struct {
	// TimestampPrecision is the unit of the number that ends a run's name: nanos, micros, millis, seconds or minutes, since 1970. Empty means
	// seconds, which every tick is a whole number of, and which leave as much room for the schedule's name as any.
	TimestampPrecision string
	// Applications are the options that the runs are decided about with: a template is refused by them as its runs would be.
	Applications application.Options
	// Zones looks time zones up. Nil knows UTC alone.
	Zones schedule.Zones
}

// Schedules decides about ScheduledSparkApplications and renders their runs. It is pure: its methods read nothing but their arguments.
type Schedules struct{ Options }

// Decide reads the schedule, lets the machine decide, and writes what follows into the schedule's status, in memory. The plan has Do, Tell and
// Check; a schedule has no phases. One that is being deleted keeps the status that it has, and nothing is done about it.
//
// The deletion of a run that goes on is meant in the foreground: with Replace the next one starts when the run is gone, and its driver pod with it.
func (d Schedules) Decide(s *v1beta2.ScheduledSparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	if s.DeletionTimestamp != nil {
		return lifecycle.Plan{}
	}
	want, doubts := d.schedule(s, now)
	taken := s.Status.Operator == nil && s.Status.ScheduleState != v1beta2.ScheduleStateNew
	plan := schedule.Step(want, decodeSchedule(s, want, now), seen, now)
	if taken {
		plan.Tell = append([]lifecycle.Notice{{Part: lifecycle.Application, Cause: lifecycle.Cause{Reason: schedule.ReasonTakenOver,
			Message: "taken over from another operator; the last run was " + cmp.Or(s.Status.LastRunName, "none")}}}, plan.Tell...)
	}
	plan.Tell = append(plan.Tell, encodeSchedule(s, want, plan, doubts, seen.Weather, now)...)
	return lifecycle.Plan{Do: plan.Do, Tell: plan.Tell, Check: plan.Check}
}

// schedule reads what the custom resource asks for. Doubts are what of it may be meant otherwise than it is taken, and keep no runs from being started.
func (d Schedules) schedule(s *v1beta2.ScheduledSparkApplication, now time.Time) (want schedule.Schedule, doubts []lifecycle.Cause) {
	spec := &s.Spec
	want = schedule.Schedule{
		Name:       s.Name,
		UID:        string(s.UID),
		Created:    s.CreationTimestamp.Time,
		Key:        schedule.Key(spec.Schedule, spec.TimeZone),
		Generation: s.Generation,
		Suspend:    spec.Suspend != nil && *spec.Suspend,
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
		return unreadSchedule(s, want), nil
	}
	var unknown *sparkoperator.FieldError
	if want.Policy, unknown = policy(spec.ConcurrencyPolicy); unknown != nil {
		doubts = append(doubts, lifecycle.Cause{Reason: reasonUnknownPolicy, Message: unknown.Error()})
	}
	var unread error
	want.Times, unread = schedule.Parse(spec.Schedule, spec.TimeZone, d.Zones)
	if want.Times != nil && want.Times.Local() {
		doubts = append(doubts, lifecycle.Cause{Reason: reasonLocalZone, Message: localZoneDoubt(spec)})
	}
	want.Invalid = dialect.Invalid(d.faults(s, unread, now))
	return want, doubts
}

// unreadSchedule is a schedule whose spec could not be read: no run is started, none is deleted, and what is remembered of its times holds.
func unreadSchedule(s *v1beta2.ScheduledSparkApplication, want schedule.Schedule) schedule.Schedule {
	want.Invalid = dialect.Invalid(dialect.OutOfBounds(s.OutOfBounds))
	want.Successful, want.Failed, want.Policy = math.MaxInt, math.MaxInt, schedule.Forbid
	want.Suspend = meta.IsStatusConditionTrue(s.Status.Conditions, sparkoperator.ConditionSuspended)
	if o := s.Status.Operator; o != nil {
		want.Key = o.Schedule
	}
	return want
}

// localZoneDoubt tells that a zone which says nothing is read as if there were none.
func localZoneDoubt(spec *v1beta2.ScheduledSparkApplicationSpec) string {
	field := "spec.timeZone"
	if strings.Contains(spec.Schedule, "TZ=") { // its own zone counts
		field = "spec.schedule"
	}
	doubt := sparkoperator.FieldError{Field: field, Message: "the zone Local is that of no place in particular, and is read as UTC wherever the operator runs; write UTC, or a name of the IANA database such as Europe/Vienna"}
	return doubt.Error()
}

// kept is a history limit. Nothing is deleted by one that makes no sense.
func kept(limit *int32) int {
	switch {
	case limit == nil:
		return 1 // as this API has always had it
	case *limit < 0:
		return math.MaxInt
	}
	return int(*limit)
}

// policy reads a concurrency policy. With one that nobody knows no two runs go on side by side, and none is stopped: whatever it was to mean, that
// does no harm.
func policy(p v1beta2.ConcurrencyPolicy) (schedule.Policy, *sparkoperator.FieldError) {
	switch p {
	case "", v1beta2.ConcurrencyAllow:
		return schedule.Allow, nil
	case v1beta2.ConcurrencyForbid:
		return schedule.Forbid, nil
	case v1beta2.ConcurrencyReplace:
		return schedule.Replace, nil
	}
	return schedule.Forbid, &sparkoperator.FieldError{Field: "spec.concurrencyPolicy", Message: "\"" + string(p) + "\" is none of Allow, Forbid and Replace; runs are started as by Forbid until it is"}
}

// RunFacts reads an application into what a schedule's decisions need to know of it.
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

// RenderRun returns the application that a Create action of a ScheduledRun makes: the template, with the labels of the schedule, owned by it. It
// goes when the schedule is deleted, unless that is done with --cascade=orphan.
func (d Schedules) RenderRun(s *v1beta2.ScheduledSparkApplication, action lifecycle.Action) (*v1beta2.SparkApplication, error) {
	run := &v1beta2.SparkApplication{}
	run.APIVersion, run.Kind = v1beta2.SchemeGroupVersion.String(), "SparkApplication"
	run.Name, run.Namespace = action.Name, s.Namespace
	run.Labels = map[string]string{}
	for key, text := range s.Labels {
		if !strings.HasPrefix(key, dialect.OwnPrefix) { // these are the operator's word on a run's own objects
			run.Labels[key] = text
		}
	}
	run.Labels[sparkoperator.LabelScheduledAppName] = s.Name
	owner := metav1.NewControllerRef(s, v1beta2.SchemeGroupVersion.WithKind("ScheduledSparkApplication"))
	owner.Controller = nil // as readers of this API know it; the run is an application in its own right
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

// RunLabels are those that all runs of a schedule have.
func (d Schedules) RunLabels(s *v1beta2.ScheduledSparkApplication) map[string]string {
	return map[string]string{sparkoperator.LabelScheduledAppName: s.Name}
}

// normalNews are the reasons of notices that tell of nothing wrong.
var normalNews = []string{
	schedule.ReasonStarted, schedule.ReasonCompleted, schedule.ReasonReplaced, schedule.ReasonWaiting, schedule.ReasonEdited, schedule.ReasonValid,
	schedule.ReasonSuspended, schedule.ReasonResumed, schedule.ReasonTakenOver, schedule.ReasonHonored,
}

// Events are what to tell about a plan, oldest first.
func (d Schedules) Events(_ *v1beta2.ScheduledSparkApplication, plan lifecycle.Plan) []sparkoperator.Event {
	var out []sparkoperator.Event
	for _, n := range plan.Tell {
		kind, message := "Warning", n.Cause.Message
		if slices.Contains(normalNews, n.Cause.Reason) {
			kind = "Normal"
		}
		if n.Name != "" {
			message = "run " + n.Name + " " + message
		}
		out = append(out, sparkoperator.Event{Type: kind, Reason: n.Cause.Reason, Message: message})
	}
	return out
}
