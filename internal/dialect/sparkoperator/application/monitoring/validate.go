package monitoring

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
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

// Validate rejects settings that would prevent a JVM from starting, and settings with which Kubernetes would
// reject every executor pod.
func Validate(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	spec := app.Spec.Monitoring
	if spec == nil {
		return nil
	}

	m := settingsOf(&app.Spec)
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, &dialect.FieldError{Field: "spec.monitoring." + field, Message: fmt.Sprintf(format, args...)})
	}
	file := func(field, text string) {
		if problem := notInImage(text); text != "" && problem != "" {
			refuse(field, "%q %s; write a path inside the image, such as /opt/metrics/%s", text, problem, field[strings.LastIndexByte(field, '.')+1:])
		}
	}
	file("metricsPropertiesFile", sparkoperator.StringValue(spec.MetricsPropertiesFile))

	if p := spec.Prometheus; p != nil {
		if p.JmxExporterJar == "" {
			refuse("prometheus.jmxExporterJar", "is empty; write the path of the JMX exporter's jar inside the image, or use prometheusServlet, which needs none")
		}

		file("prometheus.jmxExporterJar", p.JmxExporterJar)
		file("prometheus.configFile", sparkoperator.StringValue(p.ConfigFile))

		if m.port < minAgentPort || m.port > maxAgentPort {
			refuse("prometheus.port", "%d should be from %d to %d", m.port, minAgentPort, maxAgentPort)
		}

		if len(validation.IsValidPortName(m.portName)) > 0 {
			refuse("prometheus.portName", "%q is not a valid port name: at most 15 lower case letters, digits and single '-', with a letter among them", m.portName)
		} else if slices.Contains(sparkPortNames, m.portName) {
			refuse("prometheus.portName", "%q is the name of a port of Spark's own; choose another", m.portName)
		}

		ports := app.Spec.Executor.Ports

		same := slices.IndexFunc(ports, func(p v1beta2.Port) bool { return p.Name == m.portName })
		if same >= 0 && m.executor && ports[same].ContainerPort != m.port {
			refuse("prometheus.portName", "%q is also the name of a port of spec.executor.ports; choose another", m.portName)
		}
	}

	size := 0
	for name, content := range m.files {
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
