package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// model is a pattern as text and as lists of its values, so that a test need not parse the text.
type model struct {
	text                              string
	minute, hour, day, month, weekday []int
	starDay, starWeekday              bool
}

func (m model) matches(wall time.Time) bool {
	inMonth, inWeek := slices.Contains(m.day, wall.Day()), slices.Contains(m.weekday, int(wall.Weekday()))

	onDay := inMonth && inWeek
	if !m.starDay && !m.starWeekday {
		onDay = inMonth || inWeek
	}
	return onDay && slices.Contains(m.minute, wall.Minute()) && slices.Contains(m.hour, wall.Hour()) &&
		slices.Contains(m.month, int(wall.Month()))
}

// wallOf returns the local time in a time zone, written as a time in UTC so that it can be used for arithmetic.
func wallOf(at time.Time, zone *time.Location) time.Time {
	l := at.In(zone)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
}

// bruteForce returns the ticks of a pattern. It checks the local time of every minute against the rules in the
// documentation of schedules.
func bruteForce(m model, zone *time.Location, begin, end time.Time) (ticks []time.Time) {
	everyHour := len(m.hour) == 24
	seen := map[time.Time]bool{}

	last := wallOf(begin.Add(-30*time.Hour), zone)
	for at := begin.Add(-30 * time.Hour); at.Before(end); at = at.Add(time.Minute) {
		wall := wallOf(at, zone)

		due := m.matches(wall) && (everyHour || !seen[wall])
		if jump := wall.Sub(last) - time.Minute; jump > 0 && (!everyHour || jump%time.Hour != 0) {
			for skipped := last.Add(time.Minute); skipped.Before(wall); skipped = skipped.Add(time.Minute) {
				due = due || m.matches(skipped)
			}
		}

		seen[wall], last = true, wall

		if due && at.After(begin) {
			ticks = append(ticks, at.UTC())
		}
	}
	return ticks
}

// randomModel returns a random pattern, sparse or dense. It often chooses the first hours of the day, because clocks
// change at that time.
func randomModel(r *rand.Rand) model {
	m := model{day: span(1, 31), month: span(1, 12), weekday: span(0, 6), starDay: true, starWeekday: true}

	minute, hour, day, weekday := "*", "*", "*", "*"
	switch r.IntN(4) {
	case 0:
		m.minute = span(0, 59)
	case 1:
		step := []int{2, 5, 7, 10, 15, 20, 30}[r.IntN(7)]
		m.minute, minute = every(0, 59, step), fmt.Sprintf("*/%d", step)
	default:
		m.minute = some(r, 0, 59, 1+r.IntN(3))
		minute = join(m.minute)
	}

	switch r.IntN(5) {
	case 0:
		m.hour = span(0, 23)
	case 1:
		step := 2 + r.IntN(4)
		m.hour, hour = every(0, 23, step), fmt.Sprintf("*/%d", step)
	case 2:
		low := r.IntN(4)
		m.hour = span(low, low+r.IntN(3))
		hour = fmt.Sprintf("%d-%d", low, m.hour[len(m.hour)-1])
	case 3:
		m.hour = some(r, 0, 4, 1+r.IntN(2))
		hour = join(m.hour)
	default:
		m.hour = some(r, 0, 23, 1+r.IntN(3))
		hour = join(m.hour)
	}

	if r.IntN(5) == 0 {
		m.weekday, m.starWeekday = some(r, 0, 6, 1+r.IntN(3)), false
		weekday = join(m.weekday)
	}

	if r.IntN(5) == 0 {
		m.day, m.starDay = some(r, 1, 31, 10), false
		day = join(m.day)
	}

	m.text = strings.Join([]string{minute, hour, day, "*", weekday}, " ")
	return m
}

func span(low, high int) []int { return every(low, high, 1) }

func every(low, high, step int) (out []int) {
	for v := low; v <= high; v += step {
		out = append(out, v)
	}
	return out
}

func some(r *rand.Rand, low, high, n int) (out []int) {
	for range n {
		out = append(out, low+r.IntN(high-low+1))
	}

	slices.Sort(out)
	return slices.Compact(out)
}

func join(values []int) string {
	var out []string
	for _, v := range values {
		out = append(out, strconv.Itoa(v))
	}
	return strings.Join(out, ",")
}

