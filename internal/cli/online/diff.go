package online

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/selection"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

func (r *verbs) diffCommand() *cobra.Command {
	var files []string
	var configuration string
	cmd := &cobra.Command{
		Use:   "diff (-f FILE|DIR|- | FILE ...)",
		Short: "Show what manifests would change in the cluster, and the effect",
		Long: "Compares the specs and labels of manifests with those of the stored objects, and says what the operator would do: restart the\n" +
			"application, change objects beside it, or nothing. It makes the operator's own decision, and changes nothing. Values that\n" +
			"look like secrets are hidden. If the operator's configuration selects namespaces by their labels, the labels of the\n" +
			"object's namespace are read from the cluster.",
		Example: "  sparkctl diff -f app.yaml",
	}
	connect := selection.Connection(cmd.Flags(), r.Err)
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "`file` or directory to read; - is the standard input; may be repeated")
	cmd.Flags().StringVar(&configuration, "config", "", "the operator's configuration `file`; without one, all settings have their defaults")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if files = append(files, args...); len(files) == 0 {
			return exit.Usagef("name the files with -f")
		}

		documents, err := manifest.Objects(files, r.Streams, metav1.FieldValidationWarn)
		if err != nil {
			return err
		}

		operator, err := preview.Load(configuration)
		if err != nil {
			return err
		}

		c, err := connect()
		if err != nil {
			return err
		}

		for i := range documents {
			if err := r.diff(cmd, c, operator, &documents[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// diff prints the differences between the object in a manifest and the stored object.
func (r *verbs) diff(cmd *cobra.Command, c *kube.Client, operator preview.Operator, d *manifest.Loaded) error {
	if d.Object.GetNamespace() == "" {
		d.Object.SetNamespace(c.Namespace)
	}

	operator, err := r.placed(cmd, c, operator, d.Object.GetNamespace())
	if err != nil {
		return err
	}

	review, err := operator.Review(d.Object)
	if err != nil {
		return exit.With(exit.Invalid, err)
	}

	for _, fault := range review.Faults {
		return exit.Errorf(exit.Invalid, "%s: %w", d.Place(fault.Field), fault)
	}

	kind := kinds.Of(d.Object)

	live := kind.New()
	switch err := c.Get(cmd.Context(), client.ObjectKeyFromObject(d.Object), live); {
	case change.Missing(err, kind.GroupVersion().WithResource(kind.Resource).GroupResource()):
		fmt.Fprintf(r.Out, "%s does not exist; kubectl apply would create it\n", kube.Title(d.Object))
		return nil
	case err != nil:
		return c.ExplainFor(err, kind)
	}

	live.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)
	edited := preview.Edited(live, d.Object)

	changes, err := preview.Differences(live, edited)
	if err != nil {
		return err
	}

	if len(changes) == 0 {
		fmt.Fprintf(r.Out, "%s: no change\n", kube.Title(live))
		return nil
	}

	pods, err := c.Pods(cmd.Context(), live)
	if err != nil {
		return err
	}

	change, err := operator.Change(live, d.Object, pods)
	if err != nil {
		return err
	}

	fmt.Fprintf(r.Out, "%s:\n", kube.Title(live))

	for _, d := range changes {
		fmt.Fprintln(r.Out, terminal.Wrap("  ", fmt.Sprintf("%s: %s -> %s", d.Path, d.Before, d.After), r.Width))
	}

	fmt.Fprintln(r.Out, terminal.Wrap("effect: ", effect(&change), r.Width))
	return nil
}

// effect returns a sentence about what the operator would do after the change.
func effect(change *preview.Change) string {
	switch {
	case change.Restarts:
		return "the operator stops the running attempt and restarts with the new spec"
	case change.Starts:
		return "the operator starts it again with the new spec"
	case len(change.Beside) > 0:
		return "the operator changes " + strings.Join(change.Beside, ", ")
	}
	return "nothing that runs changes"
}
