// Package monitoring reads spec.monitoring of a SparkApplication. monitoring.go has the settings, conf.go the
// configuration keys that they set, field.go the way back from a key to the field, objects.go the ConfigMap and the
// ports in the pods, validate.go the values that are rejected, and problems.go the metrics that nobody can read.
package monitoring

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

// These are names on which tools of this API rely: the suffix of the metrics ConfigMap's name, its mount path, the
// exporter's port, and the annotations by which Prometheus finds a pod.
const (
	configMapSuffix  = "-prom-conf"
	configMapDir     = "/etc/metrics/conf"
	agentPort        = 8090
	agentPortName    = "jmx-exporter"
	scrapeAnnotation = "prometheus.io/scrape"
	portAnnotation   = "prometheus.io/port"
	pathAnnotation   = "prometheus.io/path"
)

// driverMetricsPath and executorsMetricsPath are the paths at which the driver's web server serves metrics in
// Prometheus' format. Executors have no web server. Without the trailing slash, the server would answer a request with
// a redirect (JettyUtils).
const (
	driverMetricsPath    = "/metrics/prometheus/"
	executorsMetricsPath = "/metrics/executors/prometheus/"
)

// These are the Spark configuration keys that monitoring sets or reads.
const (
	confMetricsConf      = "spark.metrics.conf"
	confMetricsNamespace = "spark.metrics.namespace"
	confServletSink      = "spark.metrics.conf.driver.sink.prometheusServlet."
	confUIPrometheus     = "spark.ui.prometheus.enabled"
	confUIEnabled        = "spark.ui.enabled"
	confUIPort           = "spark.ui.port"
)

// roles are the roles whose pods may expose metrics.
var roles = []string{"driver", "executor"}

// settings is spec.monitoring with its defaults. Its zero value means that the application has no monitoring.
type settings struct {
	driver, executor bool // whether the role exposes metrics
	servlet          bool // whether Spark's own servlet shows them
	exporter         bool // whether the JMX exporter shows them
	port             int32
	portName         string
	agent            string // the JVM option that starts the exporter as a Java agent (java.lang.instrument)
	properties       string // the path of metrics.properties in the pods; empty if Spark needs no such file
	// files are the files of the metrics ConfigMap; nil if neither Spark nor the exporter would read them. If the
	// exporter is used, there are both files even if only one is needed, because tools of this API expect both.
	files map[string]string
}

func settingsOf(spec *v1beta2.SparkApplicationSpec) (s settings) {
	m, text := spec.Monitoring, sparkoperator.StringValue
	if m == nil {
		return s
	}

	s = settings{driver: m.ExposeDriverMetrics, executor: m.ExposeExecutorMetrics, servlet: m.PrometheusServlet != nil && *m.PrometheusServlet}

	inImage, content := text(m.MetricsPropertiesFile), text(m.MetricsProperties)
	switch {
	case inImage != "":
		s.properties = imagePath(inImage)
	case m.Prometheus != nil || content != "":
		s.properties = path.Join(configMapDir, expose.MetricsPropertiesFile)
	}

	p := m.Prometheus
	if p == nil {
		if inImage == "" && content != "" {
			s.files = map[string]string{expose.MetricsPropertiesFile: content}
		}
		return s
	}

	s.exporter, s.port, s.portName = true, agentPort, cmp.Or(text(p.PortName), agentPortName)
	if p.Port != nil {
		s.port = *p.Port
	}

	rules := cmp.Or(text(p.ConfigFile), path.Join(configMapDir, expose.AgentConfigFile))
	s.agent = "-javaagent:" + imagePath(p.JmxExporterJar) + "=" + strconv.Itoa(int(s.port)) + ":" + imagePath(rules)

	if inImage == "" || text(p.ConfigFile) == "" {
		s.files = map[string]string{
			expose.MetricsPropertiesFile: cmp.Or(content, expose.MetricsProperties),
			expose.AgentConfigFile:       cmp.Or(text(p.Configuration), expose.AgentConfig),
		}
	}
	return s
}

// runsAgent reports whether a role's JVM runs the JMX exporter.
func (s settings) runsAgent(role string) bool {
	return s.exporter && (role == "driver" && s.driver || role == "executor" && s.executor)
}

// imagePath returns the path of a file in the image. Users may write the path as a URI with the scheme local too.
func imagePath(text string) string { return strings.TrimPrefix(text, "local://") }
