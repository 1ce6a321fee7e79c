package monitoring

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Condition is True if spec.monitoring requests metrics that no process can read, or that are served
// at another port than expected. Its message contains the reason and what to do. Otherwise the condition is absent. The
// application runs in any case. Each attempt emits one warning event.
const Condition = "MonitoringImpaired"

// These are the reasons of the condition MonitoringImpaired. If spec.monitoring has several problems, the
// condition has the reason of the first one.
const (
	reasonNoExporter      = "NoExporter"     // no exporter serves the metrics
	reasonNothingExposed  = "NothingExposed" // neither role exposes metrics
	reasonServletMissing  = "ServletMissing" // this Spark has no servlet, or its web server is off
	reasonPortTaken       = "PortTaken"      // something else uses the exporter's port
	servletField          = "spec.monitoring.prometheusServlet"
	firstLineWithServlets = 3
)

// mostTroubles is the maximum number of problems about the exporter's port for each role. Many containers may use this
// port too. Without a limit, the size of the messages and the number of events would grow with the number of
// containers.
const mostTroubles = 10

// Problem is the reason and the message of one problem with spec.monitoring.
type Problem struct{ Reason, Message string }

// Problems returns the problems of a valid application's monitoring settings. The function configuration returns
// the application's Spark configuration. It is not called in the common case that there is nothing to check.
func Problems(app *v1beta2.SparkApplication, configuration func() (*conf.Conf, error)) (found []Problem) {
	m := settingsOf(&app.Spec)

	shown, exposes := m.exporter || m.servlet, m.driver || m.executor
	if !shown && !exposes {
		return nil // the common case, and every pass comes here
	}

	c, err := configuration()
	switch {
	case err != nil:
		return nil // rejected elsewhere
	case !shown && (m.properties != "" || ownMetricsConf(c)):
		return nil // the user's own sink serves the metrics
	case !shown:
		return []Problem{{reasonNoExporter, "spec.monitoring exposes metrics, but nothing shows them: set " + servletField +
			", or spec.monitoring.prometheus with the JMX exporter's jar, or a sink of your own in metricsProperties"}}
	case !exposes:
		return []Problem{{reasonNothingExposed, "spec.monitoring exposes no metrics: set exposeDriverMetrics or exposeExecutorMetrics to true"}}
	}

	if m.servlet {
		found = servletProblems(app, c)
	}

	for _, role := range roles {
		if m.runsAgent(role) {
			found = append(found, portProblems(sparkoperator.PodSpec(&app.Spec, role), c, role, m.port)...)
		}
	}
	return found
}

// Impairment returns the reason and the message of the condition MonitoringImpaired. There must be at least
// one problem.
func Impairment(troubles []Problem) (reason, message string) {
	var all []string
	for _, t := range troubles {
		all = append(all, t.Message)
	}
	return troubles[0].Reason, strings.Join(all, "; ")
}

func servletProblems(app *v1beta2.SparkApplication, c *conf.Conf) []Problem {
	major, _, _ := strings.Cut(sparkoperator.ReleaseLine(app.Spec.SparkVersion), ".")
	if n, err := strconv.Atoi(major); err == nil && n < firstLineWithServlets {
		return []Problem{{reasonServletMissing, servletField + " has no effect: Spark " + app.Spec.SparkVersion +
			" has no servlet for Prometheus; use Spark 3.0 or newer, or spec.monitoring.prometheus"}}
	}

	if enabled, err := c.Bool(confUIEnabled, true); err == nil && !enabled {
		return []Problem{{reasonServletMissing, servletField + " has no effect: the servlet is a part of Spark's web UI, and spark.ui.enabled is false; " +
			"remove that key, or use spec.monitoring.prometheus"}}
	}
	return nil
}

// portProblems returns a problem for each Spark port and each container port that has the same number as the exporter's
// port. The exporter gets the port, because the JVM starts it first. Spark then uses the next free port, but a sidecar
// fails to listen on its port.
func portProblems(pod *v1beta2.SparkPodSpec, c *conf.Conf, role string, port int32) (found []Problem) {
	taken := func(user, then string) {
		found = append(found, Problem{reasonPortTaken, fmt.Sprintf("spec.monitoring.prometheus.port %d is also %s of the %s: %s; choose another port", port, user, role, then)})
	}

	const next = "the exporter uses it, and Spark takes the next free port"
	for _, own := range sparkPorts(role) {
		for i, key := range own.keys {
			if n, err := c.Int(key, own.otherwise); err == nil && (c.Has(key) || i == len(own.keys)-1) {
				if n == int(port) {
					taken(key, next)
				}
				break
			}
		}
	}

	template := rawtemplate.Pod(pod.Template).Spec.Containers
	for _, container := range slices.Concat(pod.Sidecars, template[min(1, len(template)):]) {
		for _, p := range container.Ports {
			if p.ContainerPort == port && p.Protocol != corev1.ProtocolUDP {
				taken("a port of the container "+conf.Shorten(container.Name), "one of the two cannot start")
			}

			if len(found) == mostTroubles {
				return found
			}
		}
	}
	return found
}

// ownPort is a port on which Spark listens. If several of its configuration keys are set, the first one determines the
// number.
type ownPort struct {
	keys      []string
	otherwise int
}

// sparkPorts returns the ports on which the Spark process of a role listens (BasicDriverFeatureStep,
// BasicExecutorFeatureStep).
func sparkPorts(role string) []ownPort {
	if role == "executor" {
		return []ownPort{{[]string{"spark.blockManager.port"}, 7079}}
	}
	return []ownPort{
		{[]string{"spark.driver.port"}, 7078},
		{[]string{"spark.driver.blockManager.port", "spark.blockManager.port"}, 7079},
		{[]string{confUIPort}, 4040},
	}
}
