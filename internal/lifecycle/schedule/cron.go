package schedule

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Field identifies which input an error is about: the schedule or its time zone.
type Field string

// The values of Field.
const (
	FieldSchedule Field = "schedule"
	FieldZone     Field = "zone"
)

// Error says what is wrong with a schedule or its time zone, and how to correct it.
type Error struct {
	Field   Field
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Times are the ticks of a schedule, that is, the times at which it is due. A calendar pattern or an interval defines
// the ticks.
type Times struct {
	every time.Duration // the interval in whole seconds; 0 for a pattern
	zone  *time.Location
	local bool // the zone was written as Local
	// The values that a pattern allows, one bit each.
	minute, hour, day, month, weekday uint64
	// anyDay reports that the day of the month is a star, and anyWeekday that the day of the week is a star. If one of
	// the two fields is a star, only the other field determines the allowed days. If neither is a star, a day is
	// allowed if it matches either field.
	anyDay, anyWeekday bool
}

// Zones is a function that returns a time zone of the IANA database by its name, as time.LoadLocation does. The caller
// chooses the database. The same name must always give the same result. If the function is nil, UTC is the only time
// zone.
type Zones func(name string) (*time.Location, error)

// maxSpec is the maximum length of a schedule's text in bytes. No sensible schedule is longer.
const maxSpec = 1024

// Parse parses a schedule: five fields of cron (minute, hour, day of the month, month, day of the week), a descriptor
// such as @daily, or @every with a duration. A prefix such as "TZ=Europe/Vienna " or "CRON_TZ=Europe/Vienna " gives the
// schedule its own time zone, which then applies instead of the parameter `zone`. Time zones have the names of the IANA
// database. An empty name and the name Local mean UTC (see the method Local). Every error that Parse returns
// is an *Error.
//
// A schedule that Parse accepts has the same meaning as in robfig/cron v3.0.1 (ParseStandard), because users of this
// API have written their schedules for robfig/cron. Parse rejects some schedules that robfig/cron accepts but that
// cannot be intended: a list without a value, a range from a star (*-5), a sign (+5), a step of more than six digits,
// an interval of zero, TZ= without a name.
//
// Parse also rejects a schedule that has no tick, such as the 30th of February.
func Parse(spec, zone string, zones Zones) (*Times, error) {
	if len(spec) > maxSpec {
		return nil, wrong("has %d characters, more than %d", len(spec), maxSpec)
	}

	location, err := loadZone(FieldZone, zone, zones)
	if err != nil {
		return nil, err
	}

	rest := strings.TrimSpace(spec)
	if name, after, ok := cutZone(rest); ok {
		if location, err = loadZone(FieldSchedule, name, zones); err != nil {
			return nil, err
		}

		zone, rest = name, after
	}

	times, err := parseIn(rest, location)
	if err != nil {
		return nil, err
	}

	times.local = zone == localZone
	return times, nil
}

// parseIn parses a schedule without its time zone, which is given separately.
func parseIn(rest string, location *time.Location) (*Times, error) {
	switch {
	case rest == "":
		return nil, wrong("is empty; write five fields, such as 30 2 * * *, or a descriptor, such as @daily")
	case strings.HasPrefix(rest, "@every"):
		return parseEvery(rest, location)
	case strings.HasPrefix(rest, "@"):
		fields, known := descriptors[rest]
		if !known {
			return nil, wrong("%q is not a descriptor; the descriptors are @hourly, @daily (or @midnight), @weekly, @monthly, @yearly (or @annually) and @every with a duration", rest)
		}

		rest = fields
	}
	return parseFields(strings.Fields(rest), location)
}

// Local reports whether the time zone of the schedule is written as Local. In other implementations of this API, Local
// is the time zone of the operator's machine, which is usually UTC in a container. In this operator, Local always means
// UTC.
func (t *Times) Local() bool { return t.local }

// Key returns a text that identifies a schedule. It takes the same arguments as Parse. Different schedules have
// different keys, so a changed key means an edit. Different spellings of the same schedule have the same key:
// additional blanks and an explicit UTC do not change the key.
func Key(spec, zone string) string {
	rest := strings.TrimSpace(spec)
	if own, after, ok := cutZone(rest); ok {
		zone, rest = own, after
	}

	rest = strings.Join(strings.Fields(rest), " ")
	if zone == "" || zone == "UTC" || zone == localZone {
		return rest
	}
	return "CRON_TZ=" + zone + " " + rest
}

func wrong(format string, args ...any) error {
	return &Error{FieldSchedule, fmt.Sprintf(format, args...)}
}

// cutZone cuts the time zone from the beginning of a schedule, and returns both parts. The last result is false if the
// schedule has no time zone of its own.
func cutZone(spec string) (zone, rest string, found bool) {
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if after, ok := strings.CutPrefix(spec, prefix); ok {
			zone, rest, _ = strings.Cut(after, " ")
			return zone, strings.TrimSpace(rest), true
		}
	}
	return "", spec, false
}

