package monitoring_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/fieldtable"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// create returns the action that launches an attempt.
func create(attempt int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: attempt}
}

// renderApp returns the launch of an application's first attempt.
func renderApp(t *testing.T, pieces ...string) sparkapp.Launch {
	t.Helper()
	return sparkapp.LaunchOf(t, sparkapp.Of(t, pieces...), rendered(t, pieces...))
}

// rendered returns the objects of an application's first attempt, and fails the test if the application is invalid.
func rendered(t *testing.T, pieces ...string) submit.Objects {
	t.Helper()

	app := sparkapp.Of(t, pieces...)
	if wrong := validate.Spec(app); len(wrong) > 0 {
		t.Fatalf("refused: %v", wrong)
	}

	objects, err := application.Dialect{}.Render(app, create(1), sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// metricsConfigOf returns the metrics ConfigMap of an attempt, or nil if there is none.
func metricsConfigOf(objects submit.Objects) *corev1.ConfigMap {
	for _, object := range objects.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && strings.HasSuffix(config.Name, "-prom-conf") {
			return config
		}
	}
	return nil
}

// TestMetricsFiles checks which files the metrics ConfigMap contains, and from which paths Spark and the exporter read
// their configuration.
func TestMetricsFiles(t *testing.T) {
	const dir = "/etc/metrics/conf/"
	for _, test := range []struct {
		name, monitoring string
		files            map[string]string
		properties       string // spark.metrics.conf
		agentConfig      string // what the driver's exporter reads
	}{
		{"no monitoring", `{}`, nil, "", ""},
		{"the exporter", `{exposeDriverMetrics: true, prometheus: {jmxExporterJar: /a.jar}}`,
			map[string]string{"metrics.properties": expose.MetricsProperties, "prometheus.yaml": expose.AgentConfig},
			dir + "metrics.properties", dir + "prometheus.yaml"},
		{"the exporter for no role", `{prometheus: {jmxExporterJar: /a.jar}}`,
			map[string]string{"metrics.properties": expose.MetricsProperties, "prometheus.yaml": expose.AgentConfig},
			dir + "metrics.properties", ""},
		{"the user's own file contents",
			`{exposeDriverMetrics: true, metricsProperties: "a=b", prometheus: {jmxExporterJar: /a.jar, configuration: "rules: []"}}`,
			map[string]string{"metrics.properties": "a=b", "prometheus.yaml": "rules: []"}, dir + "metrics.properties",
			dir + "prometheus.yaml"},
		{"properties of the image", `{exposeDriverMetrics: true, metricsPropertiesFile: /m/p, metricsProperties: "a=b", prometheus: {jmxExporterJar: /a.jar}}`,
			map[string]string{"metrics.properties": "a=b", "prometheus.yaml": expose.AgentConfig}, "/m/p",
			dir + "prometheus.yaml"},
		{"rules of the image", `{exposeDriverMetrics: true, prometheus: {jmxExporterJar: /a.jar, configFile: /m/y, configuration: x}}`,
			map[string]string{"metrics.properties": expose.MetricsProperties, "prometheus.yaml": "x"},
			dir + "metrics.properties", "/m/y"},
		{"all of the image", `{exposeDriverMetrics: true, metricsPropertiesFile: local:///m/p, prometheus: {jmxExporterJar: local:///a.jar, configFile: local:///m/y}}`,
			nil, "/m/p", "/m/y"},
		{"properties without the exporter", `{metricsProperties: "a=b"}`,
			map[string]string{"metrics.properties": "a=b"}, dir + "metrics.properties", ""},
		{"properties of the image without the exporter", `{metricsProperties: "a=b", metricsPropertiesFile: /m/p}`, nil,
			"/m/p", ""},
		{"the servlet", `{exposeDriverMetrics: true, prometheusServlet: true}`, nil, "", ""},
		{"the servlet and other sinks",
			`{exposeDriverMetrics: true, prometheusServlet: true, metricsProperties: "a=b"}`,
			map[string]string{"metrics.properties": "a=b"}, dir + "metrics.properties", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			monitoring := `spec: {monitoring: ` + test.monitoring + `}`
			config := metricsConfigOf(rendered(t, monitoring))

			var files map[string]string
			if config != nil {
				files = config.Data
			}

			if diff := cmp.Diff(test.files, files); diff != "" {
				t.Errorf("files: -want +got:\n%s", diff)
			}

			m := renderApp(t, monitoring)
			if got := m.Conf["spark.metrics.conf"]; got != test.properties {
				t.Errorf("spark.metrics.conf is %q, want %q", got, test.properties)
			}

			want := ""
			if test.agentConfig != "" {
				want = "-javaagent:/a.jar=8090:" + test.agentConfig
			}

			if got := m.Conf["spark.driver.extraJavaOptions"]; got != want {
				t.Errorf("options of the driver's JVM are %q, want %q", got, want)
			}
			// A role without exposed metrics has no exporter. The files are in the pods of both roles, since the Spark
			// configuration of both names them.
			for _, role := range []string{"driver", "executor"} {
				pod, container := m.Role(role)

				mounted := len(sparkapp.MissingParts(container,
					any(fieldtable.Tree(t, `volumeMounts: [{name: pi-prom-conf-vol, mountPath: /etc/metrics/conf, readOnly: true}]`)), "")) == 0 &&
					len(sparkapp.MissingParts(pod,
						any(fieldtable.Tree(t, `spec: {volumes: [{name: pi-prom-conf-vol, configMap: {name: pi-prom-conf}}]}`)), "")) == 0
				if mounted != (test.files != nil) {
					t.Errorf("the files are mounted into the %s: %v", role, mounted)
				}
			}

			if _, ok := m.Conf["spark.executor.extraJavaOptions"]; ok {
				t.Error("executors have an exporter that nobody asked for")
			}
		})
	}
}

