// Package application is the state machine of a Spark application: Step, a pure function from what is wanted, remembered and seen to a plan.
//
// An application lives in attempts. An attempt has a number that is never used again, and everything it creates carries the number. Three
// rules keep drivers from being doubled or lost:
//
//   - a launch creates by the number that the remembered one is followed by, so a launch that was not remembered finds its own objects;
//   - no attempt is launched before everything of the ones before is gone, by a live read for the driver;
//   - a driver that is not seen is believed to be gone only after a live read, and one on a lost node not at all.
//
// A launch makes the driver pod, or a submitter: a pod that makes the driver pod by spark-submit. A submitter can make one driver only, of a
// name fixed before, so it is waited for like a driver: nothing of the next attempt is made while one may still act.
//
// Transitions lists every edge, Waits what each phase waits for.
package application

import (
	"cmp"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// reassert is after how long a deletion that shows no effect is asked for again.
	reassert = 15 * time.Second
	// recheck is after how long a live read is made again where the last brought nothing new.
	recheck = 5 * time.Second
	// doubt is for how long a lost node may still prove to be there. The node controller also takes the readiness of pods away whose node is only
	// not ready, and the kubelet of such a node gives it back with its next look, every 10 s (syncBatch of its status manager). A state that
	// came and went with that would be taken for a failure by readers that know no better.
	doubt = 15 * time.Second
	// young is an executor of a running application that may wait without a word.
	young = 5 * time.Second
	// maxUnremembered is how far ahead of the remembered attempt a pod's label is believed. No more than one launch is ever not remembered;
	// some more leave room for a status that somebody put back. Beyond it a label is no launch of ours: whoever may create pods can write one.
	maxUnremembered = 10
	// maxMoves bounds the phases entered in one pass: the longest way, from a finished run over an edit into the next, has fewer.
	maxMoves = 16
)

// Step decides what follows. It reads nothing but its arguments and is deterministic. The plan's Next is mem, moved on; its Do is to be
// carried out before Next is stored. A plan that enters a phase ends nothing that lives (Unstored): that is for the pass after the phase
// was stored. With mem = plan.Next and nothing else changed, a second Step enters no phase and asks for nothing but live reads and
// deletions.
func Step(app lifecycle.App, mem lifecycle.Memory, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	s := &step{app: app, seen: seen, now: now, m: mem, stored: mem}
	s.run()
	s.guard()
	s.storeFirst()
	if rank[s.m.Phase] < rank[lifecycle.Ready] {
		s.m.ShortSince = time.Time{} // no executors are awaited
	}
	s.plan.Next = s.m
	return s.plan
}

// step is one decision in the making.
type step struct {
	app  lifecycle.App
	seen lifecycle.Observed
	now  time.Time
	m    lifecycle.Memory
	plan lifecycle.Plan
	// stored is what was remembered when the pass began.
	stored lifecycle.Memory
	// tried is set when this pass has decided on a launch: there is one a pass, whatever the interval.
	tried bool
}

func (s *step) run() {
	if s.app.Deleting && s.app.Orphan {
		return // what is left is nobody's any more
	}
	if s.app.Deleting {
		s.deleteAll(s.seenAttempts(maxAttempt))
		return
	}
	s.adopt()
	s.noticeEdit()
	for range maxMoves {
		if !s.move() {
			return
		}
	}
	s.check(recheck) // not reached: a test walks the machine at random
}

// move lets the current phase decide. It reports whether another phase was entered, which then decides in turn.
func (s *step) move() bool {
	switch s.m.Phase {
	case lifecycle.New:
		return s.fresh()
	case lifecycle.Waiting:
		return s.waiting()
	case lifecycle.Ended:
		return s.ended()
	case lifecycle.Retained, lifecycle.Done:
		return s.over()
	case lifecycle.Suspending:
		return s.suspending()
	case lifecycle.Suspended:
		return s.suspended()
	case lifecycle.Resuming:
		return s.resuming()
	case lifecycle.Editing:
		return s.editing()
	}
	return s.live()
}

// to enters a phase. Cause is why, or what the phase waits for.
func (s *step) to(phase lifecycle.Phase, cause lifecycle.Cause) bool {
	cause = cause.Bounded()
	s.settle()
	s.plan.Trail = append(s.plan.Trail, lifecycle.Transition{
		From: s.m.Phase, To: phase, Attempt: s.m.Attempt, Outcome: s.m.Outcome, Cause: cause, At: s.now,
	})
	s.m.Phase, s.m.Since, s.m.Cause, s.m.Before = phase, s.now, cause, lifecycle.New
	return true
}

