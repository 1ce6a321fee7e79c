package monitoring

import (
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Configure sets the configuration that makes Spark expose its metrics, and the annotations for Prometheus. It
// must be called after all other configuration is set.
func Configure(c *conf.Conf, app *v1beta2.SparkApplication) {
	m := settingsOf(&app.Spec)
	if m.properties != "" {
		c.Set(confMetricsConf, m.properties)
	}

	if m.exporter {
		// The rules of the exporter, and those that users wrote for this API, convert this namespace into labels.
		c.Set(confMetricsNamespace, app.Namespace+"."+app.Name)
	}

	for _, role := range roles {
		if m.runsAgent(role) {
			options := fields.PodKey(role, "javaOptions")
			before, _ := c.Get(options)
			c.Set(options, strings.TrimSpace(before+" "+m.agent))
			annotate(c, fields.PodKey(role, "annotations"), int(m.port), "/metrics")
		}
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
func servletConf(c *conf.Conf, m settings) {
	if !m.servlet {
		return
	}

	if m.driver {
		c.Set(confServletSink+"class", "org.apache.spark.metrics.sink.PrometheusServlet")
		c.Set(confServletSink+"path", strings.TrimSuffix(driverMetricsPath, "/"))
		c.SetIfMissing("spark.metrics.conf.driver.source.jvm.class", "org.apache.spark.metrics.source.JvmSource")
		// If there is another sink, such as Graphite, the namespace is not set, because that sink needs different names
		// for different applications.
		if m.properties == "" && !ownMetricsConf(c) {
			c.SetIfMissing(confMetricsNamespace, servletNamespace)
		}
	}

	if m.executor {
		c.Set(confUIPrometheus, "true") // the default is false before Spark 4.0
	}

	port, known := uiPort(c)
	if m.exporter || !known {
		return
	}

	prefix := fields.PodKey("driver", "annotations")
	if m.driver {
		annotateOnce(c, prefix, port, driverMetricsPath)

		prefix = fields.PodKey("driver", "serviceAnnotations")
	}

	if m.executor {
		annotateOnce(c, prefix, port, executorsMetricsPath)
	}
}

// annotate sets the annotations by which Prometheus finds a port. The argument prefix is the prefix of their keys.
func annotate(c *conf.Conf, prefix string, port int, path string) {
	c.Set(prefix+scrapeAnnotation, "true")
	c.Set(prefix+portAnnotation, strconv.Itoa(port))
	c.Set(prefix+pathAnnotation, path)
}

// annotateOnce is like annotate, but keeps annotations of the user, who may want to scrape only by a PodMonitor.
func annotateOnce(c *conf.Conf, prefix string, port int, path string) {
	if !c.Has(prefix+scrapeAnnotation) && !c.Has(prefix+portAnnotation) && !c.Has(prefix+pathAnnotation) {
		annotate(c, prefix, port, path)
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
