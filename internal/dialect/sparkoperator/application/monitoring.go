package application

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// These are names on which tools of this API rely: the suffix of the metrics ConfigMap's name, its mount path, the
// exporter's port, and the annotations by which Prometheus finds a pod.
const (
	metricsConfigSuffix = "-prom-conf"
	metricsConfigDir    = "/etc/metrics/conf"
	agentPort           = 8090
	agentPortName       = "jmx-exporter"
	scrapeAnnotation    = "prometheus.io/scrape"
	portAnnotation      = "prometheus.io/port"
	pathAnnotation      = "prometheus.io/path"
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

// monitoring adds methods to spec.monitoring. Its zero value means that the application has no monitoring.
type monitoring struct{ v1beta2.MonitoringSpec }

func monitoringOf(spec *v1beta2.SparkApplicationSpec) monitoring {
	if spec.Monitoring == nil {
		return monitoring{}
	}
	return monitoring{*spec.Monitoring}
}

// exposed reports whether a role exposes metrics.
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
	return cmp.Or(sparkoperator.StringValue(m.Prometheus.PortName), agentPortName)
}

// files returns the files of the metrics ConfigMap, or nil if neither Spark nor the exporter would read them. If the
// exporter is used, the ConfigMap contains both files even if only one is needed, because tools of this API expect
// both.
func (m monitoring) files() map[string]string {
	ownProperties := sparkoperator.StringValue(m.MetricsPropertiesFile) != ""
	switch {
	case m.Prometheus != nil && (!ownProperties || sparkoperator.StringValue(m.Prometheus.ConfigFile) == ""):
		return map[string]string{
			expose.MetricsPropertiesFile: cmp.Or(sparkoperator.StringValue(m.MetricsProperties), expose.MetricsProperties),
			expose.AgentConfigFile:       cmp.Or(sparkoperator.StringValue(m.Prometheus.Configuration), expose.AgentConfig),
		}
	case m.Prometheus == nil && !ownProperties && sparkoperator.StringValue(m.MetricsProperties) != "":
		return map[string]string{expose.MetricsPropertiesFile: *m.MetricsProperties}
	}
	return nil
}

// properties returns the path of metrics.properties in the pods, or "" if Spark needs no such file.
func (m monitoring) properties() string {
	switch {
	case sparkoperator.StringValue(m.MetricsPropertiesFile) != "":
		return imagePath(*m.MetricsPropertiesFile)
	case m.Prometheus != nil || sparkoperator.StringValue(m.MetricsProperties) != "":
		return path.Join(metricsConfigDir, expose.MetricsPropertiesFile)
	}
	return ""
}

// javaAgent returns the JVM option that starts the exporter as a Java agent (java.lang.instrument).
func (m monitoring) javaAgent() string {
	config := path.Join(metricsConfigDir, expose.AgentConfigFile)
	if file := sparkoperator.StringValue(m.Prometheus.ConfigFile); file != "" {
		config = imagePath(file)
	}
	return "-javaagent:" + imagePath(m.Prometheus.JmxExporterJar) + "=" + strconv.Itoa(int(m.agentPort())) + ":" + config
}

// imagePath returns the path of a file in the image. Users may write the path as a URI with the scheme local too.
func imagePath(text string) string { return strings.TrimPrefix(text, "local://") }

// metricsConfigName returns the name of the metrics ConfigMap, which is the same for every attempt.
func metricsConfigName(app *v1beta2.SparkApplication) string { return app.Name + metricsConfigSuffix }

// withMonitoring adds the metrics ConfigMap to the objects that are created before an attempt's driver or runner pod.
// If some of the requested metrics cannot be read by any process, it also adds a warning.
func withMonitoring(objects *submit.Objects, l *launched) {
	app := l.Attempt.own
	for _, t := range monitoringProblems(l) {
		objects.Warnings = append(objects.Warnings, t.message)
	}

	files := monitoringOf(&app.Spec).files()
	if files == nil {
		return
	}

	labels := attemptLabels(app, l.Identity.Number, l.Identity.ID)
	labels[sparkoperator.LabelCreatedBy] = "true"
	objects.Before = slices.Insert(objects.Before, 0, submit.Object(expose.MetricsConfigMap(expose.Metrics{
		Namespace: app.Namespace, Name: metricsConfigName(app), Labels: labels, Owner: ownerReference(app), Files: files,
	})))
}

// monitoringOverlay mounts the files of the metrics ConfigMap and declares the exporter's port. The pods of both roles
// get the files, even if only one role exposes metrics: both have the path in their configuration, and Spark logs an
// error if the file is missing.
func monitoringOverlay(o *overlay.Overlay, app *v1beta2.SparkApplication, role string) {
	m := monitoringOf(&app.Spec)
	if m.files() != nil {
		o.ConfigMaps = append(o.ConfigMaps, overlay.ConfigMap{Name: metricsConfigName(app), Path: metricsConfigDir})
	}

	if m.agent(role) {
		o.Ports = append(o.Ports, corev1.ContainerPort{Name: m.agentPortName(), Protocol: corev1.ProtocolTCP, ContainerPort: m.agentPort()})
	}
}

