package configured

import (
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	apacheapp "github.com/sparkoperator/spark-operator/internal/dialect/apache/application"
	apachecluster "github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	sparkapp "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	sparkconnect "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/platformdefaults"
)

// NamespaceLabels returns the labels of a namespace, or nil if the labels are unknown. The labels select the platform's
// defaults for the objects in the namespace.
//
// The labels also select the platform's rules. But the rules do not use this function: they read the labels from the
// facts of the pass (Observed.NamespaceLabels), which come from the same cache. Rules and defaults differ in their
// needs:
//
//   - Rules judge only decisions and auxiliary objects, and the functions that compute these receive the facts. If the
//     labels are unknown, the pass ends with an error, because it must not skip a rule.
//   - Defaults are also needed by functions that receive no facts: the functions that render objects and executors,
//     emit events and adopt pods. If the labels are unknown, only the defaults for all namespaces apply.
type NamespaceLabels func(namespace string) map[string]string

// platformDefaults returns a function that returns the platform's defaults for an object. If the function labels is
// nil, only the defaults for all namespaces apply.
func platformDefaults(cfg config.Configuration, labels NamespaceLabels) func(client.Object) *platform.Settings {
	if len(cfg.Defaults) == 0 {
		return func(client.Object) *platform.Settings { return nil }
	}

	set := platformdefaults.New(cfg.Defaults)
	return func(object client.Object) *platform.Settings {
		var own map[string]string
		if labels != nil {
			own = labels(object.GetNamespace())
		}
		return set.For(own)
	}
}

// evaluatedOnce returns a function that returns the platform's defaults for an object in a given configuration. The
// function prepares the configuration's entries only if they differ from the entries of the previous call.
func evaluatedOnce(labels NamespaceLabels) func(config.Configuration, client.Object) *platform.Settings {
	type evaluated struct {
		first *platformdefaults.Default
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
func Defaults(cfg config.Configuration, object client.Object, labels NamespaceLabels) *platform.Settings {
	return platformDefaults(cfg, labels)(object)
}

// requiredFields returns the fields that a CustomResourceDefinition must have. If the configuration has platform
// defaults or serves queues, the result includes status.operator.defaults. This field records the defaults of a running
// custom resource and what a queue has added, so that a change of either does not change what already runs.
func requiredFields(cfg config.Configuration, fields ...string) []string {
	if len(cfg.Defaults) > 0 || cfg.Kueue.Enabled {
		fields = append(fields, "status.operator.defaults")
	}
	return fields
}

// requiredOfAttempts does what requiredFields does, for a kind with attempts. If logs are kept, the result includes
// status.operator.logs. Without this field, a restarted operator would read every log again.
func requiredOfAttempts(cfg config.Configuration, fields ...string) []string {
	if len(cfg.Logs) > 0 {
		fields = append(fields, "status.operator.logs")
	}
	return requiredFields(cfg, fields...)
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
