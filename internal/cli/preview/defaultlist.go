package preview

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
)

// WriteDefaults prints a table of the platform's defaults that affected the given objects, with their values and
// origins. The objects' annotations contain the names and origins of these defaults, and the settings contain the
// values. Values that look like secrets are hidden.
func WriteDefaults(out io.Writer, settings *platform.Settings, objects []client.Object) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tORIGIN")

	values := settings.Values()
	for _, object := range objects {
		origins := platform.Origins(object.GetAnnotations())
		for _, setting := range slices.Sorted(maps.Keys(origins)) {
			fmt.Fprintf(table, "%s\t%s\t%s\n", setting, values[setting], origins[setting])
		}
	}
	return table.Flush()
}
