package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// maxRequeue is the maximum requeue interval. It is limited because a timer does not react if the clock is set.
	maxRequeue = 10 * time.Minute
	// repeatDelay is the time after which an action is repeated: a deletion that had no effect, or an action that met a
	// transient error.
	repeatDelay = 15 * time.Second
	// maxRetry is the maximum wait before another try to create a run (lifecycle.QueryInterval).
	maxRetry = time.Minute
	// maxActive is the maximum number of active runs of a schedule whose policy allows more than one.
	maxActive = 100
	// maxClockSkew is how far the clock may be behind the last tick. A larger difference is reported.
	maxClockSkew = time.Minute
)

// Step makes one decision. It reads nothing but its arguments and is deterministic.
//
// The controller must carry out the plan's Actions before it stores Next. After a rejection or a live read, the
// controller adds the result to seen and calls Step again. Step deletes a run only if the stored memory already
// contains the reason: either runs are being replaced, or the run has ended.
func Step(want Schedule, mem Memory, seen lifecycle.Observed, now time.Time) Plan {
	if want.Deleting {
		return Plan{Next: mem} // the user's deletion request decides whether the runs stay
	}

	s := &step{want: want, stored: mem, m: mem, seen: seen, now: now}
	s.begin()
	s.request()
	s.adopt()

	if s.mayStart() {
		s.start()
	}

	if !s.confirms() {
		s.history()
	}

	s.plan.Next = s.m
	return s.plan
}

// step is the state of a decision while Step makes it.
type step struct {
	want   Schedule
	stored Memory
	m      Memory // the memory as the decision changes it
	seen   lifecycle.Observed
	now    time.Time
	plan   Plan
}

// candidate is a run that is due and may be started.
type candidate struct {
	name string
	tick time.Time // zero for a requested run
}

func (s *step) notice(reason, run, format string, args ...any) {
	s.plan.Notices = append(s.plan.Notices, lifecycle.Notice{Part: lifecycle.ScheduledRun, Name: run,
		Cause: lifecycle.Cause{Reason: reason, Message: fmt.Sprintf(format, args...)}})
}

// requeueAfter requests another pass after at most d.
func (s *step) requeueAfter(d time.Duration) {
	s.plan.RequeueAfter = lifecycle.RequeueWithin(s.plan.RequeueAfter, d)
}

func (s *step) do(verb lifecycle.Verb, run string) {
	s.plan.Actions = append(s.plan.Actions, lifecycle.Action{Verb: verb, Part: lifecycle.ScheduledRun, Name: run})
}

// confirms reports whether the decision requests a live read. If so, the decision's other results are discarded.
func (s *step) confirms() bool {
	return slices.ContainsFunc(s.plan.Actions, func(a lifecycle.Action) bool { return a.Verb == lifecycle.Confirm })
}

// begin handles changes of the spec. A new schedule takes effect at its creation, and an edited schedule at the time of
// the edit: ticks before the edit start no run.
func (s *step) begin() {
	switch {
	case s.m.Since.IsZero():
		s.m.Since = s.want.Created
		if s.m.Since.IsZero() || s.m.Since.After(s.now) {
			s.m.Since = s.now
		}

		s.m.Since = s.m.Since.UTC()
	case Key(s.m.Key, "") != Key(s.want.Key, ""):
		s.m.Since = s.now
		s.notice(ReasonEdited, "", "the schedule changed from %q to %q; runs that were due before the change are not started", s.m.Key, s.want.Key)
	}

	if s.m.Since.After(s.now) { // the clock was ahead at an edit
		s.m.Since = lifecycle.Latest(s.now, s.want.Created)
	}

	s.m.Key = s.want.Key
	if s.m.Generation != s.want.Generation {
		s.m.Generation = s.want.Generation
		s.forgetRejections()
	}

	if s.want.Suspend != s.m.Suspended {
		if s.m.Suspended = s.want.Suspend; s.want.Suspend {
			s.notice(ReasonSuspended, "", "the schedule is suspended: only requested runs start until it is resumed; active runs continue")
		} else {
			s.notice(ReasonResumed, "", "the schedule is resumed")
		}
	}
}

// forgetRejections removes the rejections of runs, and the times of their retries, from the memory.
func (s *step) forgetRejections() {
	s.forgetTickRejection()
	s.m.Requested = Waiting{Run: s.m.Requested.Run}
}

