package online

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/preview"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// placed returns a copy of the operator for objects in a namespace. If the operator's configuration selects namespaces
// by labels, placed reads the labels of the namespace and sets them in the copy. If the user may not read the labels,
// placed prints a note, and the copy uses only the defaults and rules for all namespaces.
func (r *verbs) placed(cmd *cobra.Command, c *kube.Client, operator preview.Operator, namespace string) (preview.Operator, error) {
	if !operator.Config.SelectsByNamespace() {
		return operator, nil
	}

	labels, note, err := c.NamespaceLabels(cmd.Context(), namespace)
	if err != nil {
		return operator, err
	}

	if note != "" {
		fmt.Fprintln(r.Err, terminal.Wrap("note: ", note+"; defaults and rules for namespaces with certain labels are left out", r.Width))
	}

	operator.NamespaceLabels = labels
	return operator, nil
}
