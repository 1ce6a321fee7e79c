package online

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
)

func (r *verbs) scaleCommand() *cobra.Command {
	var replicas int32
	var yes bool
	cmd := &cobra.Command{
		Use:   "scale NAME|KIND/NAME --replicas N",
		Short: "Change the number of workers or executors",
		Long: "Changes the number of workers of a SparkCluster (initWorkers), or of executors of a SparkConnect. The edit of a SparkConnect\n" +
			"replaces its server, so on a terminal the verb asks first. If a cluster has an autoscaler, edit minWorkers and\n" +
			"maxWorkers instead.\n\n" +
			"Applications are not scaled: an edit of their spec would restart them. Use dynamic allocation instead.",
		Example: "  sparkctl scale cluster/spark --replicas 5",
	}
	cmd.Flags().Int32Var(&replicas, "replicas", -1, "`number` of workers or executors")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for a confirmation")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if replicas < 0 {
			return exit.Usagef("give the number with --replicas")
		}
		return nil
	}
	return selection.One(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		scaled, err := change.Scale(object, replicas)
		if err != nil {
			return err
		}

		if _, ok := object.(*v1alpha1.SparkConnect); ok {
			if err := selection.Confirm(cmd.Context(), r.Streams, "replace the server of", []client.Object{object}, yes); err != nil {
				return err
			}
		}

		if err := scaled.Apply(cmd.Context(), c, object); err != nil {
			return c.Explain(err)
		}

		fmt.Fprintf(r.Out, "%s scaled to %d\n", kube.Title(object), replicas)
		return nil
	})
}
