package kinds

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/defaults"
)

// NamespaceLabels returns the labels of a namespace, by which the configuration selects platform defaults. It returns
// nil if the labels are unknown.
type NamespaceLabels func(namespace string) map[string]string

// platformDefaults returns a function that returns the platform's defaults for an object. Only the first function of
// labels is used. Without one, no entry of the configuration that has a selector is used.
func platformDefaults(cfg config.Configuration, labels []NamespaceLabels) func(client.Object) *platform.Settings {
	if len(cfg.Defaults) == 0 {
		return func(client.Object) *platform.Settings { return nil }
	}
	set := defaults.New(cfg.Defaults)
	return func(object client.Object) *platform.Settings {
		var own map[string]string
		if len(labels) > 0 && labels[0] != nil {
			own = labels[0](object.GetNamespace())
		}
		return set.For(own)
	}
}

// Defaults returns the platform's defaults for an object; nil if there are none.
func Defaults(cfg config.Configuration, object client.Object, labels ...NamespaceLabels) *platform.Settings {
	return platformDefaults(cfg, labels)(object)
}

// requiredFields returns the fields that a definition must have. If the configuration has defaults, these include the
// field that keeps a change of the defaults from changing what runs.
func requiredFields(cfg config.Configuration, fields ...string) []string {
	if len(cfg.Defaults) > 0 {
		fields = append(fields, "status.operator.defaults")
	}
	return fields
}
