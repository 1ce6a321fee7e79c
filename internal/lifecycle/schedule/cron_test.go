package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no database of the system
)

func parse(t testing.TB, spec, zone string) *Times {
	t.Helper()

	times, err := Parse(spec, zone, time.LoadLocation)
	if err != nil {
		t.Fatalf("%q in %q: %v", spec, zone, err)
	}
	return times
}

// from is the time at which the tests begin, on a Sunday.
var from = time.Date(2026, 2, 1, 10, 30, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for _, test := range []struct{ spec, zone, next string }{
		{"* * * * *", "", "2026-02-01T10:31:00Z"},
		{"  30   2 * * *  ", "", "2026-02-02T02:30:00Z"},
		{"30\t2 * * *", "", "2026-02-02T02:30:00Z"},
		{"*/15 * * * *", "", "2026-02-01T10:45:00Z"},
		{"5/20 * * * *", "", "2026-02-01T10:45:00Z"}, // from 5 to the end
		{"*/60 * * * *", "", "2026-02-01T11:00:00Z"},
		{"*/90 * * * *", "", "2026-02-01T11:00:00Z"},
		{"0 */24 * * *", "", "2026-02-02T00:00:00Z"},
		{"0-10/5,50 11-12 * * *", "", "2026-02-01T11:00:00Z"},
		{"007 * * * *", "", "2026-02-01T11:07:00Z"},
		{"40,45, * * * *", "", "2026-02-01T10:40:00Z"}, // a superfluous comma is ignored
		{",40,,45 ,12 * * *", "", "2026-02-01T12:40:00Z"},
		{"0 12 10, * *", "", "2026-02-10T12:00:00Z"},
		{"? ? ? ? ?", "", "2026-02-01T10:31:00Z"},
		{"0 12 ? * MON-fri", "", "2026-02-02T12:00:00Z"},
		{"0 12 10 * ?", "", "2026-02-10T12:00:00Z"},
		{"0 0 1 jan,Jul *", "", "2026-07-01T00:00:00Z"},
		{"0 0 * * SUN", "", "2026-02-08T00:00:00Z"},
		{"0 0 13 * 5", "", "2026-02-06T00:00:00Z"},     // the 13th or a Friday
		{"0 0 13 * */2", "", "2026-02-03T00:00:00Z"},   // a step is not a star: the 13th or every other day
		{"0 0 */13 * MON", "", "2026-02-02T00:00:00Z"}, // the same from the other side
		{"0 0 13 * */1", "", "2026-02-13T00:00:00Z"},
		{"0 0 29 2 *", "", "2028-02-29T00:00:00Z"},
		{"0 0 31 4,5 *", "", "2026-05-31T00:00:00Z"},
		{"0 0 30 2 MON", "", "2026-02-02T00:00:00Z"}, // or a Monday
		{"@hourly", "", "2026-02-01T11:00:00Z"},
		{"@daily", "", "2026-02-02T00:00:00Z"},
		{"@midnight", "", "2026-02-02T00:00:00Z"},
		{"@weekly", "", "2026-02-08T00:00:00Z"},
		{"@monthly", "", "2026-03-01T00:00:00Z"},
		{"@yearly", "", "2027-01-01T00:00:00Z"},
		{"@annually", "", "2027-01-01T00:00:00Z"},
		{"@every 90m", "", "2026-02-01T12:00:00Z"},
		{"@every  1h30m0.9s", "", "2026-02-01T12:00:00Z"},
		{"@every 10ms", "", "2026-02-01T10:30:01Z"},
		{"30 2 * * *", "Europe/Vienna", "2026-02-02T01:30:00Z"},
		{"CRON_TZ=Europe/Vienna 30 2 * * *", "", "2026-02-02T01:30:00Z"},
		{"TZ=Asia/Kolkata   30 2 * * *", "Europe/Vienna", "2026-02-01T21:00:00Z"}, // the schedule's own zone wins
		{"TZ=UTC @daily", "Europe/Vienna", "2026-02-02T00:00:00Z"},
		{"TZ=America/New_York @every 1h", "", "2026-02-01T11:30:00Z"},
		{"30 2 * * *", "Local", "2026-02-02T02:30:00Z"},
		{"TZ=Local 30 2 * * *", "Europe/Vienna", "2026-02-02T02:30:00Z"},
		{"@daily", "America/Argentina/Buenos_Aires", "2026-02-01T03:00:00Z" /* has passed */},
		{"@daily", "Etc/GMT+5", "2026-02-02T05:00:00Z"},
		{"@daily", "Pacific/Kiritimati", "2026-02-01T10:00:00Z" /* has passed */},
	} {
		got := parse(t, test.spec, test.zone).Next(from, from).Format(time.RFC3339)
		if want, err := time.Parse(time.RFC3339, test.next); err == nil && !want.After(from) {
			test.next = want.AddDate(0, 0, 1).Format(time.RFC3339)
		}

		if got != test.next {
			t.Errorf("%q in %q: next is %s, want %s", test.spec, test.zone, got, test.next)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		spec, zone string
		field      Field
		says       string
	}{
		{"", "", FieldSchedule, "is empty"},
		{"   ", "", FieldSchedule, "is empty"},
		{"whenever", "", FieldSchedule, "1 fields instead of five"},
		{"* * * *", "", FieldSchedule, "4 fields"},
		{"0 * * * * *", "", FieldSchedule, "no fields for seconds"},
		{"0 0 1 1 * 2030", "", FieldSchedule, "or years"},
		{"60 * * * *", "", FieldSchedule, `minute "60" is not from 0 to 59`},
		{"* 24 * * *", "", FieldSchedule, `hour "24"`},
		{"* * 0 * *", "", FieldSchedule, `day of the month "0"`},
		{"* * 32 * *", "", FieldSchedule, `day of the month "32"`},
		{"* * * 13 *", "", FieldSchedule, `month "13" is not from 1 to 12, nor one of JAN to DEC`},
		{"* * * * 7", "", FieldSchedule, "0 is Sunday"},
		{"* * * * 5-7", "", FieldSchedule, "does not end"},
		{"* * * * MONDAY", "", FieldSchedule, "SUN to SAT"},
		{"* 22-2 * * *", "", FieldSchedule, "two ranges"},
		{"* 1-2-3 * * *", "", FieldSchedule, "hour"},
		{"*-5 * * * *", "", FieldSchedule, "star"},
		{"*/0 * * * *", "", FieldSchedule, "step"},
		{"*/ * * * *", "", FieldSchedule, "step"},
		{"*/-1 * * * *", "", FieldSchedule, "step"},
		{"*/5/5 * * * *", "", FieldSchedule, "step"},
		{"+5 * * * *", "", FieldSchedule, "minute"},
		{"-5 * * * *", "", FieldSchedule, "minute"},
		{", * * * *", "", FieldSchedule, `minute "," names no value`},
		{"0 0 1 * ,,", "", FieldSchedule, `day of the week ",," names no value`},
		{"H * * * *", "", FieldSchedule, "minute"},
		{"* * L * *", "", FieldSchedule, "day of the month"},
		{"* * 15W * *", "", FieldSchedule, "day of the month"},
		{"* * * * FRI#3", "", FieldSchedule, "day of the week"},
		{"9999999999999999999999 * * * *", "", FieldSchedule, "minute"},
		{"0 0 30 2 *", "", FieldSchedule, "is never due"},
		{"0 0 31 2,4,6,9,11 *", "", FieldSchedule, "30 days"},
		{"0 0 30-31 2 ?", "", FieldSchedule, "29 days"},
		{"@never", "", FieldSchedule, "is not a descriptor"},
		{"@reboot", "", FieldSchedule, "is not a descriptor"},
		{"@Daily", "", FieldSchedule, "is not a descriptor"},
		{"@every", "", FieldSchedule, "is not a duration"},
		{"@every 5", "", FieldSchedule, "is not a duration"},
		{"@every tomorrow", "", FieldSchedule, "is not a duration"},
		{"@every 0s", "", FieldSchedule, "is too short"},
		{"@every -5m", "", FieldSchedule, "is too short"},
		{"@every 2000000h", "", FieldSchedule, "longer than"},
		{strings.Repeat("1,", 600) + "1 * * * *", "", FieldSchedule, "characters"},
		{"TZ=Europe/Vienna", "", FieldSchedule, "is empty"},
		{"TZ= 30 2 * * *", "", FieldSchedule, "time zone is empty"},
		{"TZ=Mars/Olympus 30 2 * * *", "", FieldSchedule, "time zone"},
		{"CRON_TZ=local 30 2 * * *", "", FieldSchedule, "not in the IANA database"},
		{"CRON_TZ=../../etc/passwd @daily", "", FieldSchedule, "not in the IANA time zone database"},
		{"@daily", "Mars/Olympus", FieldZone, "not in the IANA database"},
		{"@daily", "local", FieldZone, "not in the IANA database"}, // Go does not accept it either
		{"@daily", "LOCAL", FieldZone, "not in the IANA database"},
		{"TZ=UTC @daily", "Nowhere", FieldZone, "not in the IANA database"}, // both are checked
		{"@daily", "/etc/localtime", FieldZone, "not in the IANA time zone database"},
		{"@daily", "../Europe/Vienna", FieldZone, "not in the IANA time zone database"},
		{"@daily", "Europe/../Europe/Vienna", FieldZone, "not in the IANA time zone database"},
		{`@daily`, `Europe\Vienna`, FieldZone, "not in the IANA time zone database"},
		{"@daily", "Europe/Vienna\x00", FieldZone, "not in the IANA time zone database"},
		{"@daily", "Europe/Vienna ", FieldZone, "not in the IANA time zone database"},
		{"@daily", "tzdata.zi", FieldZone, "not in the IANA time zone database"},
		{"@daily", "right/UTC", FieldZone, "not in the IANA time zone database"},
		{"@daily", "posixrules", FieldZone, "not in the IANA time zone database"},
		{"@daily", "Europe", FieldZone, "not in the IANA database"}, // a folder
		{"@daily", "+01:00", FieldZone, "not in the IANA time zone database"},
	} {
		_, err := Parse(test.spec, test.zone, time.LoadLocation)

		refused, ok := errors.AsType[*Error](err)
		if !ok || refused.Field != test.field || !strings.Contains(refused.Message, test.says) {
			t.Errorf("%q in %q: %v, want one about %s with %q", test.spec, test.zone, err, test.field, test.says)
		}
	}
}

// TestLocal checks that the method Local returns true if and only if the schedule's time zone is written as Local.
func TestLocal(t *testing.T) {
	for _, test := range []struct {
		spec, zone string
		want       bool
	}{
		{"@daily", "Local", true},
		{"@every 5m", "Local", true},
		{"TZ=Local @daily", "", true},
		{"CRON_TZ=Local 0 2 * * *", "Europe/Vienna", true},
		{"TZ=UTC @daily", "Local", false},
		{"@daily", "", false},
		{"@daily", "UTC", false},
	} {
		if got := parse(t, test.spec, test.zone).Local(); got != test.want {
			t.Errorf("%q in %q: %t, want %t", test.spec, test.zone, got, test.want)
		}
	}
}

// TestKey checks that spellings of a schedule that differ only in blanks or in the place of the time zone have the same
// key, and that different schedules have different keys. It also checks that Parse accepts a key and reads the same
// schedule from it.
func TestKey(t *testing.T) {
	keys := map[string]bool{}
	for _, test := range []struct {
		want  string
		pairs [][2]string
	}{
		{"@daily", [][2]string{{"@daily", ""}, {" @daily ", "UTC"}, {"@daily", "Local"},
			{"TZ=UTC @daily", "Europe/Vienna"}, {"CRON_TZ=Local   @daily", ""}}},
		{"CRON_TZ=Europe/Vienna @daily",
			[][2]string{{" @daily ", "Europe/Vienna"}, {"TZ=Europe/Vienna @daily", ""},
				{"CRON_TZ=Europe/Vienna  @daily", "Asia/Kolkata"}}},
		{"30 2 * * *", [][2]string{{"30 2 * * *", ""}, {"30  2 *\t* *", ""}, {"\n30 2 * * * ", "UTC"}}},
		{"CRON_TZ=Asia/Kolkata 30 2 * * *",
			[][2]string{{"30 2  * * *", "Asia/Kolkata"}, {"TZ=Asia/Kolkata 30 2 * * *", ""}}},
		{"30 3 * * *", [][2]string{{"30 3 * * *", ""}}},
		{"@every 90m", [][2]string{{"@every   90m", ""}}},
		{"nonsense of somebody", [][2]string{{"nonsense  of somebody", ""}}},
	} {
		if keys[test.want] {
			t.Errorf("%q is the key of two schedules", test.want)
		}

		keys[test.want] = true
		for _, pair := range test.pairs {
			if got := Key(pair[0], pair[1]); got != test.want {
				t.Errorf("%q in %q is known as %q, want %q", pair[0], pair[1], got, test.want)
			}

			if again := Key(test.want, ""); again != test.want {
				t.Errorf("the key of %q is %q, want the same text", test.want, again)
			}

			times, err := Parse(pair[0], pair[1], time.LoadLocation)
			if err != nil {
				continue
			}

			if same := parse(t, test.want, "").Next(from, from); !same.Equal(times.Next(from, from)) {
				t.Errorf("%q in %q comes due at %s, its key at %s", pair[0], pair[1], times.Next(from, from), same)
			}
		}
	}
}

// FuzzParse checks the properties of accepted schedules on which the state machine depends. The ticks are in ascending
// order, searches are fast, and a backward search finds the same ticks.
func FuzzParse(f *testing.F) {
	for _, spec := range []string{"*/5 2-3 * * *", "0 0 29 2 *", "@every 7h", "TZ=America/New_York 30 1,2 * * 0",
		"@weekly", "59 23 31 12 ?", "0 0 1 1 0/3"} {
		f.Add(spec, "Europe/Vienna", int64(1_774_745_999))
	}

	f.Add("30 2 * * *", "Australia/Lord_Howe", int64(1_791_000_000))
	f.Fuzz(func(t *testing.T, spec, zone string, at int64) {
		times, err := Parse(spec, zone, time.LoadLocation)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok || err.Error() == "" {
				t.Fatalf("%T %v", err, err)
			}
			return
		}

		since := time.Unix(at%4_000_000_000, 0)

		last := since
		for range 5 {
			next := times.Next(since, last)
			if next.IsZero() {
				t.Fatalf("%q ends after %s", spec, last)
			}

			if !next.After(last) || next.Nanosecond() != 0 || next.Location() != time.UTC {
				t.Fatalf("%q: %s follows %s", spec, next, last)
			}

			if latest := times.Latest(since, last, next); !latest.Equal(next) {
				t.Fatalf("%q: the latest until %s is %s", spec, next, latest)
			}

			if latest := times.Latest(since, last, next.Add(-1)); !latest.IsZero() {
				t.Fatalf("%q: %s is between %s and %s", spec, latest, last, next)
			}

			last = next
		}

		if latest := times.Latest(since, since, last); !latest.Equal(last) {
			t.Fatalf("%q: the latest of five is %s, want %s", spec, latest, last)
		}
	})
}
