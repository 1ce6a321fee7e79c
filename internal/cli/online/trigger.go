package online

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
)

func (r *verbs) triggerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trigger NAME",
		Short: "Start a run of a schedule now",
		Long: "Requests one run of a schedule outside its times, even while it is suspended. The run obeys the schedule's concurrency\n" +
			"policy. The request is an annotation (" + v1beta2.RunNowAnnotation + "), so it is not lost while the operator is down.",
		Example: "  sparkctl trigger nightly",
	}
	return selection.One(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		run, err := change.Trigger(object, time.Now())
		if err != nil {
			return err
		}

		if err := run.Apply(cmd.Context(), c, object); err != nil {
			return c.Explain(err)
		}

		fmt.Fprintf(r.Out, "%s: a run is requested (request %s)\n", kube.Title(object), run.Request)
		return nil
	})
}
