package online

import (
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/cli/screen"
)

func (r *verbs) eventsCommand() *cobra.Command {
	var zone screen.Zone
	var output string
	cmd := &cobra.Command{
		Use:     "events NAME|KIND/NAME",
		Aliases: []string{"event"},
		Short:   "Show the Events about an object and its pods",
		Long:    "Shows the Events about an object and its pods, oldest first. Kubernetes keeps Events for an hour by default.",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", outputUsage)
	zone.AddTo(cmd.Flags())
	connect := connection(cmd.Flags(), r.Err)
	cmd.ValidArgsFunction = completeNames(connect)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, object, err := named(cmd, connect, args)
		if err != nil {
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

		if output != "" {
			return r.encode(corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: events}, output)
		}

		view := screen.View{Zone: zone, Width: r.Width}
		for i := range events {
			fmt.Fprintln(r.Out, screen.EventLine(&events[i], view))
		}

		if len(events) == 0 {
			fmt.Fprintf(r.Err, "no Events about %s\n", screen.Title(object))
		}
		return nil
	}
	return cmd
}
