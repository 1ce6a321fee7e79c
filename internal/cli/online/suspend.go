package online

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/screen"
)

func (r *verbs) suspendCommand() *cobra.Command {
	return r.suspension("suspend", true, "Stop objects until they are resumed",
		"Sets spec.suspend. A running application or Connect server ends, and starts anew once it is resumed. A suspended schedule\n"+
			"starts no runs; runs that are active continue. On a terminal, the verb asks for a confirmation first.\n\n"+
			"The verb refuses the kinds of spark.apache.org: there spec.suspend holds an object before its start, and stops nothing.")
}

func (r *verbs) resumeCommand() *cobra.Command {
	return r.suspension("resume", false, "Start suspended objects again", "Clears spec.suspend.")
}

// suspension returns the command of the verb suspend or of the verb resume.
func (r *verbs) suspension(verb string, suspend bool, shortText, longText string) *cobra.Command {
	var selector string
	var yes bool
	cmd := &cobra.Command{
		Use: verb + " NAME|KIND/NAME ...", Short: shortText, Long: longText,
		Example: "  sparkctl " + verb + " spark-pi\n  sparkctl " + verb + " schedule/nightly",
	}
	connect := connection(cmd.Flags(), r.Err)
	cmd.ValidArgsFunction = completeNames(connect)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := connect()
		if err != nil {
			return err
		}

		objects, err := chosen(cmd, c, args, selector)
		if err != nil {
			return err
		}

		for _, object := range objects {
			if kind := kube.KindOf(object); suspend && !kind.Stops {
				return exit.Errorf(exit.Usage, "%s cannot be suspended, because spec.suspend stops no running object of %s; delete the object instead", screen.Title(object), kind.FullName())
			}
		}

		if err := r.confirm(cmd.Context(), verb, objects, yes || !suspend); err != nil {
			return err
		}

		patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend)
		for _, object := range objects {
			if err := c.Patch(cmd.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
				return c.Explain(err)
			}

			fmt.Fprintf(r.Out, "%s %sd\n", screen.Title(object), map[bool]string{true: "suspende", false: "resume"}[suspend])
		}
		return nil
	}
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "`labels` of the objects, instead of names")

	if suspend {
		cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for a confirmation")
	}
	return cmd
}
