// Package screen shows what is in a cluster: the verb list (list.go), the verb top with the CPU and memory of pods and
// the progress of Spark's stages (top.go), and what other verbs show about an object: its status, its Events, and the
// explanation of its state.
package screen

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sparkoperator/spark-operator/internal/cli/paged"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// age returns the time since the given time, in kubectl's format.
func age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return Short(time.Since(since))
}

// Short returns a duration in kubectl's format, in at most two units. A negative duration becomes 0s.
func Short(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

// Span parses a duration as Go writes it, such as 1h30m, which may begin with a number of days, as in 7d or 1d12h. It
// returns false for other texts, for negative parts and for more than 99,999 days.
func Span(text string) (time.Duration, bool) {
	days := time.Duration(0)
	if number, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n >= 0 && n < 100_000) {
			return 0, false
		}

		days, text = time.Duration(n*float64(24*time.Hour)), cmp.Or(rest, "0s")
	}

	d, err := time.ParseDuration(text)
	return days + d, err == nil && d >= 0 && days+d >= d
}

// Hours returns a number of units multiplied by seconds in units multiplied by hours. The argument unit is the number
// of parts of a unit that are counted.
func Hours(seconds, unit int64) string {
	return strconv.FormatFloat(float64(seconds)/float64(unit)/3600, 'f', 2, 64)
}

// Cost returns a cost in billionths of the currency in its unit, or "-" without prices.
func Cost(nanos int64) string {
	if nanos == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(nanos)/1e9, 'f', 2, 64)
}

// Zone is the time zone of the times that a verb shows: the zone of the user's machine, or UTC.
type Zone struct{ utc bool }

// UTC is the zone of times that no user's machine shows.
var UTC = Zone{utc: true}

// AddTo adds the flag that chooses UTC to the flags of a verb.
func (z *Zone) AddTo(flags *pflag.FlagSet) {
	flags.BoolVar(&z.utc, "utc", false, "show times in UTC instead of the zone of this machine (TZ)")
}

// Time returns a time with its date and its zone, in the format of RFC 3339.
func (z Zone) Time(at time.Time) string {
	switch {
	case at.IsZero():
		return "-"
	case z.utc:
		at = at.UTC()
	default:
		at = at.Local()
	}
	return at.Format(time.RFC3339)
}

// EventLine returns a line about one Event. The line of a warning contains the word "warning", because colours are not
// available without a terminal.
func EventLine(e *corev1.Event, v View) string {
	text := strings.TrimSuffix(e.Reason+": "+e.Message, ": ")
	if e.Type == corev1.EventTypeWarning {
		text = "warning " + text
	}

	if e.InvolvedObject.Kind == "Pod" {
		text = "pod " + e.InvolvedObject.Name + " " + text
	}

	if e.Count > 1 {
		text += fmt.Sprintf(" (%d times)", e.Count)
	}
	return terminal.Wrap("  "+v.Time(paged.EventTime(e))+"  ", text, v.Width)
}
