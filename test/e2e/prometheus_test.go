package e2e

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/e2e/cluster"
)

// scraping is the configuration of the Prometheus in the test. Real installations scrape every 15 to 60 s.
const scraping = `
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
  - {job_name: pods}
`

// dashboards scrapes the operator and a running application with Prometheus' own scraper and database, evaluates the
// alerts, and queries all panels of both dashboards. Each panel of an application must have data. The queries of the
// operator's panels must succeed, and most must have data. The others show what does not happen in every test run, such
// as lost Events.
func (w *suite) dashboards(t *testing.T) {
	app := w.example(t, "spark-pi-metrics.yaml", func(a *v1beta2.SparkApplication) { a.Name = "scraped" })
	w.create(t, app)
	w.awaitExecutor(t, app)

	driver, operator := w.podOf(t, app, "driver"), w.operatorPod(t)
	served := w.prometheus(t,
		target(operator, "8080", "/metrics"),
		target(driver, driver.Annotations[portAnnotation], driver.Annotations[pathAnnotation]),
		target(driver, driver.Annotations[portAnnotation], w.serviceOf(t, app).Annotations[pathAnnotation]))

	var config corev1.ConfigMap
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Release + "-dashboard"}, &config); err != nil {
		t.Fatal(err)
	}

	ofApplication := panelsOf(t, config.Data["spark-application.json"],
		"$namespace", driver.Namespace, "$driver", driver.Name, "$__rate_interval", "30s")
	eventually(t, 2*time.Minute, "data in each panel of the application", func() (string, bool) {
		empty := served.empty(t, ofApplication)
		return "no data in " + strings.Join(empty, ", "), len(empty) == 0
	})

	w.alerts(t, served)

	ofOperator := panelsOf(t, config.Data["spark-operator.json"],
		"$namespace", ".*", "$kind", ".*", "$__rate_interval", "30s")
	empty := served.empty(t, ofOperator)
	t.Logf("%d of %d panels of the operator have no data: %s", len(empty), len(ofOperator), strings.Join(empty, ", "))

	if len(empty) > len(ofOperator)/2 {
		t.Error("most must have data")
	}

	w.remove(t, app)
}

// alert is an alert of the chart.
type alert struct{ Alert, Expr string }

// chartAlerts returns the alerts of the chart as Helm renders them for the release.
func (w *suite) chartAlerts(t *testing.T) []alert {
	t.Helper()

	render := exec.CommandContext(t.Context(), w.HelmProgram(), "template", cluster.Release, root+"/charts/spark-operator",
		"--namespace", cluster.Namespace, "--show-only", "templates/prometheusrule.yaml", "--set", "prometheus.rules.create=true",
		"--api-versions", "monitoring.coreos.com/v1/PrometheusRule")

	text, err := render.Output()
	if err != nil {
		t.Fatalf("%v: %v", render.Args, err)
	}

	var rule struct {
		Spec struct{ Groups []struct{ Rules []alert } }
	}
	if err := kyaml.Unmarshal(text, &rule); err != nil || len(rule.Spec.Groups) != 1 {
		t.Fatalf("%v in\n%s", err, text)
	}
	return rule.Spec.Groups[0].Rules
}

// alerts evaluates each alert of the chart against what was scraped. A schedule that cannot run makes the condition of
// one of them true: it fires when its time is over. The operator leads, so the alert about a missing leader would show
// a missing series. In test/e2e/chart all alerts fire, with samples of the test.
func (w *suite) alerts(t *testing.T, served metricsStore) {
	t.Helper()

	schedule := w.schedule(t, "alerting", "every now and then", nil)
	if err := w.unreviewedClient(t).Create(t.Context(), schedule); err != nil {
		t.Fatal(err)
	}

	all := w.chartAlerts(t)
	eventually(t, 2*time.Minute, "the alert about a schedule that cannot run", func() (string, bool) {
		var active []string
		for _, a := range all {
			if len(served.query(t, a.Alert, a.Expr)) > 0 {
				active = append(active, a.Alert)
			}
		}
		return fmt.Sprintf("%d alerts; conditions that are true: %v", len(all), active),
			slices.Contains(active, "SparkOperatorSchedulesInvalid") && !slices.Contains(active, "SparkOperatorNoLeader")
	})

	served.absent(t, all)
	w.remove(t, schedule)
}

// absent logs the metrics of alerts without a series, which are counters of what has not happened yet. Most must have
// one, or the alerts would be about metrics that nobody serves.
func (s metricsStore) absent(t *testing.T, all []alert) {
	t.Helper()

	var present, absent []string
	for _, a := range all {
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(a.Expr)
		if err != nil {
			t.Fatalf("%s: %v", a.Alert, err)
		}

		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			n, ok := node.(*parser.VectorSelector)
			switch {
			case !ok || slices.Contains(append(present, absent...), n.Name):
			case len(s.query(t, a.Alert, n.Name)) > 0:
				present = append(present, n.Name)
			default:
				absent = append(absent, n.Name)
			}
			return nil
		})
	}

	t.Logf("%d metrics of the alerts have series; these have none: %s", len(present), strings.Join(absent, ", "))

	if len(present) < len(absent) {
		t.Error("most must have series")
	}
}

