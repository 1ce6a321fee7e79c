// Package screen writes what the verbs of sparkctl show about an object: its status, its Events, and the explanation of
// its state.
package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Title returns the kind and the name of an object, for use in messages.
func Title(object client.Object) string {
	return bounds.Line(fmt.Sprintf("%s %s/%s", object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName()))
}

// Age returns the time since the given time, in kubectl's format.
func Age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return Short(time.Since(since))
}

// Short returns a duration in kubectl's format, in at most two units. A negative duration becomes 0s.
func Short(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }

// Zone is the time zone of the times that a verb shows: the zone of the user's machine, or UTC.
type Zone struct{ utc bool }

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
	return terminal.Wrap("  "+v.Time(kube.EventTime(e))+"  ", text, v.Width)
}
