// Package restart has the verb restart of sparkctl, which makes objects run again although their specs have not
// changed.
package restart

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// verb holds the flags of the verb restart.
type verb struct {
	terminal.Streams
	selector  string
	yes, wait bool
	timeout   time.Duration
}

// Command returns the verb restart.
func Command(streams terminal.Streams) *cobra.Command {
	r := &verb{Streams: streams}
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
	connect := selection.Connection(cmd.Flags(), r.Err)
	cmd.ValidArgsFunction = selection.CompleteNames(connect, "app", "connect", "apache-app", "cluster")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := connect()
		if err != nil {
			return err
		}

		objects, err := selection.Chosen(cmd, c, args, r.selector)
		if err != nil {
			return err
		}
		return r.restart(cmd, c, objects)
	}
	flags := cmd.Flags()
	flags.StringVarP(&r.selector, "selector", "l", "", "`labels` of the objects, instead of names")
	flags.BoolVarP(&r.yes, "yes", "y", false, "do not ask for a confirmation")
	flags.BoolVar(&r.wait, "wait", false, "wait until applications ended, and servers and clusters are ready")
	flags.DurationVar(&r.timeout, "timeout", 0, "end --wait after this `duration`, with the exit code 5; 0 means no limit")
	return cmd
}

// restart requests a restart of all objects. With --wait, it then waits until applications have ended, and until
// servers and clusters are ready. It does not wait for suspended objects.
func (r *verb) restart(cmd *cobra.Command, c *kube.Client, objects []client.Object) error {
	for _, object := range objects {
		if _, ok := object.(*v1beta2.ScheduledSparkApplication); ok {
			return exit.Errorf(exit.Usage, "%s is a schedule and has no run of its own to restart; %s starts a run now", screen.Title(object), kube.Hint("trigger", object))
		}
	}

	if err := selection.Confirm(cmd.Context(), r.Streams, "restart", objects, r.yes); err != nil {
		return err
	}

	request := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")

	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{lifecycle.RestartAnnotation: request}}})
	if err != nil {
		return err
	}

	for _, object := range objects {
		kind := kube.KindOf(object)
		if err := c.Patch(cmd.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return c.ExplainFor(err, kind)
		}

		object.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)

		effect := "a restart is requested"
		if s := kube.Summarize(object); s.Result == kube.Suspended {
			effect += "; it is suspended, and runs when it is resumed"
		}

		fmt.Fprintf(r.Out, "%s: %s (%s)\n", screen.Title(object), effect, request)
	}

	if !r.wait {
		return nil
	}

	for _, object := range objects {
		if kube.Summarize(object).Result == kube.Suspended {
			continue
		}

		if err := selection.WaitFor(cmd.Context(), r.Streams, c, object, kube.GoalAfterwards(object), r.timeout); err != nil {
			return err
		}
	}
	return nil
}
