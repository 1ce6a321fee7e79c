package schedule

import "time"

// Ticks around a change of the clock. A pattern names times as a clock on the wall shows them, and twice a year, where the zone does so, some
// are skipped and some come twice:
//
//   - a time that is skipped comes due once, as soon as the clock has been put forward; several that are skipped together come due together, once;
//   - a time that comes twice comes due the first time only.
//
// A pattern of every hour is a rhythm rather than times of the day: with */5 in the minutes nothing is meant but every five minutes, and an hour
// without a run, where the clock is put back, would be a hole in it. It goes on through the hour that comes twice, and an hour that is skipped
// takes nothing from it. Where the clock is put forward by another amount than whole hours (half an hour, on Lord Howe Island) what is skipped is
// made up for like any other.

// horizon is how far ahead a tick is looked for. The rarest pattern, a 29th of February on some days of the week, comes every 40 years at least.
const (
	horizon = 50
	day     = 24 * time.Hour
)

// Next returns the first tick after a moment; the zero time where there is none in the next 50 years. Since is when the schedule began to hold:
// the ticks of an interval are whole intervals after it. Ticks are in UTC, and whole seconds.
func (t *Times) Next(since, after time.Time) time.Time {
	if t.every > 0 {
		since = since.Truncate(time.Second)
		if after.Before(since) {
			after = since
		}
		return since.Add((after.Sub(since)/t.every + 1) * t.every).UTC()
	}
	limit := after.AddDate(horizon, 0, 0)
	for at := after; at.Before(limit); {
		stretch := t.stretchAt(at)
		if tick := stretch.next(t, after, limit); !tick.IsZero() {
			return tick
		}
		if stretch.end.IsZero() {
			break
		}
		at = stretch.end
	}
	return time.Time{}
}

// Latest returns the last tick after a moment and not after another; the zero time where there is none.
func (t *Times) Latest(since, after, until time.Time) time.Time {
	due := func(from time.Time) bool {
		next := t.Next(since, from)
		return !next.IsZero() && !next.After(until)
	}
	if !after.Before(until) || !due(after) {
		return time.Time{}
	}
	// A tick is after low, and none is after high: years of a tick a minute are no more work than a day.
	low, high := after, until
	for high.Sub(low) > time.Second {
		if middle := low.Add(high.Sub(low) / 2); due(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	tick := t.Next(since, low)
	if next := t.Next(since, tick); !next.IsZero() && !next.After(until) {
		return next // both within the last second
	}
	return tick
}

// stretch is a time between two changes of a zone's clock: a moment is what the wall shows, less offset.
type stretch struct {
	begin, end time.Time // zero where there is no change
	offset     time.Duration
	// shift is by how much the clock was put forward at the beginning; back, where it is negative.
	shift time.Duration
}

func (t *Times) stretchAt(at time.Time) stretch {
	local := at.In(t.zone)
	var s stretch
	s.begin, s.end = local.ZoneBounds()
	// On the last day of leap years beyond its table ZoneBounds ends a zone's time at once, where it goes on (2040-12-31 in Europe/Vienna).
	for !s.end.IsZero() && !s.end.After(at) {
		local = local.Add(day)
		_, s.end = local.ZoneBounds()
	}
	local = at.In(t.zone)
	s.offset = offsetOf(local)
	if !s.begin.IsZero() {
		s.shift = s.offset - offsetOf(s.begin.Add(-1))
	}
	return s
}

func offsetOf(local time.Time) time.Duration {
	_, seconds := local.Zone()
	return time.Duration(seconds) * time.Second
}

// next is the stretch's first tick after a moment; the zero time where it has none before the limit.
func (s stretch) next(t *Times, after, limit time.Time) time.Time {
	// wall is a time of the wall, as if it were UTC's.
	wall := func(at time.Time) time.Time { return at.UTC().Add(s.offset) }
	from := wall(after).Add(1)
	if !s.begin.IsZero() {
		begin := wall(s.begin)
		switch {
		case s.shift > 0 && s.begin.After(after) && t.makesUp(s.shift):
			if skipped := t.match(begin.Add(-s.shift), begin); !skipped.IsZero() {
				return s.begin.UTC()
			}
		case s.shift < 0 && !t.hourly():
			begin = begin.Add(-s.shift) // until then everything comes for the second time
		}
		if begin.After(from) {
			from = begin
		}
	}
	to := wall(limit)
	if !s.end.IsZero() && s.end.Before(limit) {
		to = wall(s.end)
	}
	tick := t.match(from, to)
	if tick.IsZero() {
		return tick
	}
	return tick.Add(-s.offset)
}

// hourly reports whether a pattern has every hour.
func (t *Times) hourly() bool { return t.hour == 1<<24-1 }

// makesUp reports whether times that are skipped are to be made up for.
func (t *Times) makesUp(shift time.Duration) bool { return !t.hourly() || shift%time.Hour != 0 }

// match returns the first full minute of the pattern from one time of the wall on, and before another; the zero time where there is none.
func (t *Times) match(from, to time.Time) time.Time {
	at := from.Truncate(time.Minute)
	if at.Before(from) {
		at = at.Add(time.Minute)
	}
	for at.Before(to) {
		year, month, day := at.Date()
		switch {
		case t.month&(1<<month) == 0:
			at = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
		case !t.allowsDay(day, at.Weekday()):
			at = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
		case t.hour&(1<<at.Hour()) == 0:
			at = at.Truncate(time.Hour).Add(time.Hour)
		case t.minute&(1<<at.Minute()) == 0:
			at = at.Add(time.Minute)
		default:
			return at
		}
	}
	return time.Time{}
}

// allowsDay reports whether a pattern has a day. Where neither field is a star one of them is enough.
func (t *Times) allowsDay(day int, weekday time.Weekday) bool {
	inMonth, inWeek := t.day&(1<<day) != 0, t.weekday&(1<<weekday) != 0
	if t.anyDay || t.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// Anchor is a moment from which on the first tick is a given one, as far as the schedule has it: what another operator said comes next.
func (t *Times) Anchor(first time.Time) time.Time {
	if t.every > 0 {
		return first.Add(-t.every)
	}
	return first.Add(-time.Second)
}
