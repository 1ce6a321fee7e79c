package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// base is the last moment whose tick is over and done with.
func (s *step) base() time.Time {
	if s.m.LastTick.After(s.m.Since) {
		return s.m.LastTick
	}
	return s.m.Since
}

// candidates are the runs that are due: one that was asked for, and one of the ticks. Where one of them was refused the other is tried first.
func (s *step) candidates() (due []candidate) {
	if s.asked() {
		due = append(due, candidate{name: RequestName(s.want.Name, s.want.UID, s.want.Request)})
	}
	if !s.want.Suspend {
		if tick := s.tick(); !tick.IsZero() {
			due = append(due, candidate{RunName(s.want.Name, tick, cmp.Or(s.want.Precision, Seconds)), tick})
		}
	}
	if len(due) == 2 && !s.m.Asked.Since.IsZero() {
		slices.Reverse(due)
	}
	return due
}

// early reports whether it is too early for another try of a run that was refused, and asks for a look when it is not. One that was refused holds up
// itself alone: what is wrong with it need not be wrong with others.
func (s *step) early(c candidate) bool {
	refused, retry := s.m.Refused, s.m.Retry
	if c.tick.IsZero() {
		refused, retry = s.m.Asked.Run, s.m.Asked.Retry
	}
	left := retry.Sub(s.now)
	if c.name != refused || left <= 0 || left > maxRetry { // further ahead it is a clock that went back
		return false
	}
	s.check(left)
	return true
}

// request takes notice of what is asked for, and tells where what waits is not asked for any more. A run of it that is there was started, and not
// written down.
func (s *step) request() {
	name := ""
	if s.asked() {
		name = RequestName(s.want.Name, s.want.UID, s.want.Request)
	}
	old := s.m.Asked.Run
	if old == name {
		return
	}
	s.m.Asked = Waiting{Run: name}
	if old == "" || slices.ContainsFunc(s.seen.Runs, func(run lifecycle.Run) bool { return run.Name == old }) {
		return
	}
	if name == "" {
		s.tell(ReasonDropped, old, "was asked for and is not started: the request was taken back")
		return
	}
	s.tell(ReasonDropped, old, "was asked for and is not started: another request took its place")
}

// tick is the latest tick that is due; the zero time where none is. Those before it are given up, and so is one whose deadline has passed: after a live
// read, since a run that was not written down may not be seen yet. That is a list of the namespace's runs with the schedule's label, once for each schedule that
// missed more than one tick, and not once a tick; nothing that is seen tells how late the cache is, so that no list can be spared.
func (s *step) tick() time.Time {
	tick := s.want.Times.Latest(s.m.Since, s.base(), s.now)
	if !tick.IsZero() && s.startOf(tick).After(s.now) {
		tick = s.want.Times.Latest(s.m.Since, s.base(), tick.Add(-1)) // the last one has its jitter before it
	}
	if tick.IsZero() {
		s.wake(s.base())
		return tick
	}
	s.wake(tick)
	start := s.startOf(tick)
	late := s.now.Sub(start)
	expired := s.want.Deadline != nil && late.Truncate(time.Second) > *s.want.Deadline
	if missed := s.want.Times.Next(s.m.Since, s.base()).Before(tick); missed || expired {
		if s.seen.Weather != nil {
			if !expired {
				s.plan.NextRun = start
			}
			return tick // which nothing is done about
		}
		if !s.seen.Confirmed {
			s.do(lifecycle.Confirm, "")
			return time.Time{}
		}
	}
	s.giveUp(tick)
	if expired {
		s.m.LastTick = tick
		s.tell(ReasonSkipped, "", "the run of %s is not started: it is %s late, more than its deadline allows%s", s.clock(tick), late.Truncate(time.Second), s.why())
		return time.Time{}
	}
	s.plan.NextRun = start
	if s.want.Deadline != nil {
		if left := *s.want.Deadline - late; left < lookAgain { // a deadline may be as long as a number can be
			s.check(left + time.Second)
		}
	}
	return tick
}

// giveUp remembers that the ticks before one are never started, and tells.
func (s *step) giveUp(tick time.Time) {
	first := s.want.Times.Next(s.m.Since, s.base())
	last := s.want.Times.Latest(s.m.Since, s.base(), tick.Add(-1))
	if first.IsZero() || last.IsZero() {
		return
	}
	if s.m.LastTick = last; first.Equal(last) {
		s.tell(ReasonMissed, "", "the run of %s is not started: that of %s takes its place%s", s.clock(first), s.clock(tick), s.why())
		return
	}
	s.tell(ReasonMissed, "", "the runs from %s to %s are not started: that of %s takes their place%s", s.clock(first), s.clock(last), s.clock(tick), s.why())
}

// why says what kept runs from being started, as far as the last decision knew.
func (s *step) why() string {
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

// wake asks for a look when the first tick after another is due, and says so.
func (s *step) wake(after time.Time) {
	next := s.want.Times.Next(s.m.Since, after)
	s.check(lookAgain)
	if next.IsZero() {
		s.plan.NextRun = time.Time{}
		return
	}
	s.plan.NextRun = s.startOf(next)
	s.check(s.plan.NextRun.Sub(s.now))
}

// startOf is when the run of a tick is to start: by its jitter after it, which is less than what is left until the next. It follows from the UID, so
// that it is always the same where the ticks are regular.
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

// maxListed bounds the runs of a kind whose names are remembered.
const maxListed = 1000

// history notes which runs have ended, and deletes those that are not kept.
func (s *step) history() {
	s.m.Succeeded = s.ended(lifecycle.Succeeded, s.want.Successful, s.stored.Succeeded)
	s.m.Failed = s.ended(lifecycle.Failed, s.want.Failed, s.stored.Failed)
}

// ended lists the runs of an outcome, newest first, without those beyond the limit. These are remembered before they are deleted: else nobody would
// be told of their end, and the tick of one that is not remembered would start another run.
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
		told := i >= maxListed || listed
		switch {
		case !told:
			s.tellEnd(run)
			if i >= limit {
				s.check(0) // when that is remembered
			}
		case i < limit:
		case s.seen.Weather != nil:
			s.check(reassert)
		case !s.remembered(run, s.stored):
			if s.check(lookAgain); s.remembered(run, s.m) {
				s.check(0)
			}
		default:
			s.do(lifecycle.Delete, run.Name) // it is listed until it is gone, so that its end is not told again
		}
		if i < maxListed {
			kept = append(kept, run.Name)
		}
	}
	return kept
}

// age orders runs that were created in the same second, which is all that their creation tells: the one that was started last, what has ended since the last look,
// and then what was known, newest first.
func (s *step) age(name string, places map[string]int) int {
	if name == s.m.LastRunName {
		return -2
	}
	if place, known := places[name]; known {
		return place
	}
	return -1
}

// remembered reports whether a run's tick, or request, would by a memory not start another run if this one were gone.
func (s *step) remembered(run lifecycle.Run, m Memory) bool {
	return !TickOf(s.want.Name, run.Name).After(m.LastTick) &&
		(s.want.Request == m.LastRequest || run.Name != RequestName(s.want.Name, s.want.UID, s.want.Request))
}

func (s *step) tellEnd(run lifecycle.Run) {
	if run.Outcome == lifecycle.Succeeded {
		s.tell(ReasonCompleted, run.Name, "completed")
		return
	}
	s.tell(ReasonFailed, run.Name, "failed; its own conditions and events say why")
}
