package configured_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/eventlimit"
	"github.com/sparkoperator/spark-operator/internal/engine/observe"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// capabilities lists the optional interfaces of a kind, and the kinds that implement each.
var capabilities = []struct {
	of    reflect.Type
	kinds []*kinds.Kind
}{
	{reflect.TypeFor[apply.Launcher](),
		[]*kinds.Kind{kinds.SparkApplication, kinds.SparkConnect, kinds.ApacheApplication}},
	{reflect.TypeFor[apply.Prober](),
		[]*kinds.Kind{kinds.SparkApplication, kinds.SparkConnect, kinds.ApacheApplication}},
	{reflect.TypeFor[apply.Queued](), []*kinds.Kind{kinds.SparkConnect, kinds.ApacheApplication, kinds.SparkCluster}},
	{reflect.TypeFor[auxiliary.Kind](),
		[]*kinds.Kind{kinds.SparkApplication, kinds.SparkConnect, kinds.ApacheApplication, kinds.SparkCluster}},
	{reflect.TypeFor[controller.ExecutorLabeler](), []*kinds.Kind{kinds.SparkApplication}},
	{reflect.TypeFor[controller.Selector](), []*kinds.Kind{kinds.ApacheApplication, kinds.SparkCluster}},
	{reflect.TypeFor[controller.Yielder](), []*kinds.Kind{kinds.SparkApplication}},
	{reflect.TypeFor[dependents.Adopter](),
		[]*kinds.Kind{kinds.SparkApplication, kinds.SparkConnect, kinds.ApacheApplication, kinds.SparkCluster}},
	{reflect.TypeFor[eventlimit.Kind](), []*kinds.Kind{kinds.ApacheApplication, kinds.SparkCluster}},
	{reflect.TypeFor[controller.Starter](), []*kinds.Kind{kinds.SparkApplication, kinds.SparkConnect, kinds.ApacheApplication}},
	{reflect.TypeFor[observe.Accountant](),
		[]*kinds.Kind{kinds.SparkApplication, kinds.SparkConnect, kinds.ApacheApplication, kinds.SparkCluster}},
	{reflect.TypeFor[observe.ExecutorCounter](), []*kinds.Kind{kinds.SparkApplication, kinds.ApacheApplication}},
	{reflect.TypeFor[observe.GroupHeir](), []*kinds.Kind{kinds.SparkApplication}},
	{reflect.TypeFor[runs.Kind](), []*kinds.Kind{kinds.Schedule}},
	{reflect.TypeFor[configured.Restarter](),
		[]*kinds.Kind{kinds.SparkApplication, kinds.SparkConnect, kinds.SparkCluster}},
}

// TestCapabilities checks which optional interfaces each kind implements. A method with a wrong signature would
// otherwise go unnoticed, and the kind would lack the capability. It also checks that each exported method of a kind
// belongs to an interface.
func TestCapabilities(t *testing.T) {
	for i := range configured.All {
		served := &configured.All[i]
		kind := reflect.TypeOf(served.Build(config.Default, nil))

		read := map[string]bool{}
		for m := range reflect.TypeFor[configured.Kind]().Methods() {
			read[m.Name] = true
		}

		for _, capability := range capabilities {
			want := slices.Contains(capability.kinds, served.Kind)
			if got := kind.Implements(capability.of); got != want {
				t.Errorf("%s implements %s: %t, want %t", served.Name, capability.of, got, want)
			}

			for m := range capability.of.Methods() {
				read[m.Name] = read[m.Name] || want
			}
		}

		for m := range kind.Methods() {
			if !read[m.Name] {
				t.Errorf("%s: no interface has the method %s", served.Name, m.Name)
			}
		}
	}
}
