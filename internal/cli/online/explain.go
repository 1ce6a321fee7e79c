package online

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func (r *verbs) explainCommand() *cobra.Command {
	var configuration, output string
	var zone screen.Zone
	cmd := &cobra.Command{
		Use:   "explain NAME|KIND/NAME",
		Short: "Say why an object is where it is, and what happens next",
		Long: "Says why an object is in its state, what keeps its pods from running, and what the operator does next and when. It makes\n" +
			"the operator's own decision from the status and the pods, and changes nothing. Times that depend on the operator's\n" +
			"configuration are those of the file of --config, or the defaults. If that file selects namespaces by their labels, the\n" +
			"labels of the object's namespace are read from the cluster.\n\n" +
			"If no operator has handled the last change for ten seconds, the verb also examines the installation as doctor does.",
		Example: "  sparkctl explain spark-pi",
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", outputUsage)
	zone.AddTo(cmd.Flags())
	cmd.Flags().StringVar(&configuration, "config", "", "the operator's configuration `file`; without one, all settings have their defaults")
	var operator preview.Operator
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		operator, err = preview.Load(configuration)
		return err
	}
	return selection.One(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		operator, err := r.placed(cmd, c, operator, object.GetNamespace())
		if err != nil {
			return err
		}

		pods, err := c.Pods(cmd.Context(), object)
		if err != nil {
			return err
		}

		c.ReadCause(cmd.Context(), object)

		events, err := c.Events(cmd.Context(), object, pods)
		if err != nil {
			return err
		}

		plan, err := operator.Next(object, pods)
		if err != nil {
			return err
		}

		lines := append(screen.Explanation(operator.Now, zone, object, pods, events, plan), Installation(cmd.Context(), c, object)...)
		if output != "" {
			report := screen.NewReport(operator.Now, object, pods, events)
			report.Explanation = lines
			return r.encode(report, output)
		}

		for _, line := range lines {
			width := r.Width
			if line.Command { // a line break would make it two commands
				width = 0
			}

			fmt.Fprintln(r.Out, terminal.Wrap(fmt.Sprintf("%-8s", line.Label+":"), line.Text, width))
		}
		return nil
	})
}

// Installation returns lines for an explanation, about the part of the installation that keeps an operator from
// handling an object.
func Installation(ctx context.Context, c *kube.Client, object client.Object) (lines []screen.Line) {
	for _, f := range append(doctor.Waiting(ctx, c, object), doctor.Unqueued(ctx, c, object)...) {
		lines = append(lines, screen.Line{Label: "cause", Text: f.Text})
		if f.Fix != "" {
			lines = append(lines, screen.Line{Label: "do", Text: string(f.Fix), Command: true})
		}
	}
	return lines
}
