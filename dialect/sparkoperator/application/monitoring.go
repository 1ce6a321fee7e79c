package application

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// What readers of this API know of an application's metrics: the suffix of the ConfigMap's name, where it is mounted, the exporter's port, and the
// annotations by which Prometheus finds a pod.
const (
	metricsConfigSuffix = "-prom-conf"
	metricsConfigDir    = "/etc/metrics/conf"
	agentPort           = 8090
	agentPortName       = "jmx-exporter"
	scrapeAnnotation    = "prometheus.io/scrape"
	portAnnotation      = "prometheus.io/port"
	pathAnnotation      = "prometheus.io/path"
)

// Where Spark's web server shows metrics in Prometheus' format, both on the driver: executors have none. The slash at the end spares a scrape the
// redirect that the first would answer without (JettyUtils).
const (
	driverMetricsPath    = "/metrics/prometheus/"
	executorsMetricsPath = "/metrics/executors/prometheus/"
)

// Keys of Spark's that monitoring sets or reads.
const (
	confMetricsConf       = "spark.metrics.conf"
	confMetricsNamespace  = "spark.metrics.namespace"
	confServletSink       = "spark.metrics.conf.driver.sink.prometheusServlet."
	confUIPrometheus      = "spark.ui.prometheus.enabled"
	confUIEnabled         = "spark.ui.enabled"
	confUIPort            = "spark.ui.port"
	confDriverAnnotation  = "spark.kubernetes.driver.annotation."
	confServiceAnnotation = "spark.kubernetes.driver.service.annotation."
)

// monitoring is spec.monitoring, with what it comes to. The zero value is that of an application without.
type monitoring struct{ v1beta2.MonitoringSpec }

func monitoringOf(spec *v1beta2.SparkApplicationSpec) monitoring {
	if spec.Monitoring == nil {
		return monitoring{}
	}
	return monitoring{*spec.Monitoring}
}

// exposed reports whether a role's metrics are to be seen.
func (m monitoring) exposed(role string) bool {
	if role == "driver" {
		return m.ExposeDriverMetrics
	}
	return m.ExposeExecutorMetrics
}

func (m monitoring) servlet() bool { return m.PrometheusServlet != nil && *m.PrometheusServlet }

// agent reports whether a role's JVM runs the JMX exporter.
func (m monitoring) agent(role string) bool { return m.Prometheus != nil && m.exposed(role) }

func (m monitoring) agentPort() int32 {
	if m.Prometheus == nil || m.Prometheus.Port == nil {
		return agentPort
	}
	return *m.Prometheus.Port
}

func (m monitoring) agentPortName() string {
	return cmp.Or(sparkoperator.Value(m.Prometheus.PortName), agentPortName)
}

// files are those of the ConfigMap; none where nothing would read one. With the exporter both are there as soon as one of them is not the image's,
// as readers of this API know it.
func (m monitoring) files() map[string]string {
	ownProperties := sparkoperator.Value(m.MetricsPropertiesFile) != ""
	switch {
	case m.Prometheus != nil && (!ownProperties || sparkoperator.Value(m.Prometheus.ConfigFile) == ""):
		return map[string]string{
			expose.MetricsPropertiesFile: cmp.Or(sparkoperator.Value(m.MetricsProperties), expose.MetricsProperties),
			expose.AgentConfigFile:       cmp.Or(sparkoperator.Value(m.Prometheus.Configuration), expose.AgentConfig),
		}
	case m.Prometheus == nil && !ownProperties && sparkoperator.Value(m.MetricsProperties) != "":
		return map[string]string{expose.MetricsPropertiesFile: *m.MetricsProperties}
	}
	return nil
}

// properties is the path of metrics.properties in the pods; empty where Spark is not given any.
func (m monitoring) properties() string {
	switch {
	case sparkoperator.Value(m.MetricsPropertiesFile) != "":
		return imagePath(*m.MetricsPropertiesFile)
	case m.Prometheus != nil || sparkoperator.Value(m.MetricsProperties) != "":
		return path.Join(metricsConfigDir, expose.MetricsPropertiesFile)
	}
	return ""
}

// javaAgent is the option by which a JVM runs the exporter (java.lang.instrument).
func (m monitoring) javaAgent() string {
	config := path.Join(metricsConfigDir, expose.AgentConfigFile)
	if file := sparkoperator.Value(m.Prometheus.ConfigFile); file != "" {
		config = imagePath(file)
	}
	return "-javaagent:" + imagePath(m.Prometheus.JmxExporterJar) + "=" + strconv.Itoa(int(m.agentPort())) + ":" + config
}

// imagePath is a path inside the image, which Spark's users also write as a URI.
func imagePath(text string) string { return strings.TrimPrefix(text, "local://") }

// metricsConfigName is the name of every attempt's metrics ConfigMap.
func metricsConfigName(app *v1beta2.SparkApplication) string { return app.Name + metricsConfigSuffix }

// withMonitoring puts the metrics ConfigMap before what an attempt is launched as, whoever makes its driver pod, and says what will not be seen.
func withMonitoring(objects *submit.Objects, app *v1beta2.SparkApplication, attempt int32) {
	for _, t := range monitoringTroubles(app) {
		objects.Warnings = append(objects.Warnings, t.message)
	}
	files := monitoringOf(&app.Spec).files()
	if files == nil {
		return
	}
	labels := attemptLabels(app, attempt, submissionID(app, attempt))
	labels[sparkoperator.LabelCreatedBy] = "true"
	objects.Before = slices.Insert(objects.Before, 0, submit.Object(expose.MetricsConfigMap(expose.Metrics{
		Namespace: app.Namespace, Name: metricsConfigName(app), Labels: labels, Owner: ownerReference(app), Files: files,
	})))
}