// zones are time zones with every kind of clock change. Some change by an hour at 1, 2 or 3 o'clock or at midnight,
// some by half an hour or by two hours. Some change on Fridays or Saturdays, around Ramadan, backwards in winter, or
// never. Some have once skipped or repeated a whole day.
var zones = []struct {
	name  string
	years []int
}{
	{"Europe/Vienna", []int{2026, 2027}},
	{"Europe/London", []int{2026}},
	{"Europe/Dublin", []int{2026}}, // standard time in summer
	{"America/New_York", []int{2026, 2027}},
	{"America/St_Johns", []int{2011, 2026}}, // once at one minute past midnight
	{"America/Havana", []int{2026}},         // at midnight
	{"America/Santiago", []int{2026}},       // at midnight, and in the south
	{"America/Sao_Paulo", []int{2018, 2026}},
	{"America/Asuncion", []int{2023}},
	{"America/Nuuk", []int{2026}},          // on Saturday evening
	{"America/Caracas", []int{2007, 2016}}, // by half an hour, permanently
	{"Asia/Beirut", []int{2026}},
	{"Asia/Gaza", []int{2026}},
	{"Asia/Amman", []int{2021}}, // from midnight
	{"Asia/Kolkata", []int{2026}},
	{"Asia/Kathmandu", []int{2026}},
	{"Asia/Pyongyang", []int{2015, 2018}},
	{"Africa/Casablanca", []int{2026}}, // back for Ramadan
	{"Africa/Cairo", []int{2026}},
	{"Antarctica/Troll", []int{2026}}, // by two hours
	{"Australia/Lord_Howe", []int{2026, 2027}},
	{"Australia/Sydney", []int{2026}},
	{"Pacific/Auckland", []int{2026}},
	{"Pacific/Chatham", []int{2026}},   // at a quarter to three
	{"Pacific/Apia", []int{2011}},      // skipped a Friday
	{"Pacific/Kwajalein", []int{1993}}, // skipped a Saturday
	{"UTC", []int{2026}},
}

// TestTicksAroundChanges compares the ticks with those of bruteForce around every clock change of every time zone, and
// around a time without a change.
func TestTicksAroundChanges(t *testing.T) {
	models := effort.Count(t, 2)

	compared, changes := 0, 0
	for n, z := range zones {
		zone, err := time.LoadLocation(z.name)
		if err != nil {
			t.Fatal(err)
		}

		r := rand.New(rand.NewPCG(uint64(n), 1))
		for _, year := range z.years {
			around := changesOf(zone, year)

			changes += len(around)
			for _, at := range append(around, time.Date(year, 6, 15, 12, 0, 0, 0, time.UTC)) {
				begin, end := at.Add(-26*time.Hour-time.Duration(r.IntN(3600))*time.Second).Truncate(time.Minute),
					at.Add(50*time.Hour)
				for range models {
					compared += compare(t, randomModel(r), z.name, zone, begin, end)
				}
			}
		}
	}

	t.Logf("%d ticks around %d changes of %d zones", compared, changes, len(zones))

	if compared < 1000 || changes < 40 {
		t.Errorf("%d ticks around %d changes are too few for a test", compared, changes)
	}
}

func changesOf(zone *time.Location, year int) (out []time.Time) {
	at := time.Date(year, 1, 1, 0, 0, 0, 0, zone)
	for {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.Year() > year {
			return out
		}

		out, at = append(out, end), end
	}
}

func compare(t *testing.T, m model, name string, zone *time.Location, begin, end time.Time) int {
	t.Helper()
	times := parse(t, m.text, name)
	want := bruteForce(m, zone, begin, end)

	var got []time.Time
	for tick := times.Next(begin, begin); !tick.IsZero() && tick.Before(end); tick = times.Next(begin, tick) {
		got = append(got, tick)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q in %s from %s (-brute force +computed):\n%s", m.text, name, begin, diff)
	}

	if len(want) > 0 {
		if latest := times.Latest(begin, begin, end.Add(-1)); !latest.Equal(want[len(want)-1]) {
			t.Errorf("%q in %s: the latest is %s, want %s", m.text, name, latest, want[len(want)-1])
		}
	}
	return len(want)
}