// settle forgets what failed before a run that went well for long enough, when that leaves Running: the next interval is the first again.
func (s *step) settle() {
	if long := s.app.Restart.Settled; s.m.Phase == lifecycle.Running && s.m.Runs > 0 && long > 0 && s.now.Sub(s.m.Since) >= long {
		s.m.Runs, s.m.Submissions, s.m.Spared = 1, 1, 0
	}
}

func (s *step) do(verb lifecycle.Verb, part lifecycle.Part, attempt int32) {
	s.plan.Do = append(s.plan.Do, lifecycle.Action{Verb: verb, Part: part, Attempt: attempt})
}

// check asks for another look after d at the latest.
func (s *step) check(d time.Duration) {
	d = max(d, time.Millisecond)
	if s.plan.Check == 0 || d < s.plan.Check {
		s.plan.Check = d
	}
}

// waitFor remembers what the current phase waits for, and tells it when that is news. The message alone is no news: Kubernetes words
// the same trouble in many ways.
func (s *step) waitFor(part lifecycle.Part, name string, cause lifecycle.Cause) {
	if cause = cause.Bounded(); cause.Reason == "" && s.seen.Unasked {
		return
	}
	if cause.Reason != "" && cause.Reason != s.m.Cause.Reason {
		s.plan.Tell = append(s.plan.Tell, lifecycle.Notice{
			Part: part, Name: name, Waits: part == lifecycle.Executors || s.m.Phase == lifecycle.Launched, Attempt: s.m.Attempt, Cause: cause,
		})
	}
	s.m.Cause = cause
}

// fresh launches a new application, or holds it when it was created suspended.
func (s *step) fresh() bool {
	if s.app.Suspend {
		return s.to(lifecycle.Suspended, s.suspendedCause())
	}
	return s.launch()
}

// launch creates the next attempt, unless the spec is invalid or the creation was just refused: then the attempt has ended. A refusal is
// believed after a live read only: a launch that was not remembered is refused the second time by the very quota that it took. A submitter is
// launched after one too: a driver that was not remembered has another name than the submitter, and would not stop it. So may it have where the spec was
// edited before the first launch; before any other, nothing of the ones before is left by a live read (cleared).
func (s *step) launch() bool {
	switch {
	case s.tried:
		s.check(recheck)
		return false
	case s.m.Attempt == maxAttempt:
		return s.end(lifecycle.Refused, lifecycle.Cause{Reason: lifecycle.ReasonNoAttempts,
			Message: "the number of the last attempt cannot be followed by another; delete the custom resource and create it again"}, s.now)
	case s.app.Invalid == nil && s.seen.Refusal == nil && s.seen.Weather != nil:
		if s.seen.Refusal = s.launchTimedOut(); s.seen.Refusal != nil {
			return s.launch()
		}
		s.check(reassert)
		return false
	case s.app.Invalid == nil && (s.seen.Refusal != nil || s.app.Submitter != nil || s.app.Edited && s.m.Attempt == 0) && !s.seen.Confirmed:
		s.confirm(lifecycle.DriverPod, s.m.Attempt+1)
		return false
	}
	s.tried = true
	s.m.Attempt++
	s.m.Submissions++
	s.m.AttemptID = lifecycle.AttemptID(s.app.UID, s.m.Attempt)
	s.m.SpecHash = s.app.SpecHash
	s.m.SubmittedAt, s.m.UngatedAt, s.m.EndedAt, s.m.NextAttempt = s.now, time.Time{}, time.Time{}, time.Time{}
	s.m.Outcome = lifecycle.Undecided
	if s.app.Invalid != nil {
		return s.end(lifecycle.Refused, *s.app.Invalid, s.now)
	}
	if s.seen.Refusal != nil {
		s.do(lifecycle.Delete, lifecycle.Attempt, s.m.Attempt) // what was created before the refusal
		return s.end(lifecycle.Refused, *s.seen.Refusal, s.now)
	}
	s.m.Runs++
	s.to(lifecycle.Launched, s.submission())
	s.do(lifecycle.Create, lifecycle.Submission, s.m.Attempt)
	s.check(s.app.MissingGrace)
	s.deadlines(nil)
	return false
}

// launchTimedOut is the refusal that a launch comes to which the weather has held back for longer than a driver may take to start; nil before. No attempt ran:
// it is the submission that failed.
func (s *step) launchTimedOut() *lifecycle.Cause {
	if s.seen.Weather == nil {
		return nil
	}
	if outcome, cause, over := s.expired(bound(s.seen.Weather.Since, s.app.Limits.DriverStart, lifecycle.Refused, lifecycle.ReasonStartTimedOut,
		"the driver could not be made")); over && outcome == lifecycle.Refused {
		return &cause
	}
	return nil
}

