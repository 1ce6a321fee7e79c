// Package platformdefaults has the configuration of a platform's defaults for custom resources, its validation, and its
// evaluation for a namespace. The evaluation is pure. Package internal/dialect/platform merges the result into custom
// resources.
package platformdefaults

import (
	"maps"
	"slices"

	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Default is an entry of the list "defaults" of the configuration file. Each entry sets defaults for the custom
// resources in the namespaces that it selects. If several entries select a namespace, a later entry overrides an
// earlier one, setting by setting.
type Default struct {
	// Name names the entry in the origins of its settings. Default: none.
	Name string `json:"name,omitempty"`
	// NamespaceSelector selects Namespace objects by their labels, in the syntax of kubectl's --selector. With a
	// selector, the operator watches the metadata of every namespace. Default: all namespaces.
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
	// SparkConf is Spark configuration.
	SparkConf map[string]string `json:"sparkConf,omitempty"`
	// SparkDefaults is Spark configuration as the text of a spark-defaults.conf.
	SparkDefaults string `json:"sparkDefaults,omitempty"`
	// EventLogDirectory is the directory or bucket of the event logs. It sets spark.eventLog.dir, and switches event
	// logs on.
	EventLogDirectory string `json:"eventLogDirectory,omitempty"`
	// HistoryServer is the address of the History Server that reads these event logs, such as
	// https://history.example.com. Statuses contain links to it.
	HistoryServer string `json:"historyServer,omitempty"`
	// Images maps release lines of Spark, such as "4.1", to images. The images are for applications, Connect servers and
	// clusters that set none.
	Images map[string]string `json:"images,omitempty"`
	// ImagePullSecrets are names of Secrets in the namespace of the pods. They are for pods that have no pull secrets.
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	// Driver is for the pods of drivers, Connect servers and masters of clusters.
	Driver platform.Pod `json:"driver,omitzero"`
	// Executor is for the pods of executors and workers.
	Executor platform.Pod `json:"executor,omitzero"`
	// Timeouts limit the phases of applications that do not set spec.timeouts. A time-out that is missing here has the
	// value of section application.
	Timeouts platform.Timeouts `json:"timeouts,omitzero"`
	// TimeToLiveSeconds is how long a finished application is kept if it does not set this itself. 0 means forever.
	TimeToLiveSeconds *int64 `json:"timeToLiveSeconds,omitempty"`
}

// HistoryEntry is the name of the entry that the chart adds for its History Server. That server may have no address.
const HistoryEntry = "history-server"

// Selects reports whether one of the entries depends on the labels of namespaces.
func Selects(entries []Default) bool {
	for i := range entries {
		if entries[i].NamespaceSelector != "" {
			return true
		}
	}
	return false
}

// Redacted returns a copy of the entries for the log, in which values that look like secrets are hidden.
func Redacted(entries []Default) []Default {
	out := slices.Clone(entries)
	for i := range out {
		d := &out[i]

		d.SparkConf = maps.Clone(d.SparkConf)
		for key, value := range d.SparkConf {
			d.SparkConf[key] = conf.Redact(key, value)
		}

		if parsed, err := conf.UnmarshalProperties(d.SparkDefaults); err == nil && d.SparkDefaults != "" {
			for key, value := range parsed.Map() {
				parsed.Set(key, conf.Redact(key, value))
			}

			d.SparkDefaults = conf.MarshalProperties(parsed)
		}

		for _, pod := range []*platform.Pod{&d.Driver, &d.Executor} {
			pod.Env = slices.Clone(pod.Env)
			for j := range pod.Env {
				pod.Env[j].Value = conf.Redact(pod.Env[j].Name, pod.Env[j].Value)
			}
		}
	}
	return out
}
