package application

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// minAgentPort and maxAgentPort are the lowest and the highest port that the CustomResourceDefinition allows for the
// exporter.
const (
	minAgentPort = 1024
	maxAgentPort = 49151
)

// sparkPortNames contains the names of the ports that Spark itself declares (Constants). Kubernetes rejects a pod that
// has two ports with the same name.
var sparkPortNames = []string{"driver-rpc-port", "blockmanager", "spark-ui", "spark-connect"}

// validMonitoring rejects settings that would prevent a JVM from starting, and settings with which Kubernetes would
// reject every executor pod.
func validMonitoring(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	m := monitoringOf(&app.Spec)
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, &dialect.FieldError{Field: "spec.monitoring." + field, Message: fmt.Sprintf(format, args...)})
	}
	file := func(field, text string) {
		if problem := notInImage(text); text != "" && problem != "" {
			refuse(field, "%q %s; write a path inside the image, such as /opt/metrics/%s", text, problem, field[strings.LastIndexByte(field, '.')+1:])
		}
	}
	file("metricsPropertiesFile", sparkoperator.StringValue(m.MetricsPropertiesFile))

	if p := m.Prometheus; p != nil {
		if p.JmxExporterJar == "" {
			refuse("prometheus.jmxExporterJar", "is empty; write the path of the JMX exporter's jar inside the image, or use prometheusServlet, which needs none")
		}

		file("prometheus.jmxExporterJar", p.JmxExporterJar)
		file("prometheus.configFile", sparkoperator.StringValue(p.ConfigFile))

		if port := m.agentPort(); port < minAgentPort || port > maxAgentPort {
			refuse("prometheus.port", "%d should be from %d to %d", port, minAgentPort, maxAgentPort)
		}

		name := m.agentPortName()
		if len(validation.IsValidPortName(name)) > 0 {
			refuse("prometheus.portName", "%q is not a valid port name: at most 15 lower case letters, digits and single '-', with a letter among them", name)
		} else if slices.Contains(sparkPortNames, name) {
			refuse("prometheus.portName", "%q is the name of a port of Spark's own; choose another", name)
		}

		if port, taken := portOfName(app.Spec.Executor.Ports, name); taken && m.agent("executor") && port != m.agentPort() {
			refuse("prometheus.portName", "%q is also the name of a port of spec.executor.ports; choose another", name)
		}
	}

	size := 0
	for name, content := range m.files() {
		size += len(name) + len(content)
	}

	if size > corev1.MaxSecretSize { // a ConfigMap has the same limit
		refuse("metricsProperties", "has %d bytes together with prometheus.configuration, which is more than a ConfigMap can hold (%d); "+
			"put both files into the image, and write their paths in metricsPropertiesFile and prometheus.configFile", size, corev1.MaxSecretSize)
	}
	return wrong
}

// notInImage returns the reason why a path is not a file in the image, or "". It also returns a reason if the path
// contains a character at which the path or the JVM option with the path would end, such as a blank.
func notInImage(text string) string {
	switch text = imagePath(text); {
	case strings.Contains(text, "://"):
		return "is a URI, which a JVM does not fetch"
	case strings.ContainsAny(text, " \t\n\"'="):
		return "has a blank, a quote or an equals sign, at which the option for the JVM would end"
	}
	return ""
}

func portOfName(ports []v1beta2.Port, name string) (int32, bool) {
	at := slices.IndexFunc(ports, func(p v1beta2.Port) bool { return p.Name == name })
	if at < 0 {
		return 0, false
	}
	return ports[at].ContainerPort, true
}

// ConditionMonitoringImpaired is True if spec.monitoring requests metrics that no process can read, or that are served
// at another port than expected. Its message contains the reason and what to do. Otherwise the condition is absent. The
// application runs in any case. Each attempt emits one warning event.
const ConditionMonitoringImpaired = "MonitoringImpaired"

// These are the reasons of the condition ConditionMonitoringImpaired. If spec.monitoring has several problems, the
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

// problem is the reason and the message of one problem with spec.monitoring.
type problem struct{ reason, message string }

// monitoringProblems returns the problems of a valid application's monitoring settings.
func monitoringProblems(l *launched) (found []problem) {
	app := l.Attempt.app
	m := monitoringOf(&app.Spec)

	shown, exposes := m.Prometheus != nil || m.servlet(), m.ExposeDriverMetrics || m.ExposeExecutorMetrics
	if !shown && !exposes {
		return nil // the common case, and every pass comes here
	}

	c, err := l.Configuration()
	switch {
	case err != nil:
		return nil // rejected elsewhere
	case !shown && (m.properties() != "" || ownMetricsConf(c)):
		return nil // the user's own sink serves the metrics
	case !shown:
		return []problem{{reasonNoExporter, "spec.monitoring exposes metrics, but nothing shows them: set " + servletField +
			", or spec.monitoring.prometheus with the JMX exporter's jar, or a sink of your own in metricsProperties"}}
	case !exposes:
		return []problem{{reasonNothingExposed, "spec.monitoring exposes no metrics: set exposeDriverMetrics or exposeExecutorMetrics to true"}}
	}

	if m.servlet() {
		found = servletProblems(app, c)
	}

	for _, role := range []string{"driver", "executor"} {
		if m.agent(role) {
			found = append(found, portProblems(app, c, role)...)
		}
	}
	return found
}

// impairment returns the reason and the message of the condition ConditionMonitoringImpaired. There must be at least
// one problem.
func impairment(troubles []problem) (reason, message string) {
	var all []string
	for _, t := range troubles {
		all = append(all, t.message)
	}
	return troubles[0].reason, strings.Join(all, "; ")
}

func servletProblems(app *v1beta2.SparkApplication, c *conf.Conf) []problem {
	major, _, _ := strings.Cut(lineOf(app.Spec.SparkVersion), ".")
	if n, err := strconv.Atoi(major); err == nil && n < firstLineWithServlets {
		return []problem{{reasonServletMissing, servletField + " has no effect: Spark " + app.Spec.SparkVersion +
			" has no servlet for Prometheus; use Spark 3.0 or newer, or spec.monitoring.prometheus"}}
	}

	if enabled, err := c.Bool(confUIEnabled, true); err == nil && !enabled {
		return []problem{{reasonServletMissing, servletField + " has no effect: the servlet is a part of Spark's web UI, and spark.ui.enabled is false; " +
			"remove that key, or use spec.monitoring.prometheus"}}
	}
	return nil
}

// portProblems returns a problem for each Spark port and each container port that has the same number as the exporter's
// port. The exporter gets the port, because the JVM starts it first. Spark then uses the next free port, but a sidecar
// fails to listen on its port.
func portProblems(app *v1beta2.SparkApplication, c *conf.Conf, role string) (found []problem) {
	port := monitoringOf(&app.Spec).agentPort()
	taken := func(user, then string) {
		found = append(found, problem{reasonPortTaken, fmt.Sprintf("spec.monitoring.prometheus.port %d is also %s of the %s: %s; choose another port", port, user, role, then)})
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

	pod := &app.Spec.Executor.SparkPodSpec
	if role == "driver" {
		pod = &app.Spec.Driver.SparkPodSpec
	}

	template := dialect.PodTemplate(pod.Template).Spec.Containers
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
