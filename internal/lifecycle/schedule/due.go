package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// base returns the time of the last decided tick: the runs of all ticks up to this time were started or skipped. If
// there is none, it returns the time at which the schedule took effect.
func (s *step) base() time.Time {
	if s.m.LastTick.After(s.m.Since) {
		return s.m.LastTick
	}
	return s.m.Since
}

// candidates returns the runs that are due: the requested run, if there is one, and then the run of one tick. If the
// requested run was rejected before, the run of the tick is first in the list.
func (s *step) candidates() (due []candidate) {
	if s.runRequested() {
		due = append(due, candidate{name: RequestName(s.want.Name, s.want.UID, s.want.Request)})
	}

	if !s.want.Suspend {
		if tick := s.tick(); !tick.IsZero() {
			due = append(due, candidate{RunName(s.want.Name, tick, cmp.Or(s.want.Precision, Seconds)), tick})
		}
	}

	if len(due) == 2 && !s.m.Requested.Since.IsZero() {
		slices.Reverse(due)
	}
	return due
}

// waitsForRetry reports whether it is too early to retry a rejected run. If so, it requests a pass at the time of the
// retry. A rejected run delays no other run, because the reason of its rejection may not apply to other runs.
func (s *step) waitsForRetry(c candidate) bool {
	refused, retry := s.m.Rejected, s.m.Retry
	if c.tick.IsZero() {
		refused, retry = s.m.Requested.Run, s.m.Requested.Retry
	}

	left := retry.Sub(s.now)
	if c.name != refused || left <= 0 || left > maxRetry { // if the retry is further ahead, the clock was set back
		return false
	}

	s.requeueAfter(left)
	return true
}

// request stores the run that the spec requests, if it differs from the requested run in the memory. If the earlier
// requested run was still waiting, request reports that it was replaced or withdrawn.
//
// If the earlier requested run exists, request does not report it: the run was started, and only the status write
// failed.
func (s *step) request() {
	name := ""
	if s.runRequested() {
		name = RequestName(s.want.Name, s.want.UID, s.want.Request)
	}

	old := s.m.Requested.Run
	if old == name {
		return
	}

	s.m.Requested = Waiting{Run: name}
	if old == "" || slices.ContainsFunc(s.seen.Runs, func(run lifecycle.Run) bool { return run.Name == old }) {
		return
	}

	if name == "" {
		s.notice(ReasonDropped, old, "was requested and does not start: the request was withdrawn")
		return
	}

	s.notice(ReasonDropped, old, "was requested and does not start: another request replaced it")
}

// tick returns the latest tick that is due, or the zero time if no tick is due. It skips all earlier ticks, and also
// the latest tick if its deadline has passed.
//
// A live read is required before ticks are skipped, because the run of a skipped tick may exist: its creation may not
// be stored in the memory, and the cache may lack it. The live read lists the runs with the schedule's label in the
// namespace. One list is enough for a schedule that missed several ticks. Without a list, the operator cannot determine
// how far the cache is behind.
func (s *step) tick() time.Time {
	tick := s.want.Times.Latest(s.m.Since, s.base(), s.now)
	if !tick.IsZero() && s.startOf(tick).After(s.now) {
		tick = s.want.Times.Latest(s.m.Since, s.base(), tick.Add(-1)) // the latest tick still waits for its jitter
	}

	if tick.IsZero() {
		s.requeueForTick(s.base())
		return tick
	}

	s.requeueForTick(tick)
	start := s.startOf(tick)
	late := s.now.Sub(start)

	expired := s.want.Deadline != nil && late.Truncate(time.Second) > *s.want.Deadline
	if missed := s.want.Times.Next(s.m.Since, s.base()).Before(tick); missed || expired {
		if s.seen.TransientError != nil {
			if !expired {
				s.plan.NextRun = start
			}
			return tick // the caller starts no run during transient errors
		}

		if !s.seen.Confirmed {
			s.do(lifecycle.Confirm, "")
			return time.Time{}
		}
	}

	s.skipTicksBefore(tick)

	if expired {
		s.m.LastTick = tick
		s.notice(ReasonSkipped, "", "the run of %s is not started: it is %s late, which is more than its deadline allows%s", s.clock(tick), late.Truncate(time.Second), s.missedReason())
		return time.Time{}
	}

	s.plan.NextRun = start
	if s.want.Deadline != nil {
		if left := *s.want.Deadline - late; left < maxRequeue { // a deadline may be the largest duration
			s.requeueAfter(left + time.Second)
		}
	}
	return tick
}

// skipTicksBefore stores in the memory that the ticks before the given one will not be started, and reports these
// ticks.
func (s *step) skipTicksBefore(tick time.Time) {
	first := s.want.Times.Next(s.m.Since, s.base())

	last := s.want.Times.Latest(s.m.Since, s.base(), tick.Add(-1))
	if first.IsZero() || last.IsZero() {
		return
	}

	if s.m.LastTick = last; first.Equal(last) {
		s.notice(ReasonMissed, "", "the run of %s is not started: the run of %s takes its place%s", s.clock(first), s.clock(tick), s.missedReason())
		return
	}

	s.notice(ReasonMissed, "", "the runs from %s to %s are not started: the run of %s takes their place%s", s.clock(first), s.clock(last), s.clock(tick), s.missedReason())
}

