// Package screen writes what the verbs of sparkctl show about an object: its status, its Events, and the explanation of
// its state.
package screen

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Title returns the kind and the name of an object, for use in messages.
func Title(object client.Object) string {
	return fmt.Sprintf("%s %s/%s", object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName())
}

// Age returns the time since the given time, in kubectl's format.
func Age(since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return Short(time.Since(since))
}

// Short returns a duration as text, in at most two units.
func Short(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 10*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// EventLine returns a line about one Event. The line of a warning contains the word "warning", because colours are not
// available without a terminal.
func EventLine(e *corev1.Event, width int) string {
	text := e.Reason + ": " + e.Message
	if e.Type == corev1.EventTypeWarning {
		text = "warning " + text
	}
	if e.InvolvedObject.Kind == "Pod" {
		text = "pod " + e.InvolvedObject.Name + " " + text
	}
	if e.Count > 1 {
		text += fmt.Sprintf(" (%d times)", e.Count)
	}
	return terminal.Wrap("  "+cluster.EventTime(e).UTC().Format(time.TimeOnly)+"  ", text, width)
}
