package application

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestMonitoringTroubles checks that the operator reports metrics that no process can read, and says how to fix this.
// It reports nothing about metrics that can be read.
func TestMonitoringTroubles(t *testing.T) {
	port := func(n string) string { return `spec: {monitoring: {prometheus: {port: ` + n + `}}}` }
	for _, test := range []struct {
		name   string
		pieces []string
		want   []string // reason|words
	}{
		{"no monitoring", nil, nil},
		{"no role exposes metrics", []string{`spec: {monitoring: {exposeDriverMetrics: false, exposeExecutorMetrics: false}}`}, nil},
		{"the exporter", []string{sparkapp.WithAgent}, nil},
		{"the servlet", []string{sparkapp.WithServlet}, nil},
		{"the servlet of 3.5", []string{sparkapp.WithServlet, `spec: {sparkVersion: 3.5.9}`}, nil},
		{"a version that cannot be read", []string{sparkapp.WithServlet, `spec: {sparkVersion: latest}`}, nil},
		{"nothing serves the metrics",
			[]string{`spec: {monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: false}}`},
			[]string{"NoExporter|set spec.monitoring.prometheusServlet"}},
		{"a sink of the user's serves the metrics",
			[]string{`spec: {monitoring: {exposeDriverMetrics: true, metricsProperties: "a=b"}}`}, nil},
		{"a sink in sparkConf serves the metrics",
			[]string{`spec: {monitoring: {exposeDriverMetrics: true}, sparkConf: {spark.metrics.conf.driver.sink.csv.class: c}}`}, nil},
		{"the exporter for no role", []string{`spec: {monitoring: {prometheus: {jmxExporterJar: /a.jar}}}`},
			[]string{"NothingExposed|exposeDriverMetrics or exposeExecutorMetrics"}},
		{"the servlet for no role", []string{`spec: {monitoring: {prometheusServlet: true}}`},
			[]string{"NothingExposed|"}},
		{"a Spark without the servlet", []string{sparkapp.WithServlet, `spec: {sparkVersion: 2.4.8}`},
			[]string{"ServletMissing|Spark 2.4.8 has no servlet"}},
		{"no web server", []string{sparkapp.WithServlet, `spec: {sparkConf: {spark.ui.enabled: "false"}}`},
			[]string{"ServletMissing|spark.ui.enabled is false"}},
		{"no web server, with the exporter",
			[]string{sparkapp.WithAgent, `spec: {sparkConf: {spark.ui.enabled: "false"}}`}, nil},
		{"the driver's port", []string{sparkapp.WithAgent, port("7078")},
			[]string{"PortTaken|spark.driver.port of the driver"}},
		{"everybody's block manager", []string{sparkapp.WithAgent, port("7079")},
			[]string{"PortTaken|spark.blockManager.port of the driver",
				"PortTaken|spark.blockManager.port of the executor"}},
		{"the web server's port", []string{sparkapp.WithAgent, port("4040")},
			[]string{"PortTaken|spark.ui.port of the driver"}},
		{"a port that Spark has given up",
			[]string{sparkapp.WithAgent, port("4040"), `spec: {sparkConf: {spark.ui.port: "4041"}}`}, nil},
		{"a port that Spark is given",
			[]string{sparkapp.WithAgent, `spec: {sparkConf: {spark.driver.blockManager.port: "8090"}}`},
			[]string{"PortTaken|spark.driver.blockManager.port"}},
		{"a port of a role that is not exposed",
			[]string{sparkapp.WithAgent, port("4040"), `spec: {monitoring: {exposeDriverMetrics: false}}`}, nil},
		{"a sidecar's port", []string{sparkapp.WithAgent,
			`spec: {executor: {sidecars: [{name: proxy, image: i, ports: [{containerPort: 8090}]}]}}`},
			[]string{"PortTaken|the container proxy of the executor"}},
		{"a sidecar's port, of another protocol",
			[]string{sparkapp.WithAgent,
				`spec: {executor: {sidecars: [{name: proxy, image: i, ports: [{containerPort: 8090, protocol: UDP}]}]}}`}, nil},
		{"a port of the template", []string{sparkapp.WithAgent,
			`spec: {driver: {template: {spec: {containers: [{name: x}, {name: side, ports: [{containerPort: 8090}]}]}}}}`}, []string{"PortTaken|the container side of the driver"}},
		{"the same port, declared by the user too",
			[]string{sparkapp.WithAgent,
				`spec: {driver: {ports: [{name: mine, protocol: TCP, containerPort: 8090}]}}`}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := sparkapp.Of(t, test.pieces...)

			got := problems(app)
			if len(got) != len(test.want) {
				t.Fatalf("reported %v, want %v", got, test.want)
			}

			for i, want := range test.want {
				reason, words, _ := strings.Cut(want, "|")
				if got[i].Reason != reason || !strings.Contains(got[i].Message, words) {
					t.Errorf("reported %s: %s, want %s", got[i].Reason, got[i].Message, want)
				}
			}
			// An event of the attempt reports each problem, and a condition reports it as long as the attempt exists.
			objects := render(t, app, 1)
			for _, trouble := range got {
				if !slices.Contains(objects.Warnings, trouble.Message) {
					t.Errorf("no warning of %s in %q", trouble.Message, objects.Warnings)
				}
			}

			for _, m := range []lifecycle.Memory{sparkapp.In(lifecycle.Launched), sparkapp.In(lifecycle.Running),
				sparkapp.In(lifecycle.Done, sparkapp.Ended(lifecycle.Succeeded))} {
				usual.encodeConditions(app, usual.app(app), m, sparkapp.T0)

				condition := meta.FindStatusCondition(app.Status.Conditions, monitoring.Condition)
				if (condition != nil) != (len(got) > 0) {
					t.Fatalf("%s: the condition is %v", m.Phase, condition)
				}

				if condition != nil && (condition.Reason != got[0].Reason || condition.Status != "True") {
					t.Errorf("%s: the condition is %v", m.Phase, condition)
				}
			}

			usual.encodeConditions(app, usual.app(app), lifecycle.Memory{}, sparkapp.T0)

			if meta.FindStatusCondition(app.Status.Conditions, monitoring.Condition) != nil {
				t.Error("a condition before anything is launched")
			}
		})
	}
}
