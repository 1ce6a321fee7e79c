package expose

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of the files in a metrics ConfigMap.
const (
	// MetricsPropertiesFile configures Spark's metrics system (spark.metrics.conf).
	MetricsPropertiesFile = "metrics.properties"
	// AgentConfigFile configures the JMX exporter.
	AgentConfigFile = "prometheus.yaml"
)

// MetricsProperties is the default configuration of Spark's metrics system. Every Spark process reports all its metrics
// through JMX (JmxSink), where the exporter reads them. The driver and the executors also report metrics of their JVMs
// (JvmSource).
const MetricsProperties = `# All metrics go to JMX, where the Prometheus JMX exporter reads them.
*.sink.jmx.class=org.apache.spark.metrics.sink.JmxSink
# Memory, garbage collection and threads of the JVMs.
driver.source.jvm.class=org.apache.spark.metrics.source.JvmSource
executor.source.jvm.class=org.apache.spark.metrics.source.JvmSource
`

// AgentConfig is the default configuration of the JMX exporter. It selects the metrics of Spark that the exporter
// exposes, and sets their names and labels. It requires that spark.metrics.namespace is NAMESPACE.APPLICATION, because
// its two parts become the labels app_namespace and app_id.
//
// The exposed names are those that existing dashboards use. Since Spark 3, the JMX name of a metric ends with the
// metric's type, such as ", type=gauges". Counts, metrics of the listener bus, and metrics of the executors' JVMs have
// exposed names that contain this type, as in "_type_timers_count".
//
// The first four rules omit the type from the exposed name. This breaks no dashboard: the usual patterns for these
// gauges were written for Spark 2 and match no JMX name with a type, so no dashboard has received these gauges since
// Spark 3.
const AgentConfig = `lowercaseOutputName: true
rules:
  # Gauges of the driver: storage, jobs and stages, JVM.
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.driver\.(BlockManager|DAGScheduler|jvm)\.([^,]+)(?:, type=gauges)?><>Value'
    name: spark_driver_$3_$4
    type: GAUGE
    labels: {app_namespace: "$1", app_id: "$2"}
  # Spark Streaming.
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.driver\..+\.StreamingMetrics\.streaming\.([^,]+)(?:, type=gauges)?><>Value'
    name: spark_streaming_driver_$3
    type: GAUGE
    labels: {app_namespace: "$1", app_id: "$2"}
  # Structured Streaming, by query.
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.driver\.spark\.streaming\.(.+)\.([^.,]+)(?:, type=gauges)?><>Value'
    name: spark_structured_streaming_driver_$4
    type: GAUGE
    labels: {app_namespace: "$1", app_id: "$2", query_name: "$3"}
  # Gauges and counts of executors.
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.([^.]+)\.executor\.([^,]+)(?:, type=gauges)?><>Value'
    name: spark_executor_$4
    type: GAUGE
    labels: {app_namespace: "$1", app_id: "$2", executor_id: "$3"}
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.([^.]+)\.executor\.(.+)><>Count'
    name: spark_executor_$4_count
    type: COUNTER
    labels: {app_namespace: "$1", app_id: "$2", executor_id: "$3"}
  # Counts of the driver.
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.driver\.(DAGScheduler|HiveExternalCatalog|CodeGenerator|LiveListenerBus)\.(.+)><>Count'
    name: spark_driver_$3_$4_count
    type: COUNTER
    labels: {app_namespace: "$1", app_id: "$2"}
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.driver\.LiveListenerBus\.(.+)><>Value'
    name: spark_driver_LiveListenerBus_$3
    type: GAUGE
    labels: {app_namespace: "$1", app_id: "$2"}
  # What else executors show.
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.([0-9]+)\.(jvm|NettyBlockTransfer)\.(.+)><>Value'
    name: spark_executor_$4_$5
    type: GAUGE
    labels: {app_namespace: "$1", app_id: "$2", executor_id: "$3"}
  - pattern: 'metrics<name=([^.]+)\.([^.]+)\.([0-9]+)\.(HiveExternalCatalog|CodeGenerator)\.(.+)><>Count'
    name: spark_executor_$4_$5_count
    type: COUNTER
    labels: {app_namespace: "$1", app_id: "$2", executor_id: "$3"}
`

// Metrics is the input of a metrics ConfigMap.
type Metrics struct {
	Meta
	// Files are the contents by file name.
	Files map[string]string
}

// MetricsConfigMap returns the ConfigMap with the configuration files for the metrics of driver and executors.
//
// The ConfigMap is not immutable, because every attempt uses the same name. A kubelet does not reload an immutable
// ConfigMap while any pod of its node mounts it. With an immutable ConfigMap, the driver of a new attempt would
// therefore get the old files if an executor of the old attempt still ran on the same node.
func MetricsConfigMap(m Metrics) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: m.objectMeta(),
		Data:       maps.Clone(m.Files),
	}
}
