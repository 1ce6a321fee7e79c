package apache

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestTimestampHasMicrosecondsInUTC checks the format in which the states of this API have their times. Tools compare
// these texts as strings, so the number of digits must always be the same.
func TestTimestampHasMicrosecondsInUTC(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		time time.Time
		want string
	}{
		"a whole second": {time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), "2026-03-01T12:00:00.000000Z"},
		"trailing zeros": {time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.UTC),
			"2026-03-01T12:00:00.250000Z"},
		"nanoseconds are cut": {time.Date(2026, 3, 1, 12, 0, 0, 999_999_999, time.UTC),
			"2026-03-01T12:00:00.999999Z"},
		"a zone east of Greenwich": {time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("", 3600)),
			"2026-02-28T23:30:00.000000Z"},
		"a zone west of Greenwich": {time.Date(2025, 12, 31, 20, 0, 0, 1000, time.FixedZone("", -5*3600)),
			"2026-01-01T01:00:00.000001Z"},
		"the zero time": {time.Time{}, "0001-01-01T00:00:00.000000Z"},
	} {
		if got := Timestamp(c.time); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestParseTimestampReadsBothOperators checks the formats of both operators. The other one writes Instant.toString() of
// Java, which has 0, 3, 6 or 9 digits after the second.
func TestParseTimestampReadsBothOperators(t *testing.T) {
	t.Parallel()

	at := func(nanoseconds int) time.Time { return time.Date(2026, 3, 1, 12, 0, 0, nanoseconds, time.UTC) }
	for text, want := range map[string]time.Time{
		"2026-03-01T12:00:00.250000Z":    at(250_000_000),
		"2026-03-01T12:00:00Z":           at(0),
		"2026-03-01T12:00:00.001Z":       at(1_000_000),
		"2026-03-01T12:00:00.123456789Z": at(123_456_000),
		"2026-03-01T13:00:00+01:00":      at(0),
		"2026-03-01T11:30:00.5-00:30":    at(500_000_000),
		"":                               {},
		"tomorrow":                       {},
		"2026-03-01":                     {},
		"2026-03-01T12:00:00":            {},
		"2026-02-30T12:00:00Z":           {},
		"2026-03-01T24:00:00Z":           {},
		" 2026-03-01T12:00:00Z":          {},
		"1772366400":                     {},
	} {
		got := ParseTimestamp(text)
		if !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%q is read as %v, want %v", text, got, want)
		}
	}
}

// FuzzParseTimestamp checks that a time survives being written and read again, in UTC and in microseconds.
func FuzzParseTimestamp(f *testing.F) {
	for _, text := range []string{"2026-03-01T12:00:00.123456789Z", "2026-03-01T12:00:00+14:00",
		"9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z", "-", ""} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		parsed := ParseTimestamp(text)
		if parsed.Location() != time.UTC || parsed.Nanosecond()%1000 != 0 {
			t.Fatalf("%q is read as %v", text, parsed)
		}

		if parsed.Year() < 0 || parsed.Year() > 9999 {
			return // RFC 3339 has no such year
		}

		written := Timestamp(parsed)
		if again := ParseTimestamp(written); again != parsed {
			t.Errorf("%q is written as %q, which is read as %v", text, written, again)
		}
	})
}

// TestKeyOfIsANumberOrMinusOne checks the numbers of states, which are the keys of a history.
func TestKeyOfIsANumberOrMinusOne(t *testing.T) {
	t.Parallel()

	for key, want := range map[string]int64{
		"0": 0, "7": 7, "07": 7, "500": 500, "9223372036854775807": math.MaxInt64,
		"": -1, "-1": -1, "-9223372036854775808": -1, "9223372036854775808": -1, "x": -1, "1x": -1, " 1": -1, "1.0": -1,
		"0x1": -1, "1_0": -1,
	} {
		if got := KeyOf(key); got != want {
			t.Errorf("%q is %d, want %d", key, got, want)
		}
	}
}

