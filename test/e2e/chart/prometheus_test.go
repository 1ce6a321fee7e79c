package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const everyMonitor = `
prometheus:
  podMonitor: {create: true}
  rules: {create: true}
  dashboard: {create: true}`

var monitoringAPIs = []string{"monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule"}

// metric is a row of docs/metrics.md. Other tests of the operator check that this page matches the served metrics.
type metric struct {
	kind   string
	labels []string
	ours   bool
}

func documentedMetrics(t *testing.T) map[string]metric {
	t.Helper()

	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}

	ours, libraries, found := strings.Cut(string(page), "\n## Of the libraries\n")
	if !found {
		t.Fatal("docs/metrics.md has changed its headings")
	}
	// The page has no row for each metric of a process, because it lists these metrics only as groups. The metrics of
	// Deployments come from kube-state-metrics.
	deployment := metric{kind: "gauge", labels: []string{"deployment"}}

	all := map[string]metric{
		"process_resident_memory_bytes": {kind: "gauge"},
		"kube_deployment_spec_replicas": deployment, "kube_deployment_status_replicas_available": deployment,
	}
	for _, section := range []string{ours, libraries} {
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if !strings.HasPrefix(line, "| `") || len(cells) != 6 {
				continue
			}

			row := metric{kind: strings.TrimSpace(cells[2]), ours: section == ours}
			for label := range strings.SplitSeq(strings.ReplaceAll(cells[3], "`", ""), ",") {
				if label = strings.TrimSpace(label); label != "" {
					row.labels = append(row.labels, label)
				}
			}

			all[strings.Trim(strings.TrimSpace(cells[1]), "`")] = row
		}
	}

	if len(all) < 40 {
		t.Fatalf("docs/metrics.md has only %d metrics", len(all))
	}
	return all
}

// lookUp returns the metric to which a series belongs, the labels of the series, and whether the metric exists.
func lookUp(all map[string]metric, name string) (metric, []string, bool) {
	m, found := all[name]
	if found && m.kind != "histogram" {
		return m, m.labels, true
	}

	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, has := strings.CutSuffix(name, suffix)

		m, found = all[base]
		switch {
		case !has || !found:
		case m.kind == "histogram" && suffix == "_bucket":
			return m, append(slices.Clone(m.labels), "le"), true
		case m.kind == "histogram", m.kind == "summary" && suffix != "_bucket":
			return m, m.labels, true
		}
	}
	return metric{}, nil, false
}

// targetLabels are the labels that Prometheus adds to every series that it scrapes from a pod.
var targetLabels = []string{"instance", "job", "namespace", "pod"}

// faultsOf returns the faults of an expression: a syntax error, or the metrics, labels and label values in the
// expression that the operator does not serve.
func faultsOf(all map[string]metric, expression string) (faults []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return []string{err.Error()}
	}

	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			faults = append(faults, selectorFaults(all, n, path)...)
		case *parser.AggregateExpr:
			known := append(labelsBelow(all, n.Expr), targetLabels...)
			for _, label := range n.Grouping {
				if !slices.Contains(known, label) {
					faults = append(faults, fmt.Sprintf("it is grouped by %s, which none of its metrics has", label))
				}
			}
		}
		return nil
	})
	return faults
}

func selectorFaults(all map[string]metric, n *parser.VectorSelector, path []parser.Node) (faults []string) {
	m, known, found := lookUp(all, n.Name)
	if !found {
		return []string{n.Name + " is not served"}
	}

	chosen := false
	for _, matcher := range n.LabelMatchers {
		if matcher.Name == model.MetricNameLabel {
			continue
		}

		chosen = chosen || slices.Contains([]string{"controller", "name", "deployment"}, matcher.Name)
		if !slices.Contains(append(known, targetLabels...), matcher.Name) {
			faults = append(faults, n.Name+" has no label "+matcher.Name)
		}

		words, closed := labelValues[matcher.Name]
		if !closed || matcher.Value == "$kind" {
			continue
		}

		for value := range strings.SplitSeq(matcher.Value, "|") {
			if !slices.Contains(words, value) {
				faults = append(faults, "there is no "+matcher.Name+" "+value)
			}
		}
	}

	for _, above := range path { // "and on (instance)" restricts a metric that every Go program has to the operator
		if both, ok := above.(*parser.BinaryExpr); ok && both.Op == parser.LAND &&
			slices.Equal(both.VectorMatching.MatchingLabels, []string{"instance"}) {
			chosen = true
		}
	}

	if !m.ours && !chosen {
		faults = append(faults, n.Name+" is served by other programs too: choose by controller or name, or by instance")
	}
	return faults
}

