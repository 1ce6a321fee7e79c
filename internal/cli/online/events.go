package online

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/screen"
)

func (r *verbs) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "events NAME|KIND/NAME",
		Aliases: []string{"event"},
		Short:   "Show the Events about an object and its pods",
		Long:    "Shows the Events about an object and its pods, oldest first. Kubernetes keeps Events for an hour by default.",
		Args:    cobra.ExactArgs(1),
	}
	connect := connection(cmd.Flags(), r.Err)
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
			fmt.Fprintln(r.Out, screen.EventLine(&events[i], r.Width))
		}
		if len(events) == 0 {
			fmt.Fprintf(r.Err, "no Events about %s\n", screen.Title(object))
		}
		return nil
	}
	return cmd
}
