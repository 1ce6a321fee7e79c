package online

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
		if _, ok := object.(*v1beta2.ScheduledSparkApplication); !ok {
			return exit.Errorf(exit.Usage, "%s is not a schedule; if a schedule has the same name, write %s", kube.Title(object), "schedule/"+object.GetName())
		}

		request := time.Now().UTC().Format("20060102-150405.000")

		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1beta2.RunNowAnnotation: request}}})
		if err != nil {
			return err
		}

		if err := c.Patch(cmd.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return c.Explain(err)
		}

		fmt.Fprintf(r.Out, "%s: a run is requested (request %s)\n", kube.Title(object), request)
		return nil
	})
}
