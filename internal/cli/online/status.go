package online

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/screen"
)

func (r *verbs) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status NAME|KIND/NAME",
		Short: "Show the state of one object on one screen",
		Long: "Shows the state of an object: why it is not ready, its phases with their durations, its pods with what they request, its\n" +
			"conditions and the last Events.",
		Example: "  sparkctl status spark-pi\n" +
			"  sparkctl status apache-app/pi -n jobs",
		Args: cobra.ExactArgs(1),
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
		_, err = io.WriteString(r.Out, screen.Status(object, pods, events, r.Width))
		return err
	}
	return cmd
}