func labelsBelow(all map[string]metric, below parser.Node) (found []string) {
	parser.Inspect(below, func(node parser.Node, _ []parser.Node) error {
		if n, ok := node.(*parser.VectorSelector); ok {
			_, known, _ := lookUp(all, n.Name)
			found = append(found, known...)
		}
		return nil
	})
	return found
}

var allPhases = func() (names []string) {
	names = append(names, "New")
	for _, phase := range []lifecycle.Phase{lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready,
		lifecycle.Scaling,
		lifecycle.Running, lifecycle.Partial, lifecycle.Below, lifecycle.Unknown, lifecycle.Ended, lifecycle.Retained,
		lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended,
		lifecycle.Resuming, lifecycle.Editing} {
		names = append(names, string(phase))
	}
	return names
}()

// labelValues lists the possible values of each label that has a fixed set of values.
var labelValues = map[string][]string{
	"phase": allPhases,
	"kind": {"sparkapplication", "scheduledsparkapplication", "sparkconnect", "apachesparkapplication",
		"sparkcluster"},
	"state": {
		"NEW", string(v1beta2.ScheduleStateScheduled), string(v1beta2.ScheduleStateFailedValidation),
		string(v1alpha1.SparkConnectStateProvisioning),
		string(v1alpha1.SparkConnectStateReady), string(v1alpha1.SparkConnectStateNotReady),
		string(v1alpha1.SparkConnectStateFailed),
	},
	"result": {"started", "asked", "skipped", "refused", "replaced", "succeeded", "failed", "stored", "conflict"},
}

// TestInvalidExpressionsAreFound checks that faultsOf finds every kind of fault and accepts valid expressions.
func TestInvalidExpressionsAreFound(t *testing.T) {
	all := documentedMetrics(t)
	for expression, want := range map[string]string{
		`sum(`:                   "parse error",
		`spark_application_runs`: "is not served",
		`sparkoperator_retries_total{reason="x"}`:       "has no label reason",
		`sum by (reason) (sparkoperator_retries_total)`: "grouped by reason",
		// A histogram has three series.
		`sparkoperator_phase_duration_seconds`:                          "is not served",
		`spark_application_submit_latency_seconds_bucket`:               "is not served", // a summary has two series
		`sparkoperator_applications_waiting{phase=~"Launched|Lunched"}`: "no phase Lunched",
		`sparkoperator_applications{kind="sparkconnects"}`:              "no kind sparkconnects",
		`sparkoperator_applications{state="Invalid"}`:                   "no state Invalid",
		`sparkoperator_runs_total{result=~"failed|missed"}`:             "no result missed",
		`workqueue_depth`: "other programs",
		`workqueue_depth and on (instance) sparkoperator_applications`:               "",
		`sum by (le, phase) (rate(sparkoperator_phase_duration_seconds_bucket[5m]))`: "",
		`sum by (app_type, pod) (spark_application_submit_latency_seconds_sum)`:      "",
		`sum by (name) (workqueue_depth{name="sparkapplication"})`:                   "",
	} {
		if got := strings.Join(faultsOf(all, expression), "; "); (want == "") != (got == "") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// alert is one alert of a PrometheusRule.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// ruleOf returns the PrometheusRule and its alerts.
func ruleOf(t *testing.T, r rendered) (*unstructured.Unstructured, []alert) {
	t.Helper()

	for _, o := range objectsOf[*unstructured.Unstructured](r) {
		if o.GetKind() != "PrometheusRule" {
			continue
		}
		var spec struct {
			Spec struct {
				Groups []struct {
					Name  string
					Rules []alert
				}
			}
		}

		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}

		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
		return o, spec.Spec.Groups[0].Rules
	}

	t.Fatal("there is no PrometheusRule")
	return nil, nil
}

// TestAlertsUseServedMetrics checks that every alert uses served metrics, has a description, and has a section in the
// runbook.
func TestAlertsUseServedMetrics(t *testing.T) {
	all := documentedMetrics(t)

	runbook, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}

	rule, alerts := ruleOf(t, mustRender(t, install{values: everyMonitor + "\nhistoryServer: {enable: true, logDirectory: s3a://logs}", apis: monitoringAPIs}))
	if rule.GetName() != "spark-operator" || len(alerts) < 10 {
		t.Errorf("%s has %d alerts", rule.GetName(), len(alerts))
	}

	for _, a := range alerts {
		for _, fault := range faultsOf(all, a.Expr) {
			t.Errorf("%s: %s", a.Alert, fault)
		}

		if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s has severity %q", a.Alert, a.Labels["severity"])
		}

		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s has no summary or description", a.Alert)
		}

		if a.For != "" {
			if _, err := model.ParseDuration(a.For); err != nil {
				t.Errorf("%s: for: %v", a.Alert, err)
			}
		}

		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(a.Expr)
		if err != nil {
			continue
		}

		for _, text := range a.Annotations {
			for _, used := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
				if labels, ok := outermostLabels(parsed); !ok || !slices.Contains(labels, used[1]) {
					t.Errorf("%s: its text has the label %s, its result has %v", a.Alert, used[1], labels)
				}
			}
		}

		if !strings.Contains(string(runbook), "\n## "+a.Alert+"\n") {
			t.Errorf("docs/alerts.md has no section for %s", a.Alert)
		}
	}

	for _, heading := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(runbook), -1) {
		if !slices.ContainsFunc(alerts, func(a alert) bool { return a.Alert == heading[1] }) {
			t.Errorf("docs/alerts.md has a section %s, which is no alert", heading[1])
		}
	}
}