// operatorPod returns the pod of the controller.
func (w *suite) operatorPod(t *testing.T) *corev1.Pod {
	t.Helper()

	var list corev1.PodList
	if err := w.Client.List(t.Context(), &list, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{"app.kubernetes.io/component": "controller"}); err != nil || len(list.Items) == 0 {
		t.Fatalf("no pod of the controller: %v", err)
	}
	return &list.Items[0]
}

// target returns a target of Prometheus for a pod. The scraper reaches it through the API server, because the test is
// outside the pods' network. The labels are those that a PodMonitor sets.
func target(pod *corev1.Pod, port, path string) *targetgroup.Group {
	proxied := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%s/proxy%s", pod.Namespace, pod.Name, port, path)
	return &targetgroup.Group{Source: proxied, Targets: []model.LabelSet{{
		model.MetricsPathLabel: model.LabelValue(proxied),
		"namespace":            model.LabelValue(pod.Namespace), "pod": model.LabelValue(pod.Name),
		model.InstanceLabel: model.LabelValue(pod.Name + ":" + port + path),
	}}}
}

// metricsStore is a running Prometheus: a scraper, a database and an engine for queries.
type metricsStore struct {
	db     *tsdb.DB
	engine *promql.Engine
}

// prometheus scrapes the targets until the end of the test.
func (w *suite) prometheus(t *testing.T, targets ...*targetgroup.Group) metricsStore {
	t.Helper()

	proxy := w.apiProxy(t)
	for _, group := range targets {
		group.Targets[0][model.AddressLabel] = model.LabelValue(proxy)
	}

	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}

	manager, err := scrape.NewManager(&scrape.Options{DiscoveryReloadInterval: model.Duration(time.Second)},
		slog.New(slog.NewTextHandler(t.Output(), nil)), nil, db, nil, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}

	loaded, err := config.Load(scraping, nil)
	if err == nil {
		err = manager.ApplyConfig(loaded)
	}

	if err != nil {
		t.Fatal(err)
	}

	found, ended := make(chan map[string][]*targetgroup.Group, 1), make(chan error)
	found <- map[string][]*targetgroup.Group{"pods": targets}

	go func() { ended <- manager.Run(found) }()

	t.Cleanup(func() {
		manager.Stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}

		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})

	reader := parser.NewParser(parser.Options{})
	return metricsStore{db, promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 20, Timeout: time.Minute, Parser: reader})}
}

// apiProxy serves the API server without authentication on loopback until the end of the test, and returns the host and
// port.
func (w *suite) apiProxy(t *testing.T) string {
	t.Helper()

	transport, err := rest.TransportFor(w.Config)
	if err != nil {
		t.Fatal(err)
	}

	address, err := url.Parse(w.Config.Host)
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }})
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// panel is a panel of a dashboard, with its queries.
type panel struct {
	Title   string
	Targets []struct{ Expr string }
}

// panelsOf returns the panels with queries of a dashboard. The values replace the variables.
func panelsOf(t *testing.T, text string, variables ...string) []panel {
	t.Helper()

	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}

	panels := slices.DeleteFunc(dashboard.Panels, func(p panel) bool { return len(p.Targets) == 0 })
	if len(panels) == 0 {
		t.Fatal("the dashboard has no panels")
	}

	values := strings.NewReplacer(variables...)
	for _, p := range panels {
		for i := range p.Targets {
			p.Targets[i].Expr = values.Replace(p.Targets[i].Expr)
		}
	}
	return panels
}

// empty returns the titles of the panels in which a query has no result. A query that fails is an error.
func (s metricsStore) empty(t *testing.T, panels []panel) (titles []string) {
	t.Helper()

	for _, p := range panels {
		for _, target := range p.Targets {
			vector := s.query(t, "panel "+p.Title, target.Expr)
			if len(vector) == 0 && !slices.Contains(titles, p.Title) {
				titles = append(titles, p.Title)
			}
		}
	}
	return titles
}

// query returns the present result of an expression of a panel or an alert.
func (s metricsStore) query(t *testing.T, title, expression string) promql.Vector {
	t.Helper()

	query, err := s.engine.NewInstantQuery(t.Context(), s.db, promql.NewPrometheusQueryOpts(false, 0), expression, time.Now())
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	defer query.Close()

	vector, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %s: %v", title, expression, err)
	}
	return slices.Clone(vector)
}