func (s *step) forgetTickRejection() {
	s.m.Rejected, s.m.RejectedSince, s.m.Retry = "", time.Time{}, time.Time{}
}

// adopt stores runs whose start was not stored, because the operator died between a creation and its status write. It
// recognizes such runs by their names. It ignores two kinds of runs:
//
//   - runs of future ticks, which may exist if the clock was set back; a later pass adopts them when their tick is due;
//   - runs with Deleted set. Only the labels of their pods contain the names of such runs, and anyone could set such
//     labels to skip ticks.
func (s *step) adopt() {
	for _, run := range s.seen.Runs {
		if !run.Deleted && s.runRequested() && run.Name == RequestName(s.want.Name, s.want.UID, s.want.Request) {
			s.finishRequest(run)
		}
	}
	var newest candidate

	var at time.Time
	for _, run := range s.seen.Runs {
		tick := TickOf(s.want.Name, run.Name)
		if !run.Deleted && tick.After(s.m.LastTick) && tick.After(newest.tick) && !tick.After(s.now) {
			newest, at = candidate{run.Name, tick}, lifecycle.NotInFuture(run.CreatedAt, s.now)
		}
	}

	if newest.name == "" {
		return
	}

	if s.want.Times != nil {
		// Another operator names its runs by the time of their creation.
		if tick := s.want.Times.Latest(s.m.Since, s.base(), newest.tick); !tick.IsZero() {
			s.skipTicksBefore(tick)
		}
	}

	s.m.LastTick = newest.tick
	s.started(newest, at)
}

// finishRequest handles a request whose run already exists. In two cases the run counts as started by an earlier
// request with the same value: the memory contains the end of the run, or the run is active and older than the last
// run. Otherwise the run counts as started by this request.
//
// The second case can be wrong: if the operator's clock was ahead, a new run looks older than the last run.
// finishRequest therefore stores an active run as the last run, so that the concurrency policy takes the run into
// account.
func (s *step) finishRequest(run lifecycle.Run) {
	s.m.LastRequest = s.want.Request
	known := slices.Contains(s.m.Succeeded, run.Name) || slices.Contains(s.m.Failed, run.Name)

	older := run.Outcome == lifecycle.Undecided && run.CreatedAt.Before(s.m.LastRun)
	if !known && !older {
		s.started(candidate{name: run.Name}, lifecycle.NotInFuture(run.CreatedAt, s.now))
		return
	}

	if older {
		s.m.LastRunName = run.Name
	}

	s.m.Requested = Waiting{}
	s.notice(ReasonHonored, run.Name, "was started for this request before; use another value to request another run")
}

// started stores a started run in the memory and reports it. The time of the last run decreases only if it was in the
// future.
func (s *step) started(c candidate, at time.Time) {
	if at = at.UTC().Truncate(time.Second); at.After(s.m.LastRun) || s.m.LastRun.After(s.now) {
		s.m.LastRun = at
	}

	s.m.LastRunName = c.name
	if c.tick.IsZero() {
		s.m.Requested = Waiting{}
		s.notice(ReasonStarted, c.name, "was requested by annotation")
		return
	}

	s.forgetTickRejection()
	s.notice(ReasonStarted, c.name, "is the run of %s", s.clock(c.tick))
}

// clock returns a tick as text, in the time zone of the schedule.
func (s *step) clock(tick time.Time) string {
	if s.want.Times != nil {
		tick = tick.In(s.want.Times.zone)
	}
	return tick.Format(time.RFC3339)
}

// mayStart reports whether the spec is valid, so that runs may be started. It reports when a spec becomes invalid or
// valid.
func (s *step) mayStart() bool {
	if s.want.Invalid == nil && s.want.Times != nil {
		if s.stored.Cause.Reason == lifecycle.ReasonInvalid {
			s.notice(ReasonValid, "", "the spec is valid again; runs start when they are due")
			s.m.Cause = lifecycle.Cause{}
		}
		return true
	}

	cause := lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "there is no schedule"}
	if s.want.Invalid != nil {
		cause = s.want.Invalid.Bounded()
	}

	if s.m.Cause = cause; cause != s.stored.Cause {
		s.notice(cause.Reason, "", "%s", cause.Message)
	}

	s.forgetRejections()
	return false
}

