package online

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
)

func (r *verbs) suspendCommand() *cobra.Command {
	return r.suspension("suspend", true, "Stop objects until they are resumed",
		"Sets spec.suspend. A running application or Connect server ends, and starts anew once it is resumed. A suspended schedule\n"+
			"starts no runs; runs that are active continue. The pods of a suspended cluster are deleted. On a terminal, the verb asks for\n"+
			"a confirmation first.")
}

func (r *verbs) resumeCommand() *cobra.Command {
	return r.suspension("resume", false, "Start suspended objects again", "Clears spec.suspend.")
}

// suspension returns the command of the verb suspend or of the verb resume.
func (r *verbs) suspension(verb string, suspend bool, shortText, longText string) *cobra.Command {
	yes := !suspend

	cmd := &cobra.Command{
		Use: verb + " NAME|KIND/NAME ...", Short: shortText, Long: longText,
		Example: "  sparkctl " + verb + " spark-pi\n  sparkctl " + verb + " schedule/nightly",
	}
	if suspend {
		cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for a confirmation")
	}
	return selection.Several(cmd, r.Err, func(cmd *cobra.Command, c *kube.Client, objects []client.Object) error {
		if err := selection.Confirm(cmd.Context(), r.Streams, verb, objects, yes); err != nil {
			return err
		}

		for _, object := range objects {
			if err := change.Suspend(suspend).Apply(cmd.Context(), c, object); err != nil {
				return c.Explain(err)
			}

			fmt.Fprintf(r.Out, "%s %sd\n", kube.Title(object), map[bool]string{true: "suspende", false: "resume"}[suspend])
		}
		return nil
	})
}
