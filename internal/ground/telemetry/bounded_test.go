package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestCardinalityIsBounded checks that no metric exceeds its bound of series, whatever names tenants choose and
// whatever the statuses contain. It also checks that the sums over the series stay complete.
func TestCardinalityIsBounded(t *testing.T) {
	const n = 3000
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, MetricsOptions{Labels: []string{"app_type", "namespace", "team"}})

	hostile := []string{"", "other", "Other", "\xff", "a\xffb", "a\nb", `a"b`, "{}", strings.Repeat("x", 63)}
	for i := range n {
		word := fmt.Sprint(hostile[i%len(hostile)], i)
		subject := app("k", "ns-"+word, "a")
		subject.Labels = map[string]string{"app_type": word, "team": word}
		subject.ExecutorLabels = map[string]string{"team": word + "-executors"}
		m.RecordFirst(subject, lifecycle.Standing{})
		m.Record(subject, lifecycle.Standing{
			Phase: lifecycle.Phase("Phase" + word), State: "STATE" + word, Waits: "Reason" + word, Since: time.Now(),
			ExecutorsRunning: 1, ExecutorsCompleted: int32(i), Attempt: 1,
		})
		m.Stored(subject, lifecycle.Standing{Since: time.Now()}, lifecycle.Plan{
			Transitions: []lifecycle.Transition{
				{To: lifecycle.Launched, Attempt: 1, Cause: lifecycle.Cause{Reason: word}},
				{From: lifecycle.Launched, To: lifecycle.Started, Attempt: 1, Cause: lifecycle.Cause{Reason: word}},
				{From: lifecycle.Phase(word), To: lifecycle.Ended, Attempt: 1, Outcome: lifecycle.Refused,
					Cause: lifecycle.Cause{Reason: word}},
				{From: lifecycle.Ended, To: lifecycle.Done, Attempt: 1, Outcome: lifecycle.Failed},
			},
			Next: lifecycle.Memory{SubmittedAt: time.Now(), EndedAt: time.Now()},
		})
		m.RecordWait("k", keyOf(subject).key, word)

		request := httptest.NewRequest(http.MethodPost,
			"/apis/group/v1/namespaces/x/whatever-"+fmt.Sprint(i)+"/a/b", nil)
		request.Method = fmt.Sprint("VERB", i)
		m.requestSeconds.WithLabelValues(requestOf(request)).Observe(1)
	}

	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}

	bounds := map[string]int{ // metrics with names from tenants; the others have fixed values
		"sparkoperator_applications":                         (maxNamespaces + 1) * (maxStates + 1) * (len(phases) + 1),
		"sparkoperator_applications_waiting":                 (len(phases) + 1) * (len(reasons) + 1),
		"sparkoperator_applications_waiting_longest_seconds": (len(phases) + 1) * (len(reasons) + 1),
	}

	total := 0
	for _, family := range families {
		series := len(family.GetMetric())

		bound := 20
		switch {
		case bounds[family.GetName()] > 0:
			bound = bounds[family.GetName()]
		case strings.HasPrefix(family.GetName(), "spark_"):
			bound = maxLabelSets + 1
		}

		if series > bound {
			t.Errorf("%s has %d series, more than %d", family.GetName(), series, bound)
		}

		total += series

		namespaces := map[string]bool{}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "app_namespace" {
					namespaces[label.GetValue()] = true
				}
			}
		}

		if family.GetName() == "sparkoperator_applications" && len(namespaces) > maxNamespaces+1 {
			t.Errorf("the label app_namespace has %d values, more than %d", len(namespaces), maxNamespaces)
		}
	}

	t.Logf("%d applications with labels of their own come to %d series", n, total)

	for name, want := range map[string]float64{
		"spark_application_count": n, "spark_application_failure_count": n, "spark_executor_running_count": n,
		"sparkoperator_applications{":         n,
		"sparkoperator_applications_waiting{": n, "spark_executor_success_count": n * (n - 1) / 2,
	} {
		sum := 0.0
		for _, value := range samples(t, reg, strings.TrimSuffix(name, "{")) {
			sum += value
		}

		if strings.HasSuffix(name, "{") {
			sum = 0
			for series, value := range samples(t, reg, strings.TrimSuffix(name, "{")) {
				if strings.HasPrefix(series, name) {
					sum += value
				}
			}
		}

		if sum != want {
			t.Errorf("%s sums up to %v, want %v", name, sum, want)
		}
	}
}

// TestNamespacesGiveUpTheirPlaces checks that a namespace frees its place when it has no objects any more, so that
// short-lived namespaces do not use up the places.
func TestNamespacesGiveUpTheirPlaces(t *testing.T) {
	reg := prometheus.NewRegistry()

	m := NewMetrics(reg, MetricsOptions{})
	for round := range 3 {
		for i := range maxNamespaces {
			m.Record(app("k", fmt.Sprintf("round-%d-%d", round, i), "a"),
				lifecycle.Standing{State: "RUNNING", Phase: lifecycle.Running})
		}

		late := app("k", "late", "a")
		got := samples(t, reg, "sparkoperator_applications")

		m.Record(late, lifecycle.Standing{State: "RUNNING", Phase: lifecycle.Running})

		with := samples(t, reg, "sparkoperator_applications")

		const other = "sparkoperator_applications{app_namespace=other,kind=k,phase=Running,state=RUNNING}"
		if len(got) != maxNamespaces || got[other] != 0 || with[other] != 1 || len(with) != maxNamespaces+1 {
			t.Errorf("round %d: %d series, then %d with %v others", round, len(got), len(with), with[other])
		}

		m.Remove("k", keyOf(late).key)

		for i := range maxNamespaces {
			m.Remove("k", keyOf(app("k", fmt.Sprintf("round-%d-%d", round, i), "a")).key)
		}
	}
}

func TestLabelName(t *testing.T) {
	for label, want := range map[string]string{
		"app_type": "app_type", "app-type": "app_type", "app.kubernetes.io/name": "app_kubernetes_io_name", "a1": "a1",
		"é": "_", "": "",
	} {
		if got := labelName(label); got != want {
			t.Errorf("%q becomes %q, want %q", label, got, want)
		}
	}
}

func FuzzRequestOf(f *testing.F) {
	f.Add("GET", "/api/v1/pods", "watch=true")
	f.Add("DELETE", "/apis/apps/v1/namespaces/x/y/z", "")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		request := &http.Request{Method: method, URL: urlOf(path, query)}

		verb, resource := requestOf(request)
		if resource != "" && resource != otherValue && !resources[resource] {
			t.Errorf("resource %q is not a value of the label resource", resource)
		}

		switch verb {
		case "", "create", "update", "patch", "delete", "deletecollection", "get", "list", "watch", otherValue:
		default:
			t.Errorf("verb %q", verb)
		}
	})
}