// start starts the run that is due, or stores why that run does not start.
func (s *step) start() {
	if s.confirmsEdit() {
		return
	}

	due := s.candidates()
	if s.confirms() {
		return
	}

	if len(due) == 0 {
		s.nothingDue()
		return
	}

	if s.seen.TransientError != nil {
		s.requeueAfter(repeatDelay)
		return
	}
	// If no tick is due any more, the problem of the last tick is over.
	if !slices.ContainsFunc(due, func(c candidate) bool { return !c.tick.IsZero() }) {
		s.forgetTickRejection()
		s.m.Cause = lifecycle.Cause{}
	}

	if due = slices.DeleteFunc(due, s.waitsForRetry); len(due) == 0 {
		return
	}

	c := due[0]
	switch {
	case s.seen.Rejection != nil && !s.seen.Confirmed:
		// An earlier pass may have created this run without storing that. The existing run may then use up the quota,
		// so that this second creation is rejected.
		s.do(lifecycle.Confirm, c.name)
		return
	case s.seen.Rejection != nil:
		s.rememberRejection(c, *s.seen.Rejection)
	case s.waitsForOthers(c), s.needsLiveRead(c):
		return
	default:
		s.create(c)
	}

	if len(due) > 1 {
		s.requeueAfter(0)
	}
}

// nothingDue handles a pass in which no run is due.
func (s *step) nothingDue() {
	s.forgetRejections()

	s.m.Cause = lifecycle.Cause{}
	if s.m.LastTick.Sub(s.now) > maxClockSkew && !s.want.Suspend {
		s.m.Cause = lifecycle.Cause{Reason: ReasonClock, Message: fmt.Sprintf(
			"the operator's clock shows %s, but the run of %s was already started or skipped, and no run starts before that time; "+
				"if the clock was wrong at that time and has been corrected, delete the schedule and create it again", s.now.Format(time.RFC3339), s.clock(s.m.LastTick))}
		s.noticeCause(ReasonClock, "")
	}
}

// needsLiveRead reports whether the cache may lack an active run that the concurrency policy must take into account. If
// so, it requests a live read.
//
// For the run of a tick, a live read of only the last started run is enough. The methods `tick` and `confirmsEdit`
// require their own live reads for the other cases: before ticks are skipped, and after edits. For a requested run, the
// live read covers all runs, because the cache may lack the requested run itself or the run of an earlier request.
func (s *step) needsLiveRead(c candidate) bool {
	if s.want.Policy == Allow || s.seen.Confirmed {
		return false
	}

	last := s.m.LastRunName
	switch {
	case c.tick.IsZero() || s.runRequested():
		last = ""
	case last == "" || slices.ContainsFunc(s.seen.Runs, func(run lifecycle.Run) bool { return run.Name == last }):
		return false
	}

	s.do(lifecycle.Confirm, last)
	return true
}

// confirmsEdit requests a live read after each edit, and reports whether it requested one. The edit takes effect only
// after the live read, because the cache may lack a run whose status write failed because of the edit. The tick of such
// a run cannot be computed after the edit, because the earlier spec is unknown.
func (s *step) confirmsEdit() bool {
	const asCreated = 1
	if s.stored.Generation == s.want.Generation || s.want.Generation == asCreated || s.want.Policy == Allow || s.seen.Confirmed {
		return false
	}

	if s.seen.TransientError != nil {
		s.m.Generation = s.stored.Generation
		return false
	}

	s.do(lifecycle.Confirm, "")
	return true
}

// runRequested reports whether the spec requests a run that is not stored as started.
func (s *step) runRequested() bool { return s.want.Request != "" && s.want.Request != s.m.LastRequest }

// noticeCause reports the cause in the memory, unless its reason is the same as that of the cause which was stored
// before this decision.
func (s *step) noticeCause(reason, run string) {
	if s.m.Cause.Reason != s.stored.Cause.Reason {
		s.notice(reason, run, "%s", s.m.Cause.Message)
	}
}

