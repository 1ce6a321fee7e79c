package online

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/launch"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// placed returns the operator with the labels of a namespace, if its configuration selects namespaces by labels. If the
// labels are unknown, placed prints a note, and only the defaults and rules of all namespaces apply.
func (r *verbs) placed(cmd *cobra.Command, c *cluster.Client, operator launch.Operator, namespace string) (launch.Operator, error) {
	if !operator.Config.SelectsByNamespace() {
		return operator, nil
	}
	labels, note, err := c.NamespaceLabels(cmd.Context(), namespace)
	if err != nil {
		return operator, err
	}
	if note != "" {
		fmt.Fprintln(r.Err, terminal.Wrap("note: ", note+"; defaults and rules that select namespaces by labels are left out", r.Width))
	}
	operator.NamespaceLabels = labels
	return operator, nil
}