// zoneName matches names of the IANA database. If the machine has the database, a lookup opens a file with that name.
// The pattern therefore allows no dots, so that no name leads to a file outside the database.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,3}$`)

// notZones matches two kinds of names that are not in the list of time zones: files of the database that are no time
// zones, and the directories posix and right, which hold copies of the database (right with leap seconds).
var notZones = regexp.MustCompile(`^(posix|right)/|^(posixrules|localtime|Factory|leapseconds)$`)

// localZone is the name that robfig/cron and Go use for the machine's time zone. They accept only this spelling.
const localZone = "Local"

func loadZone(field Field, name string, zones Zones) (*time.Location, error) {
	fail := func(format string, args ...any) (*time.Location, error) {
		subject := "" // the field is the zone
		if field == FieldSchedule {
			subject = "its time zone "
		}
		return nil, &Error{field, subject + fmt.Sprintf(format, args...)}
	}

	const unknown = "%q is not in the IANA database; write a name such as UTC or Europe/Vienna"
	switch {
	case name == "" && field == FieldZone, name == localZone, name == "UTC":
		return time.UTC, nil
	case name == "":
		return fail("is empty; write a name such as TZ=Europe/Vienna and a space before the schedule")
	case strings.EqualFold(name, "local"):
		return fail(unknown, name)
	case !zoneName.MatchString(name) || notZones.MatchString(name):
		return fail("%q is not in the IANA time zone database; write a name such as UTC or Europe/Vienna", name)
	}

	if zones == nil {
		return fail(unknown, name)
	}

	location, err := zones(name)
	if err != nil {
		return fail(unknown, name)
	}
	return location, nil
}

// descriptors maps each descriptor to its five fields.
var descriptors = map[string]string{
	"@hourly":   "0 * * * *",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@weekly":   "0 0 * * 0",
	"@monthly":  "0 0 1 * *",
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
}

// maxEvery is the maximum interval. With this limit, sums of times cannot overflow.
const maxEvery = 100 * 365 * 24 * time.Hour

// parseEvery parses an interval. As in robfig/cron, the interval is rounded down to whole seconds. A positive interval
// below one second becomes one second.
func parseEvery(spec string, zone *time.Location) (*Times, error) {
	text := strings.TrimSpace(strings.TrimPrefix(spec, "@every"))

	every, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return nil, wrong("%q is not a duration; write the interval as in @every 90m", text)
	case every <= 0:
		return nil, wrong("an interval of %s is too short; write an interval of at least one second, as in @every 90m", every)
	case every > maxEvery:
		return nil, wrong("an interval of %s is longer than %s", every, maxEvery)
	}
	return &Times{every: max(every.Truncate(time.Second), time.Second), zone: zone}, nil
}

// bounds describes one of the five fields of a pattern and its valid values.
type bounds struct {
	what     string
	min, max int
	names    []string // names of the values, beginning with min
}

