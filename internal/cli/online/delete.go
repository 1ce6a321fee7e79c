package online

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/stage"
)

func (r *verbs) deleteCommand() *cobra.Command {
	var yes, wait bool
	cmd := &cobra.Command{
		Use:   "delete NAME|KIND/NAME ...",
		Short: "Delete objects, and everything that belongs to them",
		Long: "Deletes objects by name or by label. Their pods and the other objects that belong to them are deleted too, and the files\n" +
			"that the verb submit has put into an object store for them alone. On a terminal, the verb asks for a confirmation first, unless\n" +
			"--yes is set.",
		Example: "  sparkctl delete spark-pi --wait\n" +
			"  sparkctl delete -l team=data --yes",
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for a confirmation")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the objects and their pods are gone")
	return selection.Several(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, objects []client.Object) error {
		if err := selection.Confirm(cmd.Context(), r.Streams, "delete", objects, yes); err != nil {
			return err
		}

		for _, object := range objects {
			if err := change.Delete(cmd.Context(), c, object, false); err != nil && !apierrors.IsNotFound(err) {
				return c.Explain(err)
			}

			fmt.Fprintf(r.Out, "%s deleted\n", kube.Title(object))

			if err := stage.Unstage(cmd.Context(), c.WithWatch, object); err != nil {
				r.Warn(err.Error())
			}
		}

		for _, object := range objects {
			if !wait {
				break
			}

			err := c.Wait(cmd.Context(), object, kube.GoalDeleted, nil)
			if err == nil {
				err = c.WaitPodsGone(cmd.Context(), object)
			}

			if errors.Is(err, context.Canceled) {
				return exit.Detached("interrupted: the deletion of %s continues", kube.Title(object))
			}

			if err != nil {
				return err
			}
		}
		return nil
	})
}
