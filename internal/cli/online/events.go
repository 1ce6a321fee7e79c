package online

import (
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
)

func (r *verbs) eventsCommand() *cobra.Command {
	var zone screen.Zone
	var output string
	cmd := &cobra.Command{
		Use:     "events NAME|KIND/NAME",
		Aliases: []string{"event"},
		Short:   "Show the Events about an object and its pods",
		Long:    "Shows the Events about an object and its pods, oldest first. Kubernetes keeps Events for an hour by default.",
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", outputUsage)
	zone.AddTo(cmd.Flags())
	return selection.One(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, object client.Object) error {
		pods, err := c.Pods(cmd.Context(), object)
		if err != nil {
			return err
		}

		events, err := c.Events(cmd.Context(), object, pods)
		if err != nil {
			return err
		}

		if output != "" {
			return r.encode(corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: events}, output)
		}

		view := screen.View{Zone: zone, Width: r.Width}
		for i := range events {
			fmt.Fprintln(r.Out, screen.EventLine(&events[i], view))
		}

		if len(events) == 0 {
			fmt.Fprintf(r.Err, "no Events about %s\n", kube.Title(object))
		}
		return nil
	})
}
