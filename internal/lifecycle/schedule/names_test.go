package schedule

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRunName(t *testing.T) {
	minute, second := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)

	long := strings.Repeat("a", MaxName)
	for _, test := range []struct {
		name      string
		tick      time.Time
		precision Precision
		want      string
	}{
		{"etl", minute, Nanos, "etl-1795262400000000000"},
		{"etl", minute, Micros, "etl-1795262400000000"},
		{"etl", minute, Millis, "etl-1795262400000"},
		{"etl", minute, Seconds, "etl-1795262400"},
		{"etl", minute, Minutes, "etl-29921040"},
		{"etl", second, Minutes, "etl-1795262430"},  // minutes would give the name of another tick
		{long, minute, Nanos, long + "-1795262400"}, // nanoseconds would make it too long
		{long, minute, Minutes, long + "-29921040"},
		{"etl", minute, "fortnights", "etl-1795262400"},
		{strings.Repeat("b", 43), minute, Nanos, strings.Repeat("b", 43) + "-1795262400000000000"}, // 63 characters
		{strings.Repeat("b", 44), minute, Nanos, strings.Repeat("b", 44) + "-1795262400"},
		{strings.Repeat("b", 46), minute, Micros, strings.Repeat("b", 46) + "-1795262400000000"},
		{strings.Repeat("b", 49), minute, Millis, strings.Repeat("b", 49) + "-1795262400000"},
		{strings.Repeat("b", 50), minute, Millis, strings.Repeat("b", 50) + "-1795262400"},
	} {
		got := RunName(test.name, test.tick, test.precision)
		if got != test.want || len(got) > maxRunName {
			t.Errorf("%s of %s in %s is %s, want %s", test.name, test.tick, test.precision, got, test.want)
		}

		if back := TickOf(test.name, got); !back.Equal(test.tick) {
			t.Errorf("%s is read as the tick %s, want %s", got, back, test.tick)
		}
	}
}

func TestTickOf(t *testing.T) {
	for run, want := range map[string]string{
		"etl-1795262400123456789": "2026-11-21T12:00:00.123456Z", // from another operator
		"etl-1795262400":          "2026-11-21T12:00:00Z",
		"etl-29921040":            "2026-11-21T12:00:00Z",
		"etl-0795262400":          "",
		"etl-9999999999":          "",
		"etl-9999999999999999999": "",
		"etl-17952624001":         "",
		"etl-179526240a":          "",
		"etl-":                    "",
		"etl":                     "",
		"etl-now-abcdef":          "",
		"other-1795262400":        "",
		"etl-x-1795262400":        "",
		"etl--795262400":          "",
	} {
		got := ""
		if tick := TickOf("etl", run); !tick.IsZero() {
			got = tick.Format(time.RFC3339Nano)
		}

		if got != want {
			t.Errorf("%s is the run of %q, want %q", run, got, want)
		}
	}
}

// TestNamesTellTicksApart checks random ticks. Different ticks have different names, TickOf returns the tick of each
// name, and every name has a valid length.
func TestNamesTellTicksApart(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))

	label := regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	for _, name := range []string{"a", "nightly", strings.Repeat("x", 30), strings.Repeat("x", 40),
		strings.Repeat("y", MaxName)} {
		for _, precision := range []Precision{Nanos, Micros, Millis, Seconds, Minutes} {
			names := map[string]time.Time{}
			for range 2000 {
				tick := time.Unix(1_700_000_000+r.Int64N(10_000), 0).UTC()

				run := RunName(name, tick, precision)
				if other, taken := names[run]; taken && !other.Equal(tick) {
					t.Fatalf("%s is the run of %s and of %s", run, other, tick)
				}

				if names[run] = tick; !TickOf(name, run).Equal(tick) {
					t.Fatalf("%s is read as %s, want %s", run, TickOf(name, run), tick)
				}

				if !label.MatchString(run) || len(run) > 63 {
					t.Fatalf("%s is not a valid Service name", run)
				}
			}
		}
	}
}

func TestRequestName(t *testing.T) {
	long := strings.Repeat("z", MaxName)

	seen := map[string]string{}
	for _, test := range [][3]string{{"etl", "u1", "1"}, {"etl", "u1", "2"}, {"etl", "u2", "1"}, {"etl2", "u1", "1"},
		{long, "u1", "1"}} {
		name := RequestName(test[0], test[1], test[2])
		if other, taken := seen[name]; taken {
			t.Errorf("%v and %s are both %s", test, other, name)
		}

		seen[name] = strings.Join(test[:], " ")
		if len(name) > maxRunName || !strings.HasPrefix(name, test[0]+"-now-") || !TickOf(test[0], name).IsZero() {
			t.Errorf("%v is %s", test, name)
		}

		if again := RequestName(test[0], test[1], test[2]); again != name {
			t.Errorf("%v is %s, and then %s", test, name, again)
		}
	}
}

func TestRequest(t *testing.T) {
	short, long := strings.Repeat("r", 256), strings.Repeat("r", 257)
	if got := Request(short); got != short {
		t.Errorf("a short value is remembered as %q", got)
	}

	if got := Request(long); len(got) != len("sha256:")+64 || got == Request(long+"r") {
		t.Errorf("a long value is remembered as %q", got)
	}
}
