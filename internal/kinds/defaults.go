package kinds

import (
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	apacheapp "github.com/sparkoperator/spark-operator/dialect/apache/application"
	apachecluster "github.com/sparkoperator/spark-operator/dialect/apache/cluster"
	"github.com/sparkoperator/spark-operator/dialect/platform"
	sparkapp "github.com/sparkoperator/spark-operator/dialect/sparkoperator/application"
	sparkconnect "github.com/sparkoperator/spark-operator/dialect/sparkoperator/connect"
	sparkschedule "github.com/sparkoperator/spark-operator/dialect/sparkoperator/schedule"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/defaults"
)

// NamespaceLabels returns the labels of a namespace, by which the configuration selects platform defaults. It returns
// nil if the labels are unknown.
//
// The rules of the platform are selected by Observed.NamespaceLabels instead, from the same cache. Rules judge only
// decisions and auxiliary objects, both of which get the observed facts. A pass must end with an error if the labels
// are unknown, because no rule may be skipped. Defaults are also needed where nothing is observed: to render objects
// and executors, to emit events, and to adopt pods. Without the labels, the defaults of all namespaces apply there. A
// single source would have to pass the labels through each of these functions of a kind.
type NamespaceLabels func(namespace string) map[string]string

// platformDefaults returns a function that returns the platform's defaults for an object. Only the first function in
// labels is used. If labels is empty, the entries of the configuration that have a selector are not used.
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

// evaluatedOnce returns a function that does the same as platformDefaults for the given configuration. The function
// evaluates the entries again only if they differ from the entries of the previous call.
func evaluatedOnce(labels []NamespaceLabels) func(config.Configuration, client.Object) *platform.Settings {
	type evaluated struct {
		first *defaults.Default
		of    func(client.Object) *platform.Settings
	}
	var last atomic.Pointer[evaluated]
	return func(cfg config.Configuration, object client.Object) *platform.Settings {
		if len(cfg.Defaults) == 0 {
			return nil
		}
		known := last.Load()
		if known == nil || known.first != &cfg.Defaults[0] {
			known = &evaluated{first: &cfg.Defaults[0], of: platformDefaults(cfg, labels)}
			last.Store(known)
		}
		return known.of(object)
	}
}

// Defaults returns the platform's defaults for an object; nil if there are none.
func Defaults(cfg config.Configuration, object client.Object, labels ...NamespaceLabels) *platform.Settings {
	return platformDefaults(cfg, labels)(object)
}

// requiredFields returns the fields that a definition must have. If the configuration has defaults, the result includes
// the status field that records the defaults of a running custom resource. This record keeps a change of the defaults
// from changing what runs.
func requiredFields(cfg config.Configuration, fields ...string) []string {
	if len(cfg.Defaults) > 0 {
		fields = append(fields, "status.operator.defaults")
	}
	return fields
}

// The functions below return the dialect of a kind with the platform's defaults for an object.

func applicationsWith(options sparkapp.Options, s *platform.Settings) sparkapp.Dialect {
	options.Defaults = s
	return sparkapp.Dialect{Options: options}
}

func connectsWith(options sparkconnect.Options, s *platform.Settings) sparkconnect.Connects {
	options.Defaults = s
	return sparkconnect.Connects{Options: options}
}

func apacheWith(cfg config.Configuration, s *platform.Settings) apacheapp.Applications {
	options := apacheOptions(cfg)
	options.Defaults = s
	return apacheapp.Applications{Options: options}
}

func clustersWith(cfg config.Configuration, s *platform.Settings) apachecluster.Clusters {
	options := clusterOptions(cfg)
	options.Defaults = s
	return apachecluster.Clusters{Options: options}
}

func schedulesWith(schedules sparkschedule.Schedules, s *platform.Settings) sparkschedule.Schedules {
	schedules.Applications.Defaults = s
	return schedules
}
