package telemetry

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// registered records the names of all registered metrics.
type registered struct {
	prometheus.Registerer
	names map[string]bool
}

var fqName = regexp.MustCompile(`fqName: "([^"]+)"`)

func (r registered) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		descs := make(chan *prometheus.Desc, 100)
		c.Describe(descs)
		close(descs)

		for desc := range descs {
			r.names[fqName.FindStringSubmatch(desc.String())[1]] = true
		}
	}

	r.Registerer.MustRegister(all...)
}

// everything creates a series of each metric and returns the served metrics: a map from the name to the type and the
// labels.
func everything(t *testing.T, options MetricsOptions) map[string]string {
	t.Helper()

	reg := prometheus.NewRegistry()
	all := registered{reg, map[string]bool{}}
	m := NewMetrics(all, options)
	now := time.Now()
	subject := app("k", "ns", "a")
	m.Record(subject, lifecycle.Standing{Phase: lifecycle.Launched, Waits: "Unschedulable"})

	step := func(from, to lifecycle.Phase, outcome lifecycle.Outcome) lifecycle.Transition {
		return lifecycle.Transition{From: from, To: to, Attempt: 1, Outcome: outcome, At: now}
	}
	for _, outcome := range []lifecycle.Outcome{lifecycle.Succeeded, lifecycle.Failed, lifecycle.Refused} {
		m.Stored(subject, lifecycle.Standing{}, lifecycle.Plan{
			Next: lifecycle.Memory{SubmittedAt: now, EndedAt: now},
			Transitions: []lifecycle.Transition{
				step("", lifecycle.Launched, ""), step(lifecycle.Launched, lifecycle.Started, ""),
				step(lifecycle.Started, lifecycle.Ended, outcome),
				step(lifecycle.Ended, lifecycle.Waiting, outcome), step(lifecycle.Waiting, lifecycle.Done, outcome),
			},
		})
	}

	m.Submitted("k", time.Second, time.Second)
	m.Lag("k", lifecycle.Started, now, now)
	m.StatusWrite("k", nil)
	m.LogKept("driver", 1, 1)
	m.LogNotKept("PodGone")
	m.Unwatched.WithLabelValues("ns").Set(1)
	m.RunStarted("k", now, now)
	m.RecordKept(true)
	m.Used(lifecycle.Subject{Namespace: "ns"}, statusv1.UsageSums{CPUMillicoreSeconds: 1, GPUSeconds: 1, CostNanos: 1})
	m.requestSeconds.WithLabelValues("create", "pods").Observe(1)

	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}

	table := map[string]string{}
	for _, family := range families {
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}

		table[family.GetName()] = strings.TrimSpace(strings.ToLower(dto.MetricType_name[int32(family.GetType())]) +
			" " + strings.Join(labels, ", "))
		delete(all.names, family.GetName())
	}

	if len(all.names) > 0 {
		t.Errorf("this test creates no series of %v", all.names)
	}
	return table
}

// TestMetricsPage checks that docs/metrics.md lists exactly the operator's metrics, with types and labels.
func TestMetricsPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}

	ours, _, found := strings.Cut(string(page), "\n## Of the libraries\n")
	if !found {
		t.Fatal("docs/metrics.md has changed its headings")
	}

	listed := map[string]string{}
	for line := range strings.Lines(ours) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) == 6 {
			cell := func(i int) string { return strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "") }

			listed[cell(1)] = strings.TrimSpace(cell(2) + " " + cell(3))
			if cell(4) == "" {
				t.Errorf("docs/metrics.md does not describe %s", cell(1))
			}
		}
	}

	if diff := cmp.Diff(listed, everything(t, MetricsOptions{Labels: []string{"app_type"}})); diff != "" {
		t.Errorf("docs/metrics.md and what is served (-page +served):\n%s", diff)
	}
}

// TestPeersNames checks the names of the metrics that dashboards of the kubeflow operator read. These names are a
// contract.
func TestPeersNames(t *testing.T) {
	got := everything(t, MetricsOptions{Prefix: "p-", Labels: []string{"app_type", "namespace"}})
	for _, name := range []string{
		"spark_application_count counter", "spark_application_submit_count counter",
		"spark_application_failed_submission_count counter",
		"spark_application_running_count gauge", "spark_application_success_count counter",
		"spark_application_failure_count counter",
		"spark_application_success_execution_time_seconds summary",
		"spark_application_failure_execution_time_seconds summary",
		"spark_application_submit_latency_seconds summary",
		"spark_application_submit_latency_seconds_histogram histogram",
		"spark_application_start_latency_seconds summary",
		"spark_application_start_latency_seconds_histogram histogram",
		"spark_executor_running_count gauge", "spark_executor_success_count counter",
		"spark_executor_failure_count counter",
	} {
		name, kind, _ := strings.Cut(name, " ")
		if want := kind + " app_type, namespace"; got["p_"+name] != want {
			t.Errorf("p_%s is %q, want %q", name, got["p_"+name], want)
		}
	}
}

// TestFixedValues checks that the bounds are those that docs/metrics.md states. It also checks that each known reason
// is used unchanged as the value of the label reason.
func TestFixedValues(t *testing.T) {
	if maxNamespaces != 100 || maxLabelSets != 500 {
		t.Error("docs/metrics.md states other bounds")
	}

	for reason := range reasons {
		if reasonValue(reason) != reason || clean(reason) != reason {
			t.Errorf("reason %q is not used unchanged as a label value", reason)
		}
	}
}