// TestChangesOfTheClock checks the clock changes that users ask about. The expected ticks are written by hand.
func TestChangesOfTheClock(t *testing.T) {
	for _, test := range []struct {
		about, spec, zone, from string
		want                    []string
	}{
		{"a skipped time is due once, right after the change", "30 2 * * *", "Europe/Vienna",
			"2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"several skipped times are due once, together", "*/10 2 * * *", "Europe/Vienna", "2026-03-29T00:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"a skipped time coincides with another allowed time: due once", "0 2,3 * * *", "Europe/Vienna",
			"2026-03-29T00:00:00+01:00",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"a time that occurs twice is due the first time", "30 2 * * *", "Europe/Vienna", "2026-10-24T12:00:00+02:00",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"times that occur twice, in a pattern for some hours", "*/30 1-3 * * *", "Europe/Vienna",
			"2026-10-25T00:59:00+02:00", []string{
				"2026-10-25T01:00:00+02:00", "2026-10-25T01:30:00+02:00", "2026-10-25T02:00:00+02:00",
				"2026-10-25T02:30:00+02:00",
				"2026-10-25T03:00:00+01:00", "2026-10-25T03:30:00+01:00"}},
		{"midnight is skipped", "0 0 * * *", "America/Havana", "2026-03-07T12:00:00-05:00",
			[]string{"2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00"}},
		{"midnight occurs twice", "0 0 * * *", "America/Havana", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"}},
		{"the day is skipped", "0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00"}},
		{"a pattern for every hour continues in the repeated hour", "*/30 * * * *", "Europe/Vienna",
			"2026-10-25T01:45:00+02:00", []string{
				"2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00",
				"2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00"}},
		{"a pattern for every hour does not make up for a skipped hour", "30 * * * *", "Europe/Vienna",
			"2026-03-29T00:45:00+01:00",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00"}},
		{"half an hour is skipped", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		{"a pattern for every hour makes up for a skipped half hour", "15 * * * *", "Australia/Lord_Howe",
			"2026-10-04T01:00:00+10:30",
			[]string{"2026-10-04T01:15:00+10:30", "2026-10-04T02:30:00+11:00", "2026-10-04T03:15:00+11:00"}},
		{"an interval ignores clock changes", "@every 1h", "Europe/Vienna", "2026-03-29T00:30:00+01:00",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00"}},
	} {
		t.Run(test.about, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, test.from)
			if err != nil {
				t.Fatal(err)
			}

			times, since := parse(t, test.spec, test.zone), at
			for _, want := range test.want {
				at = times.Next(since, at)
				if got := at.In(times.zone).Format(time.RFC3339); got != want {
					t.Fatalf("next is %s, want %s", got, want)
				}
			}
		})
	}
}

// TestFarAhead checks a rare and a common pattern in years that are not in the tables of the time zones. A rule of the
// time zone then determines the clock changes.
func TestFarAhead(t *testing.T) {
	for _, zone := range []string{"Europe/Vienna", "America/New_York", "Australia/Sydney", "UTC"} {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

		leaps, days := parse(t, "30 2 29 2 *", zone), parse(t, "30 2 * * *", zone)
		for year := 2028; year < 2096; year += 4 {
			if at = leaps.Next(at, at); at.In(leaps.zone).Format("2006-01-02 15:04") != fmt.Sprintf("%d-02-29 02:30",
				year) {
				t.Fatalf("%s: %s, want the 29th of February of %d", zone, at.In(leaps.zone), year)
			}
		}

		at = time.Date(2037, 1, 1, 12, 0, 0, 0, time.UTC)
		for n := range 366 * 24 {
			next := days.Next(at, at)
			if far := next.Sub(at); far > 26*time.Hour || far <= 0 || n > 0 && far < 22*time.Hour {
				t.Fatalf("%s: %s follows %s", zone, next, at)
			}

			at = next
		}
	}
}

// TestLongAgo checks that Latest finds the latest of millions of ticks. The test would take too long if Latest visited
// each tick.
func TestLongAgo(t *testing.T) {
	since := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

	until := time.Date(2026, 7, 1, 12, 0, 30, 0, time.UTC)
	for _, test := range []struct{ spec, want string }{
		{"* * * * *", "2026-07-01T12:00:00Z"},
		{"* * * 1 *", "2026-01-31T23:59:00Z"},
		{"0 0 29 2 *", "2024-02-29T00:00:00Z"},
		{"@every 1s", "2026-07-01T12:00:30Z"},
		{"@every 8760h", "2025-12-26T00:00:00Z"},
	} {
		if got := parse(t, test.spec, "").Latest(since, since, until).Format(time.RFC3339); got != test.want {
			t.Errorf("%q: the latest is %s, want %s", test.spec, got, test.want)
		}
	}

	times := parse(t, "@daily", "")
	if got := times.Latest(since, until, since); !got.IsZero() {
		t.Errorf("the latest of no time at all is %s", got)
	}
}

// TestIntervalsHaveAnAnchor checks that the ticks of an interval depend only on the time at which the schedule took
// effect.
func TestIntervalsHaveAnAnchor(t *testing.T) {
	times, since := parse(t, "@every 7m", ""), time.Date(2026, 1, 1, 0, 0, 0, 123456000, time.UTC)

	first := times.Next(since, since)
	if want := time.Date(2026, 1, 1, 0, 7, 0, 0, time.UTC); !first.Equal(want) {
		t.Errorf("the first tick is %s, want %s", first, want)
	}

	if early := times.Next(since, since.AddDate(-1, 0, 0)); !early.Equal(first) {
		t.Errorf("before it holds the next tick is %s", early)
	}

	for after := range 1000 {
		at := since.Add(time.Duration(after) * time.Second)
		if tick := times.Next(since, at); tick.Sub(first)%(7*time.Minute) != 0 || tick.Sub(at) > 7*time.Minute {
			t.Fatalf("after %s comes %s", at, tick)
		}
	}
}