// barred reports whether an action would come to nothing in this pass: one was refused for good, and the same would be refused the same way, or
// the weather is bad.
func (s *step) barred() bool { return s.seen.Refusal != nil || s.seen.Weather != nil }

// confirm asks for a live read, which is all that the decision waits for. In bad weather it waits for that, but for a launch whose time is over.
func (s *step) confirm(part lifecycle.Part, attempt int32) {
	launches := !s.m.Phase.Live() && !s.m.Phase.Terminal()
	if s.seen.Weather == nil || launches && s.launchTimedOut() != nil {
		s.do(lifecycle.Confirm, part, attempt)
	}
	s.check(recheck)
}

// submission is what a launch waits for that is not the operator's own: nothing, where it made the driver pod.
func (s *step) submission() lifecycle.Cause {
	if s.app.Submitter == nil {
		return lifecycle.Cause{}
	}
	return *s.app.Submitter
}

// adopt takes up a launch that is not remembered: a pod of a newer attempt than the last one is there, because the operator died between
// the launch and its status write. It is that attempt from now on, whatever was remembered. Executors alone tell of a driver that came
// and went; its number is used up all the same.
func (s *step) adopt() {
	newest := s.m.Attempt
	take := func(attempt int32) {
		if int64(attempt)-int64(s.m.Attempt) <= maxUnremembered {
			newest = max(newest, attempt)
		}
	}
	for i := range s.seen.Drivers {
		take(s.seen.Drivers[i].Attempt)
	}
	for i := range s.seen.Submitters {
		take(s.seen.Submitters[i].Attempt)
	}
	for i := range s.seen.Executors {
		take(s.seen.Executors[i].Attempt)
	}
	d, r := s.seen.Driver(newest), s.seen.Submitter(newest)
	if newest > s.m.Attempt {
		s.countUnremembered()
		s.m.Attempt = newest
		s.m.AttemptID = lifecycle.AttemptID(s.app.UID, newest)
		s.m.SpecHash = s.app.SpecHash
		s.m.Runs++
		s.m.Submissions++
		s.m.SubmittedAt, s.m.UngatedAt, s.m.EndedAt, s.m.NextAttempt = s.now, time.Time{}, time.Time{}, time.Time{}
		cause := lifecycle.Cause{}
		switch {
		case d != nil:
			s.m.SubmittedAt = s.earlier(d.CreatedAt)
			s.m.AttemptID = cmp.Or(d.AttemptID, s.m.AttemptID)
		case r != nil:
			s.m.SubmittedAt = s.earlier(r.CreatedAt)
			cause = s.submission()
		}
		s.m.Outcome = lifecycle.Undecided
		s.to(lifecycle.Launched, cause)
	}
	if !s.m.Phase.Live() {
		return
	}
	// The pod knows best what it was launched from: the spec may have been edited between a launch and the look at it.
	switch {
	case d != nil && d.SpecHash != "":
		s.m.SpecHash = d.SpecHash
	case d == nil && r != nil && r.SpecHash != "":
		s.m.SpecHash = r.SpecHash
	}
}

// earlier returns t, or now when t is not known or lies ahead: other machines' clocks are not ours.
func (s *step) earlier(t time.Time) time.Time {
	if t.IsZero() || t.After(s.now) {
		return s.now
	}
	return t
}

// noticeEdit replaces the run when the spec is another than the one it was launched from. A hash that cannot be compared is adopted.
//
// What is edited while it is suspended, or together with a suspension or its end, is not a new application: a queue that preempts and admits writes
// node selectors and tolerations with every suspend. There is no run to replace then, and the counts go on. They start anew with an edit of what
// is over, or goes on.
//
// A server that goes on is not replaced by one that cannot be made (keepsServing).
func (s *step) noticeEdit() {
	switch {
	case s.m.Phase == lifecycle.New || s.m.Phase == lifecycle.Editing || s.m.Attempt == 0:
		return
	case s.keepsServing():
		return
	case !lifecycle.Edited(s.m.SpecHash, s.app.SpecHash):
		s.m.SpecHash = s.app.SpecHash
		return
	}
	s.m.SpecHash = s.app.SpecHash
	switch s.m.Phase {
	case lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming:
		return
	}
	if !s.app.Suspend || s.m.Phase.Terminal() {
		s.m.Runs, s.m.Submissions, s.m.Spared, s.m.Restarts = 0, 0, 0, lifecycle.Restarts{}
	}
	if s.app.Suspend {
		s.suspend()
		return
	}
	s.m.Outcome, s.m.EndedAt, s.m.NextAttempt = lifecycle.Undecided, time.Time{}, time.Time{}
	s.to(lifecycle.Editing, lifecycle.Cause{Reason: lifecycle.ReasonEdited, Message: "the spec was edited; the " + s.noun("run") + " of the old one is replaced"})
}