// outermostLabels returns the labels that the outermost aggregation of an expression keeps, and whether the expression
// has an aggregation.
func outermostLabels(expression parser.Expr) (labels []string, found bool) {
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if n, ok := node.(*parser.AggregateExpr); ok && !found {
			labels, found = n.Grouping, true
		}
		return nil
	})
	return labels, found
}

// TestAlertsFollowTheValues checks that names, labels and links of the alerts follow the values.
func TestAlertsFollowTheValues(t *testing.T) {
	_, alerts := ruleOf(t, mustRender(t, install{release: "team", namespace: "ops", apis: monitoringAPIs, values: `
prometheus:
  metrics: {prefix: team-a_}
  rules: {create: true, labels: {release: prom}, alertLabels: {severity: page, team: a}, disabled: [SparkOperatorAPISlow], runbookURL: "https://wiki/alerts"}
historyServer: {enable: true, logDirectory: s3a://logs}`}))

	text := fmt.Sprint(alerts)
	for _, want := range []string{`name="team-spark-operator-controller-lock"`,
		"team_a_spark_application_failed_submission_count", "sparkoperator_status_lag",
		`replicas_available{namespace="ops", deployment="team-spark-operator-history"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no alert has %s", want)
		}
	}

	if strings.Contains(text, "SparkOperatorAPISlow") || strings.Contains(text, "LEASE_NAME") ||
		strings.Contains(text, "team_a_sparkoperator") {
		t.Errorf("alerts are %s", text)
	}

	for _, a := range alerts {
		if a.Labels["severity"] != "page" || a.Labels["team"] != "a" ||
			a.Annotations["runbook_url"] != "https://wiki/alerts#"+strings.ToLower(a.Alert) {
			t.Errorf("%s has labels %v and annotations %v", a.Alert, a.Labels, a.Annotations)
		}
	}

	_, alone := ruleOf(t, mustRender(t,
		install{values: "{prometheus: {rules: {create: true}}, controller: {leaderElection: {enable: false}}}",
			apis: monitoringAPIs}))
	if strings.Contains(fmt.Sprint(alone), "NoLeader") {
		t.Error("an alert requires a leader without leader election")
	}

	if strings.Contains(fmt.Sprint(alone), "HistoryServer") {
		t.Error("an alert requires a History Server that is not installed")
	}
}

// TestMonitoringObjectsAreValid validates the monitoring objects of the chart and of the examples against the custom
// resource definitions of the Prometheus operator. These definitions must contain every field of the objects.
func TestMonitoringObjectsAreValid(t *testing.T) {
	text, err := os.ReadFile("../../../examples/driver-podmonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var example unstructured.Unstructured
	if err := kyaml.Unmarshal(text, &example.Object); err != nil {
		t.Fatal(err)
	}

	for _, o := range append(objectsOf[*unstructured.Unstructured](mustRender(t,
		install{values: everyMonitor, apis: monitoringAPIs})), &example) {
		file := "../../../../shared/data/crds/monitoring.coreos.com_" + strings.ToLower(o.GetKind()) + "s.yaml"

		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			t.Skipf("no definitions of the Prometheus operator in %s", filepath.Dir(file))
		}

		if err != nil {
			t.Fatal(err)
		}

		var definition crdv1.CustomResourceDefinition
		if err := kyaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}

		var schema apiextensions.JSONSchemaProps
		if err := crdv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, &schema, nil); err != nil {
			t.Fatal(err)
		}

		validator, _, err := validation.NewSchemaValidator(&schema)
		if err != nil {
			t.Fatal(err)
		}

		for _, fault := range validation.ValidateCustomResource(nil, o.Object, validator) {
			t.Errorf("%s: %v", o.GetKind(), fault)
		}

		known, err := structural.NewStructural(&schema)
		if err != nil {
			t.Fatal(err)
		}

		pruned := o.DeepCopy()
		pruning.Prune(pruned.Object, known, true)

		if diff := cmp.Diff(o.Object, pruned.Object); diff != "" {
			t.Errorf("%s has fields that the definition does not know (-rendered +known):\n%s", o.GetKind(), diff)
		}
	}
}

// dashboard is a dashboard of Grafana.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID          int
		Type, Title string
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

// TestDashboardUsesServedMetrics checks that every panel uses only served metrics and only variables of the dashboard.
func TestDashboardUsesServedMetrics(t *testing.T) {
	all := documentedMetrics(t)
	d := dashboardOf(t, everyMonitor, "spark-operator.json")

	for _, v := range d.Templating.List {
		if match := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition); v.Type == "query" {
			if _, known, found := lookUp(all, match[1]); !found || !slices.Contains(known, match[2]) {
				t.Errorf("variable %s queries an unknown metric or label: %s", v.Name, v.Definition)
			}
		}
	}

	checkPanels(t, d, 20, func(expression string) []string { return faultsOf(all, expression) })
}

// TestDashboardOfApplications checks that every panel queries one chosen driver. The end-to-end tests check that Spark
// serves the metrics.
func TestDashboardOfApplications(t *testing.T) {
	checkPanels(t, dashboardOf(t, everyMonitor, "spark-application.json"), 15, func(expression string) (faults []string) {
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
		if err != nil {
			return []string{err.Error()}
		}

		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			if n, ok := node.(*parser.VectorSelector); ok && !strings.Contains(n.String(), `namespace=~"$namespace",pod=~"$driver"`) {
				faults = append(faults, n.Name+" is of all applications")
			}
			return nil
		})
		return faults
	})
}

// checkPanels checks the panels of a dashboard, of which there must be at least a number, with a function that returns
// the faults of an expression.
func checkPanels(t *testing.T, d dashboard, atLeast int, faults func(expression string) []string) {
	t.Helper()

	variables := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}

	ids, panels := map[int]bool{}, 0
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q has the id of another panel or is too wide", p.Title)
		}

		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}

		if panels++; len(p.Targets) == 0 {
			t.Errorf("panel %q has no query", p.Title)
		}

		for _, target := range p.Targets {
			expression := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			for _, fault := range faults(expression) {
				t.Errorf("panel %q: %s: %s", p.Title, target.Expr, fault)
			}

			for _, used := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !variables[used[1]] {
					t.Errorf("panel %q: no variable %s", p.Title, used[1])
				}
			}

			parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
			if err != nil {
				continue
			}

			for _, used := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.ContainsFunc(groupings(parsed),
					func(labels []string) bool { return slices.Contains(labels, used[1]) }) {
					t.Errorf("panel %q: its legend has the label %s, but its result lacks it", p.Title, used[1])
				}
			}
		}
	}

	if panels < atLeast {
		t.Errorf("only %d panels", panels)
	}
}

func groupings(expression parser.Expr) (all [][]string) {
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if n, ok := node.(*parser.AggregateExpr); ok {
			all = append(all, n.Grouping)
		}
		return nil
	})
	return all
}

// dashboardOf returns a dashboard of the chart.
func dashboardOf(t *testing.T, values, file string) (d dashboard) {
	t.Helper()

	if err := json.Unmarshal([]byte(dashboardText(t, values, file)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func dashboardText(t *testing.T, values, file string) string {
	t.Helper()

	for _, m := range objectsOf[*corev1.ConfigMap](mustRender(t, install{values: values, apis: monitoringAPIs})) {
		if text, found := m.Data[file]; found {
			if m.Labels["grafana_dashboard"] != "1" {
				t.Errorf("labels %v: no sidecar finds it", m.Labels)
			}
			return text
		}
	}

	t.Fatal("there is no dashboard " + file)
	return ""
}

func TestDashboardFollowsTheValues(t *testing.T) {
	text := dashboardText(t, "prometheus: {metrics: {prefix: team-a_}, dashboard: {create: true, annotations: {grafana_folder: Spark}}}", "spark-operator.json")
	if !json.Valid([]byte(text)) || !strings.Contains(text, "sum(team_a_spark_application_running_count)") ||
		strings.Contains(text, "LEASE_NAME") {
		t.Error("the dashboard does not have the names of the installation")
	}
}