// missedReason returns why runs were not started, as text that can follow a message: a semicolon, and then either the
// suspension or the cause in the stored memory. It returns "" if the schedule was not suspended and the stored memory
// contains no cause.
func (s *step) missedReason() string {
	switch {
	case s.stored.Suspended:
		return "; the schedule was suspended"
	case s.stored.Cause.Message != "":
		return "; " + s.stored.Cause.Message
	case s.stored.Cause.Reason != "":
		return "; " + s.stored.Cause.Reason
	}
	return ""
}

// requeueForTick requests a pass for the time at which the first tick after the given time is due, and sets the plan's
// NextRun.
func (s *step) requeueForTick(after time.Time) {
	next := s.want.Times.Next(s.m.Since, after)
	s.requeueAfter(maxRequeue)

	if next.IsZero() {
		s.plan.NextRun = time.Time{}
		return
	}

	s.plan.NextRun = s.startOf(next)
	s.requeueAfter(s.plan.NextRun.Sub(s.now))
}

// startOf returns when the run of a tick should start: the tick plus its jitter. The jitter is shorter than the time
// until the next tick. It is computed from the schedule's UID. If the intervals between ticks are equal, all runs have
// the same jitter.
func (s *step) startOf(tick time.Time) time.Time {
	room := s.want.Jitter
	if room < time.Second {
		return tick
	}

	if next := s.want.Times.Next(s.m.Since, tick); !next.IsZero() {
		room = min(room, next.Sub(tick)-time.Second)
	}

	digest := sha256.Sum256([]byte(s.want.UID))
	return tick.Add(time.Duration(binary.BigEndian.Uint64(digest[:8])%uint64(room/time.Second+1)) * time.Second)
}

// maxListed is the maximum number of run names in the memory for each outcome.
const maxListed = 1000

// history updates the lists of ended runs in the memory, and deletes the runs beyond the limits of the spec.
func (s *step) history() {
	s.m.Succeeded = s.ended(lifecycle.Succeeded, s.want.Successful, s.stored.Succeeded)
	s.m.Failed = s.ended(lifecycle.Failed, s.want.Failed, s.stored.Failed)
}

// ended returns the names of the ended runs with the given outcome, newest first, and deletes the runs beyond the
// limit. The last argument contains the names that are already stored. A run is deleted only after its name and its
// tick are stored. Otherwise its end would never be reported, and its tick would start another run.
func (s *step) ended(outcome lifecycle.Outcome, limit int, known []string) (kept []string) {
	var runs []lifecycle.Run
	for _, run := range s.seen.Runs {
		if run.Outcome == outcome && !run.Deleting {
			runs = append(runs, run)
		}
	}

	places := make(map[string]int, len(known))
	for i := range slices.Backward(known) {
		places[known[i]] = i
	}

	slices.SortFunc(runs, func(a, b lifecycle.Run) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(s.age(a.Name, places), s.age(b.Name, places)), cmp.Compare(b.Name, a.Name))
	})

	for i, run := range runs {
		_, listed := places[run.Name]

		reported := i >= maxListed || listed
		switch {
		case !reported:
			s.noticeEnd(run)

			if i >= limit {
				s.requeueAfter(0) // the next pass deletes it, after its name is stored
			}
		case i < limit:
		case s.seen.TransientError != nil:
			s.requeueAfter(repeatDelay)
		case !s.remembered(run, s.stored):
			if s.requeueAfter(maxRequeue); s.remembered(run, s.m) {
				s.requeueAfter(0)
			}
		default:
			s.do(lifecycle.Delete, run.Name) // its name stays listed while it exists, so its end is reported once
		}

		if i < maxListed {
			kept = append(kept, run.Name)
		}
	}
	return kept
}

// age returns a number by which runs that were created in the same second are sorted. Their creation times do not
// distinguish them. A newer run has a lower number. The last started run is the newest. The runs whose end is not
// stored yet come next, and then the stored runs in the order of the stored list.
func (s *step) age(name string, places map[string]int) int {
	if name == s.m.LastRunName {
		return -2
	}

	if place, known := places[name]; known {
		return place
	}
	return -1
}

// remembered reports whether a run can be deleted without being started again afterwards. This is the case if the given
// memory shows two things: the run's tick is not later than the last tick, and the run does not belong to a request
// that has yet to be started.
func (s *step) remembered(run lifecycle.Run, m Memory) bool {
	return !TickOf(s.want.Name, run.Name).After(m.LastTick) &&
		(s.want.Request == m.LastRequest || run.Name != RequestName(s.want.Name, s.want.UID, s.want.Request))
}

func (s *step) noticeEnd(run lifecycle.Run) {
	if run.Outcome == lifecycle.Succeeded {
		s.notice(ReasonCompleted, run.Name, "completed")
		return
	}

	s.notice(ReasonFailed, run.Name, "failed; its own conditions and events show the cause")
}