func TestMetricsConfigMap(t *testing.T) {
	objects := rendered(t, sparkapp.WithAgent)

	config := metricsConfigOf(objects)
	if config == nil || objects.Before[0] != submit.Object(config) {
		t.Fatal("the ConfigMap is not the first object")
	}

	app := sparkapp.Of(t, sparkapp.WithAgent)
	want := naming.AttemptLabels(app, 1, status.SubmissionID(app, 1))

	want[sparkoperator.LabelCreatedBy] = "true"
	if diff := cmp.Diff(want, config.Labels); diff != "" {
		t.Errorf("labels: -want +got:\n%s", diff)
	}

	if config.Namespace != app.Namespace || len(config.OwnerReferences) != 1 ||
		config.OwnerReferences[0].UID != app.UID {
		t.Errorf("metadata: %+v", config.ObjectMeta)
	}
	// The ConfigMaps of all attempts have the same name. Their labels distinguish the attempts; their content does not.
	second, err := application.Dialect{}.Render(app, create(2), sparkapp.T0)
	if err != nil {
		t.Fatal(err)
	}

	if other := metricsConfigOf(second); other.Name != config.Name || other.Labels[sparkoperator.LabelAttempt] != "2" {
		t.Errorf("of the second attempt: %+v", other.ObjectMeta)
	}
}

// TestMetricsOfLongNames checks that the name of the metrics volume is valid for Kubernetes even if the application's
// name is long.
func TestMetricsOfLongNames(t *testing.T) {
	name := strings.Repeat("a", 63)

	m := renderApp(t, `metadata: {name: `+name+`}`, sparkapp.WithAgent)
	for _, role := range []string{"driver", "executor"} {
		pod, _ := m.Role(role)

		found := false
		for _, v := range pod["spec"].(map[string]any)["volumes"].([]any) {
			volume := v.(map[string]any)
			if source, ok := volume["configMap"].(map[string]any); ok && source["name"] == name+"-prom-conf" {
				found = true

				if problems := validation.IsDNS1123Label(volume["name"].(string)); len(problems) > 0 {
					t.Errorf("volume of the %s: %v", role, problems)
				}
			}
		}

		if !found {
			t.Errorf("the %s has no such volume", role)
		}
	}
}