func (s *step) create(c candidate) {
	s.do(lifecycle.Create, c.name)

	if !c.tick.IsZero() {
		s.forgetTickRejection()
		s.m.LastTick = c.tick
		s.requeueForTick(c.tick)
	} else {
		s.m.LastRequest = s.want.Request
	}

	if s.m.Rejected == "" {
		s.m.Cause = lifecycle.Cause{}
	}

	s.started(c, s.now)
}

// rememberRejection stores in the memory that a run was rejected, and when to retry. The first retries come after some
// seconds, later ones after a minute. rememberRejection reports each reason once. If no retry succeeds before the next
// tick, the rejected run is then reported as missed.
func (s *step) rememberRejection(c candidate, why lifecycle.Cause) {
	why = why.Bounded()

	since, reported := s.m.RejectedSince, s.stored.Rejected != "" && s.stored.Cause.Reason == why.Reason
	if c.tick.IsZero() {
		since, reported = s.m.Requested.Since, s.m.Requested.Cause.Reason == why.Reason
	}

	if since.IsZero() {
		since = s.now
	}

	retry := s.now.Add(lifecycle.QueryInterval(s.now.Sub(since)).Truncate(time.Microsecond)) // the precision of a status
	if s.requeueAfter(retry.Sub(s.now)); c.tick.IsZero() {
		s.m.Requested = Waiting{Run: c.name, Since: since, Retry: retry, Cause: why}
	} else {
		s.m.Rejected, s.m.RejectedSince, s.m.Retry, s.m.Cause = c.name, since, retry, why
	}

	if !reported {
		s.notice(ReasonRefused, c.name, "could not be created and will be retried: %s: %s", why.Reason, why.Message)
	}
}

// policyWait returns a message that names the active runs for which the next run must wait. It returns "" for the
// policy Replace, because the next run then replaces the active runs.
func (s *step) policyWait(active []string) string {
	switch s.want.Policy {
	case Allow:
		return fmt.Sprintf("waits until fewer than %d runs of the schedule are active: %s", maxActive, list(active))
	case Forbid:
		return fmt.Sprintf("waits until no other run is active: %s", list(active))
	}
	return ""
}

// waitsForOthers applies the schedule's Policy to the active runs. It reports whether the next run must wait for them.
func (s *step) waitsForOthers(c candidate) bool {
	var active, stay, ahead []string
	for _, run := range s.seen.Runs {
		if run.Outcome == lifecycle.Undecided {
			name := run.Name
			if run.Deleted {
				name += " (deleted, its pods still stop)"
			}

			active = append(active, name)
			switch {
			case run.Deleting:
			case !s.remembered(run, s.m):
				ahead = append(ahead, run.Name)
			case !s.remembered(run, s.stored):
				s.requeueAfter(0) // this pass adopted the run; it is deleted once the adoption is stored
			default:
				stay = append(stay, run.Name)
			}
		}
	}

	if len(active) == 0 || s.want.Policy == Allow && len(active) < maxActive {
		return false
	}

	slices.Sort(active)
	s.requeueAfter(maxRequeue)

	if why := s.policyWait(active); why != "" {
		s.m.Cause = lifecycle.Cause{Reason: ReasonWaiting, Message: why}
		s.noticeCause(ReasonWaiting, c.name)
		return true
	}

	s.requeueAfter(repeatDelay)

	for _, name := range stay {
		if s.stored.Cause.Reason == ReasonReplacing {
			s.do(lifecycle.Delete, name)
			continue
		}
		// The reason must be stored before the run is deleted. If the status write conflicts with a change of the
		// schedule, the run must not be deleted.
		s.notice(ReasonReplaced, name, "is active and is deleted, because run %s is due", c.name)
		s.requeueAfter(0)
	}

	s.m.Cause = lifecycle.Cause{Reason: ReasonReplacing, Message: fmt.Sprintf("run %s waits until the runs that it replaces are gone: %s", c.name, list(active))}
	if len(ahead) > 0 {
		// Somebody created these runs by hand, or the clock was ahead. If such a run were deleted, its tick would
		// start it again.
		s.m.Cause.Message += fmt.Sprintf("; these active runs have the names of runs that are due later, so they are not deleted: %s", list(ahead))
		if s.stored.Cause.Reason != ReasonReplacing {
			s.notice(ReasonWaiting, c.name, "%s", s.m.Cause.Message)
		}
	}
	return true
}

// list returns a text with up to three of the names and the number of the other names.
func list(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
