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

// Default is a default of the platform, its value, and the entry of the configuration that sets it.
type Default struct{ Setting, Value, Origin string }

// UsedDefaults returns the platform's defaults that affected the given objects, with their values and origins. The
// objects' annotations contain the names and origins of these defaults, and the settings contain the values. Values
// that look like secrets are hidden.
func UsedDefaults(settings *platform.Settings, objects []client.Object) (used []Default) {
	values := settings.Values()
	for _, object := range objects {
		origins := platform.Origins(object.GetAnnotations())
		for _, setting := range slices.Sorted(maps.Keys(origins)) {
			used = append(used, Default{setting, values[setting], origins[setting]})
		}
	}
	return used
}

// WriteDefaults prints a table of the defaults that UsedDefaults returns.
func WriteDefaults(out io.Writer, settings *platform.Settings, objects []client.Object) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tORIGIN")

	for _, d := range UsedDefaults(settings, objects) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", d.Setting, d.Value, d.Origin)
	}
	return table.Flush()
}
