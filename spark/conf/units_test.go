package conf

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		unit Unit
		want int64
	}{
		{"0", MiB, 0},
		{"1", MiB, 1 << 20},
		{"2048", MiB, 2048 << 20},
		{"2048", Byte, 2048},
		{"1b", MiB, 1},
		{"1k", MiB, 1 << 10},
		{"1KB", MiB, 1 << 10},
		{"512m", Byte, 512 << 20},
		{"512Mb", Byte, 512 << 20},
		{"2g", MiB, 2 << 30},
		{"2GB", MiB, 2 << 30},
		{"3t", MiB, 3 << 40},
		{"3tb", MiB, 3 << 40},
		{"4p", MiB, 4 << 50},
		{"4PB", MiB, 4 << 50},
		{"  7m\t", Byte, 7 << 20},
		{"007m", Byte, 7 << 20},
		{"8191p", Byte, 8191 << 50},
		{"9223372036854775807b", MiB, math.MaxInt64},
	} {
		if got, err := ParseSize(c.text, c.unit); err != nil || got != c.want {
			t.Errorf("ParseSize(%q, %d) = %d, %v, want %d", c.text, c.unit, got, err, c.want)
		}
	}

	for _, text := range []string{"", " ", "lots", "m", "1.5g", "-1m", "+1m", "1 g", "1gi", "1Gi", "1e3", "0x10", "1m1",
		"9223372036854775808", "8192p",
		"9223372036854775807k", "١m"} {
		if got, err := ParseSize(text, MiB); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		} else if !strings.Contains(err.Error(), "size") {
			t.Errorf("ParseSize(%q): %v does not say what it is about", text, err)
		}
	}
}

// seconds parses a duration. A number without suffix counts seconds.
func seconds(text string) (time.Duration, error) {
	return parseDuration(text, func() string { return Quote("", text) }, time.Second)
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "5": 5 * time.Second, "5us": 5 * time.Microsecond, "5ms": 5 * time.Millisecond, "5s": 5 * time.Second,
		"5m":   5 * time.Minute,
		"5min": 5 * time.Minute, "5h": 5 * time.Hour, "5d": 120 * time.Hour, " 5S ": 5 * time.Second,
		"-1": -time.Second, "-2min": -2 * time.Minute,
	} {
		if got, err := seconds(text); err != nil || got != want {
			t.Errorf("parseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}

	for _, text := range []string{"", "s", "1.5s", "5 s", "5ns", "1h30m", "--1", "106752d", "soon"} {
		if got, err := seconds(text); err == nil {
			t.Errorf("parseDuration(%q) = %v, want an error", text, got)
		}
	}
}

// FuzzParseSize checks that a size is never negative, that case and blanks do not matter, and that a number without
// suffix counts multiples of the unit.
func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"1g", "2048", "1.5g", "", "9223372036854775807", "  3tb ", "-1", "8192p"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSize(text, MiB)
		if err != nil {
			if n != 0 {
				t.Errorf("ParseSize(%q) = %d together with an error", text, n)
			}
			return
		}

		if n < 0 {
			t.Errorf("ParseSize(%q) = %d", text, n)
		}

		if again, err := ParseSize(" "+strings.ToUpper(text)+" ", MiB); err != nil || again != n {
			t.Errorf("ParseSize(%q) = %d, in upper case %d, %v", text, n, again, err)
		}

		if _, suffix := splitNumber(text); suffix == "" && n%int64(MiB) != 0 {
			t.Errorf("ParseSize(%q) = %d is no whole number of units", text, n)
		}
	})
}

// TestAmountsAtTheirLimit checks for each unit the largest amount that an int64 can hold, in bytes or in nanoseconds,
// and the next larger amount.
func TestAmountsAtTheirLimit(t *testing.T) {
	for unit, most := range map[string]int64{"b": 9223372036854775807, "k": 9007199254740991, "kb": 9007199254740991,
		"m": 8796093022207, "mb": 8796093022207,
		"g": 8589934591, "gb": 8589934591, "t": 8388607, "tb": 8388607, "p": 8191, "pb": 8191} {
		if n, err := ParseSize(fmt.Sprint(most, unit), MiB); err != nil || n < math.MaxInt64/2 {
			t.Errorf("%d%s is %d, %v", most, unit, n, err)
		}

		if n, err := ParseSize(fmt.Sprint(uint64(most)+1, unit), MiB); err == nil || n != 0 {
			t.Errorf("%d%s is %d, %v", uint64(most)+1, unit, n, err)
		}
	}

	for unit, most := range map[string]int64{"us": 9223372036854775, "ms": 9223372036854, "s": 9223372036,
		"m": 153722867, "min": 153722867, "h": 2562047, "d": 106751} {
		for _, sign := range []string{"", "-"} {
			if d, err := seconds(fmt.Sprint(sign, most, unit)); err != nil || d.Abs() < math.MaxInt64/2 ||
				(d < 0) != (sign == "-") {
				t.Errorf("%s%d%s is %v, %v", sign, most, unit, d, err)
			}

			if d, err := seconds(fmt.Sprint(sign, most+1, unit)); err == nil || d != 0 ||
				!strings.HasSuffix(err.Error(), " is too long") {
				t.Errorf("%s%d%s is %v, %v", sign, most+1, unit, d, err)
			}
		}
	}

	long := "1" + strings.Repeat("x", 100_000)
	for name, err := range map[string]error{"size": second(ParseSize(long, MiB)), "time": second(seconds(long))} {
		if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), `but is "1xxx`) {
			t.Errorf("a long %s: the error is %.500v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
