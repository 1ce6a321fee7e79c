package validate

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestValidMonitoring checks that two kinds of values are rejected with the name of the field: values with which a JVM
// would not start, and values that Kubernetes would reject.
func TestValidMonitoring(t *testing.T) {
	agent := func(fields string) string { return `spec: {monitoring: {prometheus: {` + fields + `}}}` }
	for _, test := range []struct{ name, piece, want string }{ // field|words; empty: accepted
		{"no jar", agent(`jmxExporterJar: ""`), "spec.monitoring.prometheus.jmxExporterJar|prometheusServlet"},
		{"a jar to be fetched", agent(`jmxExporterJar: https://a/b.jar`),
			"spec.monitoring.prometheus.jmxExporterJar|URI"},
		{"a jar of the image, as Spark writes it", agent(`jmxExporterJar: local:///b.jar`), ""},
		{"a jar with a blank", agent(`jmxExporterJar: "/a b.jar"`), "spec.monitoring.prometheus.jmxExporterJar|blank"},
		{"a jar with an equals sign", agent(`jmxExporterJar: /a=b.jar`),
			"spec.monitoring.prometheus.jmxExporterJar|equals"},
		{"rules to be fetched", agent(`configFile: s3a://b/c.yaml`), "spec.monitoring.prometheus.configFile|URI"},
		{"properties with a blank", `spec: {monitoring: {metricsPropertiesFile: "/a b"}}`,
			"spec.monitoring.metricsPropertiesFile|blank"},
		{"the lowest port", agent(`port: 1024`), ""},
		{"the highest port", agent(`port: 49151`), ""},
		{"too low", agent(`port: 1023`), "spec.monitoring.prometheus.port|from 1024 to 49151"},
		{"too high", agent(`port: 49152`), "spec.monitoring.prometheus.port|from 1024 to 49151"},
		{"a name that is none", agent(`portName: Not A Name`),
			"spec.monitoring.prometheus.portName|not a valid port name"},
		{"a name that is too long", agent(`portName: sixteen-letters-x`),
			"spec.monitoring.prometheus.portName|not a valid port name"},
		{"a name of Spark's", agent(`portName: blockmanager`), "spec.monitoring.prometheus.portName|Spark's own"},
		{"a name of the user's", `spec: {executor: {ports: [{name: jmx-exporter, protocol: TCP, containerPort: 1}]}}`,
			"spec.monitoring.prometheus.portName|spec.executor.ports"},
		{"a name of the user's, of the same port",
			`spec: {executor: {ports: [{name: jmx-exporter, protocol: TCP, containerPort: 8090}]}}`, ""},
		{"a mount where the files are", `spec: {executor: {configMaps: [{name: c, path: /etc/metrics/conf/}]}}`,
			"spec.executor.configMaps[0].path|spec.monitoring"},
		{"as large as a spec may be",
			`spec: {monitoring: {metricsProperties: "` + strings.Repeat("a",
				1<<18) + `", prometheus: {configuration: "` + strings.Repeat("a", 1<<17) + `"}}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			wrong := Spec(sparkapp.Of(t, sparkapp.WithAgent, test.piece))
			if test.want == "" {
				if len(wrong) > 0 {
					t.Errorf("refused: %v", wrong)
				}
				return
			}

			field, words, _ := strings.Cut(test.want, "|")
			if len(wrong) != 1 || wrong[0].Field != field || !strings.Contains(wrong[0].Message, words) {
				t.Errorf("refused %v, want %s", wrong, test.want)
			}
		})
	}
}

// TestMonitoringThatNoConfigMapHolds checks the size limit of the metrics ConfigMap. No spec that the API server stores
// can exceed the limit. The limit protects programs that create applications with the Go types.
func TestMonitoringThatNoConfigMapHolds(t *testing.T) {
	app := sparkapp.Of(t, sparkapp.WithAgent)
	app.Spec.Monitoring.MetricsProperties = new(strings.Repeat("a", 1<<19))
	app.Spec.Monitoring.Prometheus.Configuration = new(strings.Repeat("a", 1<<19))

	wrong := Spec(app)
	if len(wrong) != 1 || wrong[0].Field != "spec.monitoring.metricsProperties" ||
		!strings.Contains(wrong[0].Message, "metricsPropertiesFile") {
		t.Errorf("refused %.300v, want spec.monitoring.metricsProperties", wrong)
	}
}
