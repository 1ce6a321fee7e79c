package schedule

import "time"

// This file searches ticks, also around a change of the clock. A pattern names local times. In time zones with daylight
// saving time, some local times are skipped and some occur twice each year:
//
//   - a skipped time is due once, as soon as the clock has gone forward; several times that are skipped together are
//     due once, together;
//   - a time that occurs twice is due only the first time.
//
// A pattern that allows every hour describes a rhythm rather than a list of times: */5 in the minutes means every five
// minutes, so an hour without a run after the clock went back would be a gap. Such a pattern also has its ticks in the
// repeated hour, and does not make up for ticks in a skipped hour. If the clock goes forward by a part of an hour (half
// an hour, on Lord Howe Island), such a pattern makes up for skipped times like other patterns.

// horizon is the maximum number of years for which a tick is searched. The rarest pattern, the 29th of February on
// certain days of the week, occurs at least every 40 years.
const (
	horizon = 50
	day     = 24 * time.Hour
)

// Next returns the first tick after the given time, or the zero time if there is no tick in the next 50 years. The
// parameter `since` is the time at which the schedule took effect; the first tick of an interval is one interval later.
// Ticks are in UTC and in whole seconds.
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

// Latest returns the last tick of a period, or the zero time if the period contains no tick. The period begins just
// after the time `after` and includes the time `until`. The parameter `since` is the time at which the schedule took
// effect.
func (t *Times) Latest(since, after, until time.Time) time.Time {
	due := func(from time.Time) bool {
		next := t.Next(since, from)
		return !next.IsZero() && !next.After(until)
	}
	if !after.Before(until) || !due(after) {
		return time.Time{}
	}
	// There is a tick after low, and none after high. With this search, years of minutely ticks take no longer than a
	// day.
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

// stretch is the period between two changes of a time zone's clock. During this period, UTC is the local time minus
// offset.
type stretch struct {
	begin, end time.Time // zero if there is no change
	offset     time.Duration
	// shift is the time by which the clock went forward at the beginning of the stretch; negative if the clock went
	// back.
	shift time.Duration
}

func (t *Times) stretchAt(at time.Time) stretch {
	local := at.In(t.zone)
	var s stretch
	s.begin, s.end = local.ZoneBounds()
	// On the last day of leap years that are not in its table, ZoneBounds returns an end that is too early (2040-12-31
	// in Europe/Vienna).
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

// next returns the first tick of the stretch after the given time, or the zero time if there is none before the limit.
func (s stretch) next(t *Times, after, limit time.Time) time.Time {
	// wall returns the local time, written as UTC.
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
			begin = begin.Add(-s.shift) // until then every local time occurs for the second time
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

// hourly reports whether a pattern allows every hour.
func (t *Times) hourly() bool { return t.hour == 1<<24-1 }

// makesUp reports whether a tick that a clock change skips is made up for. The parameter `shift` is how far the clock
// has gone forward. The result is false only if the pattern allows every hour and the clock has gone forward by whole
// hours.
func (t *Times) makesUp(shift time.Duration) bool { return !t.hourly() || shift%time.Hour != 0 }

// match returns the first full minute in the local times [from, to) that the pattern allows, or the zero time if there
// is none.
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

// allowsDay reports whether the pattern allows a day. If neither the day of the month nor the day of the week is a
// star, it is enough that one of them matches. Otherwise both must match.
func (t *Times) allowsDay(day int, weekday time.Weekday) bool {
	inMonth, inWeek := t.day&(1<<day) != 0, t.weekday&(1<<weekday) != 0
	if t.anyDay || t.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// Anchor returns a time at which the schedule could have taken effect so that the given tick is its first tick. A
// take-over from another operator calls Anchor with the next run that the other operator announced.
func (t *Times) Anchor(first time.Time) time.Time {
	if t.every > 0 {
		return first.Add(-t.every)
	}
	return first.Add(-time.Second)
}
