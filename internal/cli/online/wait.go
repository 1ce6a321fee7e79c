package online

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
)

func (r *verbs) waitCommand() *cobra.Command {
	var goal string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME|KIND/NAME",
		Short: "Wait until an object runs, is ready, succeeded, ended or is deleted",
		Long: "Waits for a state, and prints each state on the way. The exit code is 1 if the object fails instead, and 5 after the\n" +
			"time of --timeout. An object that does not exist counts as deleted. A server or cluster is not ready while its pods are\n" +
			"being replaced. Ctrl-C ends the wait, and the application continues.",
		Example: "  sparkctl wait spark-pi --for=succeeded --timeout=30m",
		Args:    cobra.ExactArgs(1),
	}
	connect := selection.Connection(cmd.Flags(), r.Err)
	cmd.ValidArgsFunction = selection.CompleteNames(connect)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(kube.Goals, goal) {
			return selection.InvalidFlag("for", goal, kube.Goals)
		}

		c, err := connect()
		if err != nil {
			return err
		}

		object, err := c.Find(cmd.Context(), args[0])
		if goal == kube.GoalDeleted && kube.Unknown(err) {
			fmt.Fprintf(r.Out, "%s does not exist any more\n", bounds.Line(args[0]))
			return nil
		}

		if err != nil {
			return err
		}

		ctx, cancel := kube.Within(cmd.Context(), limit)
		defer cancel()
		return selection.WaitFor(ctx, r.Streams, c, object, goal, limit)
	}
	cmd.Flags().StringVar(&goal, "for", kube.GoalSucceeded, "`state` to wait for: "+strings.Join(kube.Goals, ", "))
	cmd.Flags().DurationVar(&limit, "timeout", 0, "end the wait after this `duration`, with the exit code 5; 0 means no limit")
	return cmd
}