// executorPorts returns the ports at which Prometheus scrapes executors.
func executorPorts(spec *v1beta2.SparkApplicationSpec) []int32 {
	if m := monitoringOf(spec); m.agent("executor") {
		return []int32{m.agentPort()}
	}
	return nil
}

// monitoringConf sets the configuration that makes Spark expose its metrics, and the annotations for Prometheus. It
// must be called after all other configuration is set.
func monitoringConf(c *conf.Conf, app *v1beta2.SparkApplication) {
	m := monitoringOf(&app.Spec)
	if file := m.properties(); file != "" {
		c.Set(confMetricsConf, file)
	}

	if m.Prometheus != nil {
		// The rules of the exporter, and those that users wrote for this API, convert this namespace into labels.
		c.Set(confMetricsNamespace, app.Namespace+"."+app.Name)
	}

	for _, role := range []string{"driver", "executor"} {
		if !m.agent(role) {
			continue
		}

		options := podKey(role, "javaOptions")
		before, _ := c.Get(options)
		c.Set(options, strings.TrimSpace(before+" "+m.javaAgent()))

		prefix := podKey(role, "annotations")
		c.Set(prefix+scrapeAnnotation, "true")
		c.Set(prefix+portAnnotation, strconv.Itoa(int(m.agentPort())))
		c.Set(prefix+pathAnnotation, "/metrics")
	}

	servletConf(c, m)
}

// servletNamespace is the prefix of the names of the driver's metrics in Spark's servlet. With Spark's default prefix,
// the application's id, the names would differ in every attempt. Labels of the pod distinguish the applications
// instead.
const servletNamespace = "spark"

// servletConf enables Spark's metrics servlets. It also sets the annotations by which Prometheus finds them, unless the
// annotations already name the exporter.
//
// The annotations of an object can name only one path. If the driver serves its own metrics and those of the executors,
// the annotations of the driver pod name the path of the driver's metrics, and the annotations of the driver's Service
// name the path of the executors' metrics. Users of Spark usually configure Prometheus in this way.
func servletConf(c *conf.Conf, m monitoring) {
	if !m.servlet() {
		return
	}

	if m.ExposeDriverMetrics {
		c.Set(confServletSink+"class", "org.apache.spark.metrics.sink.PrometheusServlet")
		c.Set(confServletSink+"path", strings.TrimSuffix(driverMetricsPath, "/"))
		c.SetIfMissing("spark.metrics.conf.driver.source.jvm.class", "org.apache.spark.metrics.source.JvmSource")
		// If there is another sink, such as Graphite, the namespace is not set, because that sink needs different names
		// for different applications.
		if m.properties() == "" && !ownMetricsConf(c) {
			c.SetIfMissing(confMetricsNamespace, servletNamespace)
		}
	}

	if m.ExposeExecutorMetrics {
		c.Set(confUIPrometheus, "true") // the default is false before Spark 4.0
	}

	port, known := uiPort(c)
	if m.Prometheus != nil || !known {
		return
	}

	annotate := func(prefix, path string) {
		if c.Has(prefix+scrapeAnnotation) || c.Has(prefix+portAnnotation) || c.Has(prefix+pathAnnotation) {
			return // the user's choice, for example scraping only by a PodMonitor
		}

		c.Set(prefix+scrapeAnnotation, "true")
		c.Set(prefix+portAnnotation, strconv.Itoa(port))
		c.Set(prefix+pathAnnotation, path)
	}

	driver, service := podKey("driver", "annotations"), podKey("driver", "serviceAnnotations")
	switch {
	case m.ExposeDriverMetrics && m.ExposeExecutorMetrics:
		annotate(driver, driverMetricsPath)
		annotate(service, executorsMetricsPath)
	case m.ExposeDriverMetrics:
		annotate(driver, driverMetricsPath)
	case m.ExposeExecutorMetrics:
		annotate(driver, executorsMetricsPath)
	}
}

// ownMetricsConf reports whether the user's configuration contains a metrics sink or names a metrics file.
func ownMetricsConf(c *conf.Conf) bool {
	for key := range c.WithPrefix(confMetricsConf) {
		if key == "" || strings.Contains(key, ".sink.") && !strings.HasPrefix(confMetricsConf+key, confServletSink) {
			return true
		}
	}
	return false
}

// uiPort returns the port of the driver's web server. The result known is false if the web server is disabled or its
// port is unknown. Port 0, which means any free port, is rejected elsewhere.
func uiPort(c *conf.Conf) (port int, known bool) {
	enabled, err := c.Bool(confUIEnabled, true)
	if err != nil || !enabled {
		return 0, false
	}

	port, err = c.Int(confUIPort, 4040)
	return port, err == nil && port > 0
}
