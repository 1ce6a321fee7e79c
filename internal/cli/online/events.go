package online

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func (r *verbs) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "events NAME|KIND/NAME",
		Aliases: []string{"event"},
		Short:   "Show the Events about an object and its pods",
		Long:    "Shows the Events about an object and its pods, oldest first. Kubernetes keeps Events for an hour by default.",
		Args:    cobra.ExactArgs(1),
	}
	connect := connection(cmd.Flags())
	cmd.ValidArgsFunction = completeNames(connect)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, object, err := named(cmd, connect, args)
		if err != nil {
			return err
		}
		pods, err := c.Pods(cmd.Context(), object)
		if err != nil {
			return err
		}
		events, err := c.Events(cmd.Context(), object, pods)
		if err != nil {
			return err
		}
		for i := range events {
			fmt.Fprintln(r.Out, eventLine(&events[i], r.Width))
		}
		if len(events) == 0 {
			fmt.Fprintf(r.Err, "no Events about %s\n", title(object))
		}
		return nil
	}
	return cmd
}

// eventLine returns one Event. A warning is marked by a word, since the output has no colours without a terminal.
func eventLine(e *corev1.Event, width int) string {
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