// monitoringOverlay mounts the files where a role reads them and declares the exporter's port. The files are mounted into both roles: the path is in
// the configuration of both, and Spark logs an error where it is not.
func monitoringOverlay(o *overlay.Overlay, app *v1beta2.SparkApplication, role string) {
	m := monitoringOf(&app.Spec)
	if m.files() != nil {
		o.ConfigMaps = append(o.ConfigMaps, overlay.ConfigMap{Name: metricsConfigName(app), Path: metricsConfigDir})
	}
	if m.agent(role) {
		o.Ports = append(o.Ports, corev1.ContainerPort{Name: m.agentPortName(), Protocol: corev1.ProtocolTCP, ContainerPort: m.agentPort()})
	}
}

// executorPorts are what Prometheus connects to on executors.
func executorPorts(spec *v1beta2.SparkApplicationSpec) []int32 {
	if m := monitoringOf(spec); m.agent("executor") {
		return []int32{m.agentPort()}
	}
	return nil
}

// monitoringConf lets Spark show its metrics, and tells Prometheus where. It comes after everything else of the configuration.
func monitoringConf(c *conf.Conf, app *v1beta2.SparkApplication) {
	m := monitoringOf(&app.Spec)
	if file := m.properties(); file != "" {
		c.Set(confMetricsConf, file)
	}
	if m.Prometheus != nil {
		// The rules of the exporter make labels of it, also those that users have written for this API.
		c.Set(confMetricsNamespace, app.Namespace+"."+app.Name)
	}
	for _, role := range []string{"driver", "executor"} {
		if !m.agent(role) {
			continue
		}
		options := "spark." + role + ".extraJavaOptions"
		before, _ := c.Get(options)
		c.Set(options, strings.TrimSpace(before+" "+m.javaAgent()))
		prefix := "spark.kubernetes." + role + ".annotation."
		c.Set(prefix+scrapeAnnotation, "true")
		c.Set(prefix+portAnnotation, strconv.Itoa(int(m.agentPort())))
		c.Set(prefix+pathAnnotation, "/metrics")
	}
	servletConf(c, m)
}

// servletNamespace begins the names of what Spark's servlet shows of the driver. Spark's own choice is the application's id, by which every
// attempt would have other names; a pod's labels tell applications apart.
const servletNamespace = "spark"

// servletConf switches Spark's servlets on, and leads Prometheus to them where the exporter does not have the annotations. They have one path each,
// and a driver may have two: the executors' is then on the driver's Service, as Spark's users have always done it.
func servletConf(c *conf.Conf, m monitoring) {
	if !m.servlet() {
		return
	}
	if m.ExposeDriverMetrics {
		c.Set(confServletSink+"class", "org.apache.spark.metrics.sink.PrometheusServlet")
		c.Set(confServletSink+"path", strings.TrimSuffix(driverMetricsPath, "/"))
		c.SetIfMissing("spark.metrics.conf.driver.source.jvm.class", "org.apache.spark.metrics.source.JvmSource")
		// Another sink, such as Graphite, needs the names of applications to differ.
		if m.properties() == "" && !ownMetricsConf(c) {
			c.SetIfMissing(confMetricsNamespace, servletNamespace)
		}
	}
	if m.ExposeExecutorMetrics {
		c.Set(confUIPrometheus, "true") // before Spark 4.0 it is not by default
	}
	port, known := uiPort(c)
	if m.Prometheus != nil || !known {
		return
	}
	annotate := func(prefix, path string) {
		if c.Has(prefix+scrapeAnnotation) || c.Has(prefix+portAnnotation) || c.Has(prefix+pathAnnotation) {
			return // the user knows better, such as to scrape by a PodMonitor alone
		}
		c.Set(prefix+scrapeAnnotation, "true")
		c.Set(prefix+portAnnotation, strconv.Itoa(port))
		c.Set(prefix+pathAnnotation, path)
	}
	switch {
	case m.ExposeDriverMetrics && m.ExposeExecutorMetrics:
		annotate(confDriverAnnotation, driverMetricsPath)
		annotate(confServiceAnnotation, executorsMetricsPath)
	case m.ExposeDriverMetrics:
		annotate(confDriverAnnotation, driverMetricsPath)
	case m.ExposeExecutorMetrics:
		annotate(confDriverAnnotation, executorsMetricsPath)
	}
}

// ownMetricsConf reports whether the configuration has sinks of the user's.
func ownMetricsConf(c *conf.Conf) bool {
	for key := range c.WithPrefix(confMetricsConf) {
		if key == "" || strings.Contains(key, ".sink.") && !strings.HasPrefix(confMetricsConf+key, confServletSink) {
			return true
		}
	}
	return false
}

// uiPort is where the driver's web server listens, unless it is switched off. Any port that is free, which Spark takes for 0, is refused elsewhere.
func uiPort(c *conf.Conf) (port int, known bool) {
	enabled, err := c.Bool(confUIEnabled, true)
	if err != nil || !enabled {
		return 0, false
	}
	port, err = c.Int(confUIPort, 4040)
	return port, err == nil && port > 0
}