// TestKeysOfAreInTheOrderOfTheNumbers checks that keys are sorted as numbers and that keys without a number are left
// out.
func TestKeysOfAreInTheOrderOfTheNumbers(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ keys, want []string }{
		"no history":        {nil, nil},
		"not as texts":      {[]string{"10", "9", "100", "0", "2"}, []string{"0", "2", "9", "10", "100"}},
		"what is no number": {[]string{"1", "x", "", "-1", "9223372036854775808", "0"}, []string{"0", "1"}},
		"only what is none": {[]string{"x", "-5"}, nil},
		"the largest number": {[]string{"9223372036854775807", "0", "9223372036854775806"},
			[]string{"0", "9223372036854775806", "9223372036854775807"}},
		"one number, two keys": {[]string{"7", "007", "8", "07", "6"}, []string{"6", "007", "07", "7", "8"}},
	} {
		history := map[string]bool{}
		for _, key := range c.keys {
			history[key] = true
		}

		for range 20 { // each call iterates over the map in another order
			if got := KeysOf(history); !slices.Equal(got, c.want) {
				t.Fatalf("%s: %q, want %q", name, got, c.want)
			}
		}

		if len(history) != len(c.keys) {
			t.Errorf("%s: the history has %d states left of %d", name, len(history), len(c.keys))
		}
	}
}

// TestKeysOfALongHistory checks the order of a thousand states whose keys were inserted in random order.
func TestKeysOfALongHistory(t *testing.T) {
	t.Parallel()

	history, r := map[string]int{}, rand.New(rand.NewPCG(1, 2))
	for _, i := range r.Perm(1000) {
		history[fmt.Sprint(i)] = i
	}

	for i, key := range KeysOf(history) {
		if history[key] != i {
			t.Fatalf("the key at %d is %s", i, key)
		}
	}
}

// TestLabelsAreThoseOfTheOtherOperator checks the labels by which dashboards, the other operator and earlier versions
// of this operator find pods. None of them may ever change.
func TestLabelsAreThoseOfTheOtherOperator(t *testing.T) {
	t.Parallel()

	for got, want := range map[string]string{
		LabelOperatorName: "spark.operator/name", LabelAppName: "spark.operator/spark-app-name",
		DefaultOperatorName: "spark-kubernetes-operator",
		LabelAppUID:         "sparkoperator.dev/app-uid", LabelAttempt: "sparkoperator.dev/attempt",
		LabelManaged:      "sparkoperator.dev/managed",
		LabelScalaVersion: "sparkoperator.dev/scala-version", LabelJDKVersion: "sparkoperator.dev/jdk-version",
		DriverContainer: "spark-kubernetes-driver", ExecutorContainer: "spark-kubernetes-executor",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNextEntry checks the number and the time of a state that follows others.
func TestNextEntry(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	of := func(keys ...string) map[string]bool {
		history := map[string]bool{}
		for _, key := range keys {
			history[key] = true
		}
		return history
	}

	const now, later = "2026-01-01T12:00:00.000000Z", "2026-01-01T13:00:00.000000Z"
	for name, c := range map[string]struct {
		last      string
		histories []map[string]bool
		key, want string
	}{
		"the first":                   {"", nil, "0", now},
		"after others":                {"2026-01-01T11:00:00.000000Z", []map[string]bool{of("9", "10")}, "11", now},
		"after two histories":         {"", []map[string]bool{of("7"), of("6")}, "8", now},
		"after a history that is cut": {"", []map[string]bool{nil, of("3", "4")}, "5", now},
		"after what is no number":     {"soon", []map[string]bool{of("x", "-3")}, "0", now},
		"after the largest number":    {"", []map[string]bool{of("9223372036854775807", "2")}, "3", now},
		"after a clock that is ahead": {later, []map[string]bool{of("0")}, "1", later},
	} {
		if key, got := NextEntry(at, c.last, c.histories...); key != c.key || got != c.want {
			t.Errorf("%s: %s at %s, want %s at %s", name, key, got, c.key, c.want)
		}
	}
}

// TestDropOldest checks which states remain of a history that is too long.
func TestDropOldest(t *testing.T) {
	history := map[string]bool{"9": true, "10": true, "11": true, "x": true}
	if keys := DropOldest(history, 2); !slices.Equal(keys, []string{"10", "11"}) || len(history) != 3 || history["9"] {
		t.Errorf("%v remain, %v", keys, history)
	}
}
