package online

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func (r *verbs) restartCommand() *cobra.Command {
	var yes, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "restart NAME|KIND/NAME ...",
		Short: "Run objects again without an edit",
		Long: "Runs a finished or running application again, replaces a Connect server, or replaces the pods of a cluster one after the\n" +
			"other. A running attempt ends first. A suspended object stays suspended, and runs when it is resumed. On a terminal, the\n" +
			"verb asks for a confirmation first.\n\n" +
			"The request is an annotation (" + lifecycle.RestartAnnotation + "), so it is not lost while the operator is down. The operator\n" +
			"carries out each request once.\n\n" +
			"With --wait, the verb waits until applications have ended, and the new pods of servers and clusters are ready. The exit\n" +
			"code is 1 if one fails. Ctrl-C ends the wait, and the application continues.",
		Example: "  sparkctl restart spark-pi --wait\n" +
			"  sparkctl restart -l team=data --yes",
	}
	flags := cmd.Flags()
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask for a confirmation")
	flags.BoolVar(&wait, "wait", false, "wait until applications ended, and servers and clusters are ready")
	flags.DurationVar(&timeout, "timeout", 0, "end --wait after this `duration` for all objects together, with the exit code 5; 0 means no limit")
	return selection.Several(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, objects []client.Object) error {
		for _, object := range objects {
			if _, err := change.Restart(object, time.Time{}); err != nil {
				return err
			}
		}

		if err := selection.Confirm(cmd.Context(), r.Streams, "restart", objects, yes); err != nil {
			return err
		}

		if err := r.restart(cmd, c, objects); err != nil || !wait {
			return err
		}

		ctx, cancel := kube.Within(cmd.Context(), timeout)
		defer cancel()

		for _, object := range objects {
			if kube.Summarize(object).Result == kube.Suspended {
				continue
			}

			if err := selection.WaitFor(ctx, r.Streams, c, object, kube.GoalAfterwards(object), timeout); err != nil {
				return err
			}
		}
		return nil
	}, "app", "connect", "apache-app", "cluster")
}

// restart requests a restart of all objects.
func (r *verbs) restart(cmd *cobra.Command, c *kube.Client, objects []client.Object) error {
	now := time.Now()
	for _, object := range objects {
		kind := kinds.Of(object)

		restart, err := change.Restart(object, now)
		if err != nil {
			return err
		}

		if err := restart.Apply(cmd.Context(), c, object); err != nil {
			return c.ExplainFor(err, kind)
		}

		object.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)

		effect := "a restart is requested"
		if s := kube.Summarize(object); s.Result == kube.Suspended {
			effect += "; it is suspended, and runs when it is resumed"
		}

		fmt.Fprintf(r.Out, "%s: %s (%s)\n", kube.Title(object), effect, restart.Request)
	}

	return nil
}
