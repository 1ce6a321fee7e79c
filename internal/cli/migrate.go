package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/chartvalues"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
)

// maxValues is the size of the largest values file that is converted.
const maxValues = 1 << 20

func (r *root) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Convert what an installation of another operator consists of",
		Long: "Converts files of an installation of another operator of Spark. Custom resources need no conversion, because the operator\n" +
			"serves both API groups.",
		Example: "  sparkctl migrate values values.yaml > new-values.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "values FILE|-",
		Short: "Convert the values file of another operator's Helm chart",
		Long: "Reads the values file of the Helm chart of kubeflow/spark-operator (1.x or 2.x) or of the Apache Spark project's operator,\n" +
			"and prints the values of this operator's chart that mean the same, without a cluster. A comment stands at each value that\n" +
			"was moved. Comments at the beginning name the values that were removed, and why. The chart also takes the original file;\n" +
			"it then names the same values after the installation.",
		Example: "  helm get values spark-operator -n spark-operator -o yaml | sparkctl migrate values - > values.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return r.migrateValues(args[0]) },
	})
	return cmd
}

// migrateValues prints the converted values of a file, or of the standard input if the name is -.
func (r *root) migrateValues(name string) error {
	text, err := manifest.Load(name, r.In)
	if err != nil {
		return exit.With(exit.Invalid, err)
	}

	if len(text) > maxValues {
		return exit.Errorf(exit.Invalid, "%s has more than %d bytes; is it a values file?", name, maxValues)
	}

	out, err := chartvalues.Convert(text)
	if err != nil {
		return exit.Errorf(exit.Invalid, "%s: %w", name, err)
	}

	_, err = fmt.Fprint(r.Out, string(out))
	return err
}