// TestMetricsBySparkSubmit checks that monitoring changes the pods in the same way if spark-submit creates the driver.
func TestMetricsBySparkSubmit(t *testing.T) {
	const submission = `spec: {submission: {mode: SparkSubmit}, sparkVersion: 4.2.1}`

	objects := rendered(t, submission, sparkapp.WithAgent)
	if config := metricsConfigOf(objects); config == nil || len(config.Data) != 2 {
		t.Errorf("the ConfigMap is %v", config)
	}
	var secret *corev1.Secret

	var policy *networkingv1.NetworkPolicy
	for _, object := range objects.Before {
		switch o := object.(type) {
		case *corev1.Secret:
			secret = o
		case *networkingv1.NetworkPolicy:
			policy = o
		}
	}

	for file, needs := range map[string][]string{
		"driver.json":   {"pi-prom-conf-vol", "/etc/metrics/conf", "jmx-exporter"},
		"executor.json": {"pi-prom-conf-vol", "/etc/metrics/conf", "jmx-exporter"},
		"spark.properties": {"-javaagent\\:/a.jar\\=8090\\:/etc/metrics/conf/prometheus.yaml",
			"spark.metrics.namespace=jobs.pi", "spark.kubernetes.executor.annotation.prometheus.io/scrape=true"},
	} {
		for _, want := range needs {
			if text := strings.ReplaceAll(string(secret.Data[file]), `\`, ""); !strings.Contains(text,
				strings.ReplaceAll(want, `\`, "")) {
				t.Errorf("%s has no %s", file, want)
			}
		}
	}

	if policy == nil || policy.Labels[sparkoperator.LabelAttempt] != "1" ||
		policy.Spec.PodSelector.MatchLabels[sparkoperator.LabelAppUID] == "" {
		t.Errorf("the policy is %+v", policy)
	}

	for key := range objects.Driver.Annotations {
		if strings.HasPrefix(key, "prometheus.io/") {
			t.Errorf("the pod that submits has the annotation %s", key)
		}
	}
}

// TestScrapePortIsOpen checks executors to which a NetworkPolicy of Spark restricts the connections. Prometheus must be
// able to connect to the exporter's port, and to no other port.
func TestScrapePortIsOpen(t *testing.T) {
	for _, test := range []struct {
		name   string
		pieces []string
		open   []int32
		fenced bool
	}{
		{"before 4.2", []string{sparkapp.WithAgent}, nil, false},
		{"4.2", []string{`spec: {sparkVersion: 4.2.1}`, sparkapp.WithAgent}, []int32{8090}, true},
		{"another port", []string{`spec: {sparkVersion: 4.3.0}`, sparkapp.WithAgent,
			`spec: {monitoring: {prometheus: {port: 9404}}}`}, []int32{9404}, true},
		{"the driver only", []string{`spec: {sparkVersion: 4.3.0}`, sparkapp.WithAgent,
			`spec: {monitoring: {exposeExecutorMetrics: false}}`}, nil, true},
		{"the servlet, which is the driver's", []string{`spec: {sparkVersion: 4.3.0}`, sparkapp.WithServlet},
			nil, true},
		{"no monitoring", []string{`spec: {sparkVersion: 4.3.0}`}, nil, true},
	} {
		fenced, open := false, []int32(nil)
		for _, object := range rendered(t, test.pieces...).Before {
			if policy, ok := object.(*networkingv1.NetworkPolicy); ok {
				fenced = true

				for _, rule := range policy.Spec.Ingress {
					for _, port := range rule.Ports {
						open = append(open, port.Port.IntVal)
					}
				}
			}
		}

		if fenced != test.fenced || !slices.Equal(open, test.open) {
			t.Errorf("%s: fenced %v, open %v; want %v, %v", test.name, fenced, open, test.fenced, test.open)
		}
	}
}

const (
	driverScrape  = "spark.kubernetes.driver.annotation.prometheus.io/"
	serviceScrape = "spark.kubernetes.driver.service.annotation.prometheus.io/"
	execScrape    = "spark.kubernetes.executor.annotation.prometheus.io/"
)

// scrapeTargets returns the addresses, such as "4040/metrics", at which Prometheus scrapes according to the annotations
// in a configuration. The keys of the result are the annotated objects: "driver", "service" and "executor". The value
// "!" means that Prometheus must skip the object.
func scrapeTargets(c map[string]string) map[string]string {
	out := map[string]string{}
	for what, prefix := range map[string]string{"driver": driverScrape, "service": serviceScrape,
		"executor": execScrape} {
		switch c[prefix+"scrape"] {
		case "true":
			out[what] = c[prefix+"port"] + c[prefix+"path"]
		case "false":
			out[what] = "!"
		}
	}
	return out
}

// TestScrapeAnnotations checks that the annotations name every endpoint that serves metrics, and no other.
func TestScrapeAnnotations(t *testing.T) {
	const driverPath, executorsPath = "/metrics/prometheus/", "/metrics/executors/prometheus/"
	type settings = map[string]string

	for _, test := range []struct {
		name   string
		pieces []string
		want   settings
	}{
		{"the exporter", []string{sparkapp.WithAgent}, settings{"driver": "8090/metrics", "executor": "8090/metrics"}},
		{"the exporter on the driver",
			[]string{sparkapp.WithAgent, `spec: {monitoring: {exposeExecutorMetrics: false}}`},
			settings{"driver": "8090/metrics"}},
		{"the exporter on executors, on another port",
			[]string{sparkapp.WithAgent, `spec: {monitoring: {exposeDriverMetrics: false, prometheus: {port: 9404}}}`},
			settings{"executor": "9404/metrics"}},
		{"the exporter overrides the user's annotations",
			[]string{sparkapp.WithAgent,
				`spec: {driver: {annotations: {prometheus.io/port: "1", prometheus.io/path: /x}}}`},
			settings{"driver": "8090/metrics", "executor": "8090/metrics"}},
		{"the servlet", []string{sparkapp.WithServlet},
			settings{"driver": "4040" + driverPath, "service": "4040" + executorsPath}},
		{"the servlet for the driver",
			[]string{sparkapp.WithServlet, `spec: {monitoring: {exposeExecutorMetrics: false}}`},
			settings{"driver": "4040" + driverPath}},
		{"the servlet for executors",
			[]string{sparkapp.WithServlet, `spec: {monitoring: {exposeDriverMetrics: false}}`},
			settings{"driver": "4040" + executorsPath}},
		{"the servlet for no role", []string{`spec: {monitoring: {prometheusServlet: true}}`}, settings{}},
		{"the servlet on another port", []string{sparkapp.WithServlet, `spec: {sparkConf: {spark.ui.port: "4321"}}`},
			settings{"driver": "4321" + driverPath, "service": "4321" + executorsPath}},
		{"the servlet without a web server",
			[]string{sparkapp.WithServlet, `spec: {sparkConf: {spark.ui.enabled: "false"}}`}, settings{}},
		{"the user's annotations override the servlet",
			[]string{sparkapp.WithServlet, `spec: {driver: {annotations: {prometheus.io/scrape: "false"}}}`},
			settings{"driver": "!", "service": "4040" + executorsPath}},
		{"both", []string{sparkapp.WithAgent, sparkapp.WithServlet},
			settings{"driver": "8090/metrics", "executor": "8090/metrics"}},
	} {
		if diff := cmp.Diff(test.want, scrapeTargets(renderApp(t, test.pieces...).Conf)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.name, diff)
		}
	}
}

// TestServletConf checks the configuration of Spark's metrics servlets, and the namespace of the driver's metrics.
func TestServletConf(t *testing.T) {
	const sink, source = "spark.metrics.conf.driver.sink.prometheusServlet.",
		"spark.metrics.conf.driver.source.jvm.class"
	watched := []string{sink + "class", sink + "path", source, "spark.ui.prometheus.enabled", "spark.metrics.namespace"}
	type settings = map[string]string
	whole := settings{
		sink + "class": "org.apache.spark.metrics.sink.PrometheusServlet", sink + "path": "/metrics/prometheus",
		source:                        "org.apache.spark.metrics.source.JvmSource",
		"spark.ui.prometheus.enabled": "true", "spark.metrics.namespace": "spark",
	}
	without := func(keys ...string) settings {
		c := maps.Clone(whole)
		for _, key := range keys {
			delete(c, key)
		}
		return c
	}

	named := func(name string) settings {
		c := maps.Clone(whole)
		c["spark.metrics.namespace"] = name
		return c
	}
	for _, test := range []struct {
		name   string
		pieces []string
		want   settings
	}{
		{"switched off", []string{sparkapp.WithServlet, `spec: {monitoring: {prometheusServlet: false}}`}, settings{}},
		{"for both", []string{sparkapp.WithServlet}, whole},
		{"for the driver", []string{sparkapp.WithServlet, `spec: {monitoring: {exposeExecutorMetrics: false}}`},
			without("spark.ui.prometheus.enabled")},
		{"for executors", []string{sparkapp.WithServlet, `spec: {monitoring: {exposeDriverMetrics: false}}`},
			settings{"spark.ui.prometheus.enabled": "true"}},
		{"named by the user", []string{sparkapp.WithServlet, `spec: {sparkConf: {spark.metrics.namespace: mine}}`},
			named("mine")},
		{"with the user's other sink",
			[]string{sparkapp.WithServlet, `spec: {sparkConf: {spark.metrics.conf.*.sink.graphite.class: g}}`},
			without("spark.metrics.namespace")},
		{"with the user's sources", []string{sparkapp.WithServlet,
			`spec: {sparkConf: {spark.metrics.conf.*.source.jvm.class: j}}`}, whole},
		{"with the user's file", []string{sparkapp.WithServlet, `spec: {sparkConf: {spark.metrics.conf: /f}}`},
			without("spark.metrics.namespace")},
		{"with properties", []string{sparkapp.WithServlet, `spec: {monitoring: {metricsProperties: a=b}}`},
			without("spark.metrics.namespace")},
		{"with the exporter", []string{sparkapp.WithServlet, sparkapp.WithAgent}, named("jobs.pi")},
	} {
		c := renderApp(t, test.pieces...).Conf

		got := settings{}
		for _, key := range watched {
			if value, ok := c[key]; ok {
				got[key] = value
			}
		}

		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.name, diff)
		}
	}
}

// TestAgentOptions checks that the exporter's JVM option comes after the user's JVM options, whether those are set by
// javaOptions or by sparkConf.
func TestAgentOptions(t *testing.T) {
	const agent = "-javaagent:/a.jar=8090:/etc/metrics/conf/prometheus.yaml"
	for _, test := range []struct{ name, piece, want string }{
		{"no JVM options", `spec: {}`, agent},
		{"javaOptions", `spec: {driver: {javaOptions: -Da=b}, executor: {javaOptions: -Da=b}}`, "-Da=b " + agent},
		{"sparkConf", `spec: {sparkConf: {spark.driver.extraJavaOptions: "-Dc=d ", spark.executor.extraJavaOptions: "-Dc=d "}}`, "-Dc=d  " + agent},
	} {
		c := renderApp(t, test.piece, sparkapp.WithAgent).Conf
		for _, role := range []string{"driver", "executor"} {
			if got := c["spark."+role+".extraJavaOptions"]; got != test.want {
				t.Errorf("%s, %s: %q, want %q", test.name, role, got, test.want)
			}
		}
	}
}

// TestMonitoringOfTheDriverAtOnePath checks that a user's mount at the path of the metrics files is rejected when the
// driver pod is built. The error must name the field of the user's mount.
func TestMonitoringOfTheDriverAtOnePath(t *testing.T) {
	app := sparkapp.Of(t, sparkapp.WithAgent, `spec: {driver: {configMaps: [{name: c, path: /etc/metrics/conf}]}}`)
	if got := (application.Dialect{}).Faults(app, sparkapp.T0); len(got) == 0 ||
		got[0].Field != "spec.driver.configMaps" {
		t.Errorf("refused for %v", got)
	}
}

// TestSpecIsLeftAlone checks that monitoring changes only the created objects and not the application.
func TestSpecIsLeftAlone(t *testing.T) {
	app := sparkapp.Of(t, sparkapp.WithAgent, sparkapp.WithServlet,
		`spec: {driver: {annotations: {a: b}, javaOptions: -Da=b}}`)

	before := app.DeepCopy()
	if _, err := (application.Dialect{}).Render(app, create(1), sparkapp.T0); err != nil {
		t.Fatal(err)
	}

	monitoring.Problems(app, func() (*conf.Conf, error) { return specification.Configuration(app) })

	if diff := cmp.Diff(before, app,
		cmp.AllowUnexported(v1beta2.SparkApplication{}.CreationTimestamp.Time)); diff != "" {
		t.Errorf("the application has changed:\n%s", diff)
	}
}
