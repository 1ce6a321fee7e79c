package online

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/launch"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func (r *verbs) explainCommand() *cobra.Command {
	var configuration string
	cmd := &cobra.Command{
		Use:   "explain NAME|KIND/NAME",
		Short: "Say why an object is where it is, and what happens next",
		Long: "Says why an object is in its state, what keeps its pods from running, and what the operator does next and when. It makes\n" +
			"the operator's own decision from the status and the pods, and changes nothing. Times that depend on the operator's\n" +
			"configuration are those of the file of --config, or the defaults. If that file selects namespaces by their labels, the\n" +
			"labels of the object's namespace are read from the cluster.\n\n" +
			"If no operator has handled the last change for ten seconds, the verb also examines the installation as doctor does.",
		Example: "  sparkctl explain spark-pi",
		Args:    cobra.ExactArgs(1),
	}
	connect := connection(cmd.Flags(), r.Err)
	cmd.ValidArgsFunction = completeNames(connect)
	cmd.Flags().StringVar(&configuration, "config", "", "the operator's configuration `file`; without one, all settings have their defaults")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		operator, err := launch.Load(configuration)
		if err != nil {
			return err
		}
		c, object, err := named(cmd, connect, args)
		if err != nil {
			return err
		}
		if operator, err = r.placed(cmd, c, operator, object.GetNamespace()); err != nil {
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
		plan, err := operator.Next(object, pods)
		if err != nil {
			return err
		}
		for _, line := range screen.Explanation(operator.Now, object, pods, events, plan) {
			fmt.Fprintln(r.Out, terminal.Wrap(fmt.Sprintf("%-8s", line[0]), line[1], r.Width))
		}
		r.explainInstallation(cmd.Context(), c, object)
		return nil
	}
	return cmd
}

// explainInstallation prints which part of the installation keeps an operator from handling an object.
func (r *verbs) explainInstallation(ctx context.Context, c *cluster.Client, object client.Object) {
	for _, f := range doctor.Waiting(ctx, c, object) {
		fmt.Fprintln(r.Out, terminal.Wrap("cause:  ", f.Text, r.Width))
		if f.Fix != "" {
			fmt.Fprintln(r.Out, "do:     "+bounds.Line(string(f.Fix)))
		}
	}
}
