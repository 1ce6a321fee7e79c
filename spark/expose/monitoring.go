package expose

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Files of a metrics ConfigMap.
const (
	// MetricsPropertiesFile configures Spark's metrics system (spark.metrics.conf).
	MetricsPropertiesFile = "metrics.properties"
	// AgentConfigFile configures the JMX exporter.
	AgentConfigFile = "prometheus.yaml"
)

// MetricsProperties is what Spark's metrics system is told where nobody says otherwise: every instance shows all its metrics by JMX (JmxSink), where
// the exporter finds them, and driver and executors those of their JVM too (JvmSource).
const MetricsProperties = `# All metrics go to JMX, where the Prometheus JMX exporter reads them.
*.sink.jmx.class=org.apache.spark.metrics.sink.JmxSink
# Memory, garbage collection and threads of the JVMs.
driver.source.jvm.class=org.apache.spark.metrics.source.JvmSource
executor.source.jvm.class=org.apache.spark.metrics.source.JvmSource
`

// AgentConfig is what the JMX exporter is told where nobody says otherwise: which of Spark's metrics it shows, and under which names and labels. It
// needs spark.metrics.namespace to be NAMESPACE.APPLICATION, which become the labels app_namespace and app_id.
//
// The names are those that dashboards know. Since Spark 3 a metric's kind is a part of its name in JMX (", type=gauges"); it has always got into the
// names of counts, and of what the listener bus and the executors' JVMs show, as "_type_timers_count", and stays there. The first five
// rules leave it out: their gauges were not shown at all by rules that did not know of it.
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

// Metrics is what a metrics ConfigMap is made of.
type Metrics struct {
	// Namespace and Name of the object. Nothing is checked: the API server refuses what is no name.
	Namespace, Name string
	// Labels of the object.
	Labels map[string]string
	// Owner of the object; none without a UID.
	Owner metav1.OwnerReference
	// Files by their names.
	Files map[string]string
}

// MetricsConfigMap returns the ConfigMap that brings driver and executors the files by which their metrics are shown.
//
// It is not immutable. Its name is that of every attempt, and a kubelet that knows an immutable ConfigMap does not look again while any pod of
// its node has it: a new attempt's driver beside an old one's last executor would get the old files.
func MetricsConfigMap(m Metrics) *corev1.ConfigMap {
	config := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: maps.Clone(m.Labels)},
		Data:       maps.Clone(m.Files),
	}
	if m.Owner.UID != "" {
		config.OwnerReferences = []metav1.OwnerReference{*m.Owner.DeepCopy()}
	}
	return config
}
