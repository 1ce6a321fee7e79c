package online

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
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
		var spec map[string]any
		switch object := object.(type) {
		case *sparkv1.SparkCluster:
			if scaled := object.Spec.ClusterTolerations.InstanceConfig; scaled.MinWorkers < scaled.MaxWorkers {
				return exit.Errorf(exit.Usage, "%s has an autoscaler, which sets the number of workers between %d and %d; edit minWorkers and maxWorkers instead", kube.Title(object), scaled.MinWorkers, scaled.MaxWorkers)
			}

			spec = map[string]any{"clusterTolerations": map[string]any{"instanceConfig": map[string]any{"initWorkers": replicas}}}
		case *v1alpha1.SparkConnect:
			if err := selection.Confirm(cmd.Context(), r.Streams, "replace the server of", []client.Object{object}, yes); err != nil {
				return err
			}

			spec = map[string]any{"executor": map[string]any{"instances": replicas}}
		default:
			return exit.Errorf(exit.Usage, "%s cannot be scaled; only a SparkCluster and a SparkConnect can be scaled; for an application, use dynamic allocation", kube.Title(object))
		}

		patch, err := json.Marshal(map[string]any{"spec": spec})
		if err != nil {
			return err
		}

		if err := c.Patch(cmd.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return c.Explain(err)
		}

		fmt.Fprintf(r.Out, "%s scaled to %d\n", kube.Title(object), replicas)
		return nil
	})
}