var (
	minutes  = bounds{"minute", 0, 59, nil}
	hours    = bounds{"hour", 0, 23, nil}
	days     = bounds{"day of the month", 1, 31, nil}
	months   = bounds{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}
	weekdays = bounds{"day of the week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}
)

func parseFields(fields []string, zone *time.Location) (*Times, error) {
	if len(fields) != 5 {
		return nil, wrong("has %d fields instead of five: minute, hour, day of the month, month, day of the week; there are no fields for seconds or years", len(fields))
	}

	t := &Times{zone: zone}
	for i, f := range []struct {
		bounds
		to   *uint64
		star *bool
	}{{minutes, &t.minute, new(bool)}, {hours, &t.hour, new(bool)}, {days, &t.day, &t.anyDay}, {months, &t.month, new(bool)}, {weekdays, &t.weekday, &t.anyWeekday}} {
		var err error
		if *f.to, *f.star, err = f.parse(fields[i]); err != nil {
			return nil, err
		}
	}

	if t.never() {
		return nil, wrong("is never due: no such day exists, because the longest of its months has %d days", t.longestMonth())
	}
	return t, nil
}

// parse parses one field: a list of values, ranges and steps. The second result reports whether the list contains a
// star without a step. For this purpose, */1 is a star without a step, and */2 is not.
//
// As in robfig/cron, a superfluous comma (1,2,) is ignored. A list that consists only of commas is an error, because
// such a schedule would never be due.
func (b bounds) parse(text string) (set uint64, star bool, err error) {
	items := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	if len(items) == 0 {
		return 0, false, wrong("%s %q names no value", b.what, text)
	}

	for _, item := range items {
		values, all, err := b.item(item)
		if err != nil {
			return 0, false, err
		}

		set, star = set|values, star || all
	}
	return set, star, nil
}

func (b bounds) item(text string) (set uint64, star bool, err error) {
	fail := func(format string, args ...any) (uint64, bool, error) {
		return 0, false, wrong("%s %q %s", b.what, text, fmt.Sprintf(format, args...))
	}
	span, stepText, stepped := strings.Cut(text, "/")
	first, last, step := b.min, b.max, 1
	low, high, ranged := strings.Cut(span, "-")

	star = low == "*" || low == "?"
	switch {
	case star && ranged:
		return fail("combines a star with a range; write one of the two")
	case !star:
		var ok bool
		if first, ok = b.value(low); !ok {
			return fail("is not from %d to %d%s", b.min, b.max, b.hint())
		}

		switch {
		case ranged:
			if last, ok = b.value(high); !ok {
				return fail("does not end within %d to %d%s", b.min, b.max, b.hint())
			}
		case !stepped:
			last = first
		}
	}

	if first > last {
		return fail("ends before it begins; write two ranges with a comma between them")
	}

	if stepped {
		var ok bool
		if step, ok = digits(stepText); !ok || step == 0 {
			return fail("needs a step of 1 or more after its slash")
		}

		star = star && step == 1
	}

	for v := first; v <= last; v += step {
		set |= 1 << v
	}
	return set, star, nil
}

func (b bounds) hint() string {
	switch b.what {
	case weekdays.what:
		return " (0 is Sunday), nor one of SUN to SAT"
	case months.what:
		return ", nor one of JAN to DEC"
	}
	return ""
}

func (b bounds) value(text string) (int, bool) {
	for i, name := range b.names {
		if strings.EqualFold(text, name) {
			return b.min + i, true
		}
	}

	n, ok := digits(text)
	return n, ok && n >= b.min && n <= b.max
}

// digits parses a number without a sign and with at most six digits. The second result is false if the text is not such
// a number.
func digits(text string) (int, bool) {
	if text == "" || len(text) > 6 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}

	n, err := strconv.Atoi(text)
	return n, err == nil
}

// never reports whether the pattern allows no day at all, such as the 30th of February. Only the days of the month can
// exclude all days, namely if they exceed the length of every allowed month. Days of the week cannot, because every
// weekday occurs in every month.
func (t *Times) never() bool {
	return t.anyWeekday && bits.TrailingZeros64(t.day) > t.longestMonth()
}

// longestMonth returns the number of days of the longest month that the pattern allows.
func (t *Times) longestMonth() int {
	longest := 0
	for month := time.January; month <= time.December; month++ {
		if t.month&(1<<month) != 0 {
			longest = max(longest, time.Date(2024, month+1, 0, 0, 0, 0, 0, time.UTC).Day()) // of a leap year
		}
	}
	return longest
}
