package table_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// FuzzQuery checks that the URL of a query has the same query, whatever the URL was from which the query was read.
func FuzzQuery(f *testing.F) {
	f.Add("namespace=etl,analytics&kind=app&result=failed&q=a++b&label=team%3Ddata&sort=-cost&offset=50&limit=100")
	f.Add("kind=nothing&result=x&sort=-&limit=-1&offset=99999999999999999999&label=%3D%3D%3D")
	f.Add("q=%ff%00%e2%80%ae&namespace=,,%ff,")
	f.Fuzz(func(t *testing.T, text string) {
		values, _ := url.ParseQuery(text)
		q, _ := table.ParseQuery(values)

		again, ignored := table.ParseQuery(q.Values())
		if len(ignored) > 0 {
			t.Errorf("%q: the query's own URL has ignored values: %q", text, ignored)
		}

		if d := cmp.Diff(q, again); d != "" {
			t.Errorf("%q: %s", text, d)
		}

		if q.Size() < 1 || q.Size() > table.MaxLimit || q.Offset < 0 {
			t.Errorf("%q: size %d, offset %d", text, q.Size(), q.Offset)
		}

		window := table.WindowOf([]*table.Row{{Name: "a", Created: now}}, q, now)
		if len(window.Rows) > window.Total || window.Total > window.All {
			t.Errorf("%q: %d rows of %d of %d", text, len(window.Rows), window.Total, window.All)
		}
	})
}

// sampleRows returns rows of two namespaces and all results.
func sampleRows(n int) (rows []*table.Row) {
	results := []kube.Result{kube.Running, kube.Failed, kube.Succeeded, kube.Pending, kube.Suspended}
	for i := range n {
		rows = append(rows, &table.Row{
			Kind: kinds.All[i%5].FullName(), Namespace: []string{"a", "b"}[i%2], Name: fmt.Sprintf("app-%05d", i), Result: results[i%5], State: "S", Created: now.Add(-time.Duration(i) * time.Minute),
			Labels: map[string]string{"team": []string{"data", "search", "risk"}[i%3]}, CPUMillis: int64(i % 7),
		})
	}
	return rows
}

// TestWindow checks filters, counts, orders and pages.
func TestWindow(t *testing.T) {
	rows := sampleRows(100)

	for name, c := range map[string]struct {
		url         string
		total       int
		first, last string
	}{
		"all, the newest first":     {"", 100, "app-00000", "app-00049"},
		"the second page":           {"offset=50", 100, "app-00050", "app-00099"},
		"after the last page":       {"offset=500", 100, "", ""},
		"by name, descending":       {"sort=-name&limit=2", 100, "app-00099", "app-00098"},
		"one namespace":             {"namespace=b&limit=1", 50, "app-00001", "app-00001"},
		"one result":                {"result=failed&limit=1", 20, "app-00001", "app-00001"},
		"one kind":                  {"kind=schedule&limit=1", 20, "app-00001", "app-00001"},
		"a label":                   {"label=team%3Drisk&limit=1", 33, "app-00002", "app-00002"},
		"all words of a text":       {"q=APP-0000+b&limit=1", 5, "app-00001", "app-00001"},
		"older than a duration":     {"q=age%3E1h30m&limit=1", 9, "app-00091", "app-00091"},
		"between two values":        {"q=cpu%3E%3D2m+CPU%3C0.005&limit=1", 42, "app-00002", "app-00002"},
		"a column and a word":       {"q=namespace%3DB+app-0000&limit=1", 5, "app-00001", "app-00001"},
		"an exact text":             {"q=name%3Dapp-0000", 0, "", ""},
		"the largest CPU first":     {"sort=cpu&limit=1", 100, "app-00006", "app-00006"},
		"failed before all others":  {"sort=state&limit=1", 100, "app-00006", "app-00006"},
		"no object has the label":   {"label=team%3Dnobody", 0, "", ""},
		"a namespace without right": {"namespace=secret", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := url.ParseQuery(c.url)
			if err != nil {
				t.Fatal(err)
			}

			q, ignored := table.ParseQuery(values)

			w := table.WindowOf(slices.Clone(rows), q, now)
			if w.Total != c.total || w.All != 100 || len(ignored) > 0 {
				t.Errorf("%d rows of %d, ignored %q; want %d of 100", w.Total, w.All, ignored, c.total)
			}

			first, last := "", ""
			if len(w.Rows) > 0 {
				first, last = w.Rows[0].Name, w.Rows[len(w.Rows)-1].Name
			}

			if first != c.first || last != c.last {
				t.Errorf("from %q to %q, want %q to %q", first, last, c.first, c.last)
			}
		})
	}
}

// TestWindowCounts checks that the counts by result do not depend on the chosen results, so that a user sees what
// another choice would show.
func TestWindowCounts(t *testing.T) {
	rows := sampleRows(100)
	all, failed := table.WindowOf(rows, table.Query{}, now), table.WindowOf(rows, table.Query{Results: []kube.Result{kube.Failed}}, now)

	if d := cmp.Diff(all.Counts, failed.Counts); d != "" {
		t.Error(d)
	}

	if all.Counts[kube.Failed] != 20 || failed.Total != 20 {
		t.Errorf("%d failed, %d in the window; want 20", all.Counts[kube.Failed], failed.Total)
	}
}

// TestNamespacesCountAsTheTable checks that the numbers on the page of the namespaces are those of the table to which
// they lead.
func TestNamespacesCountAsTheTable(t *testing.T) {
	rows := sampleRows(100)
	for _, n := range model.NamespacesOf(rows) {
		for result, count := range n.Counts {
			q := table.Query{Namespaces: []string{n.Name}, Results: []kube.Result{result}}
			if w := table.WindowOf(rows, q, now); w.Total != count || count == 0 {
				t.Errorf("%s has %d objects that are %s, and the table %d", n.Name, count, result, w.Total)
			}
		}
	}
}

// TestSortedBy checks that a header of the table sorts by its column, and the second time in the reverse order.
func TestSortedBy(t *testing.T) {
	for _, column := range table.Sorts {
		once := table.Query{Offset: 50}.SortedBy(column)
		twice := once.SortedBy(column)

		if column != "age" && (once.Descending || !twice.Descending) || once.Offset != 0 || twice.Sort != column {
			t.Errorf("%s: %+v, then %+v", column, once, twice)
		}

		if thrice := twice.SortedBy(column); thrice.Descending == twice.Descending {
			t.Errorf("%s: the third click changes nothing", column)
		}
	}
}

// TestHours checks in which of the last 24 hours an object counts.
func TestHours(t *testing.T) {
	at := func(hours float64) time.Time { return now.Add(-time.Duration(hours * float64(time.Hour))) }

	for name, c := range map[string]struct {
		row                      table.Row
		running, pending, failed int // hours
	}{
		"pending since three hours":     {table.Row{Created: at(3), Result: kube.Pending}, 0, 4, 0},
		"running since two hours":       {table.Row{Created: at(2), Started: at(2), Result: kube.Running}, 3, 0, 0},
		"failed after an hour":          {table.Row{Created: at(5), Started: at(4.1), Ended: at(3), Result: kube.Failed}, 2, 2, 1},
		"failed last week":              {table.Row{Created: at(200), Started: at(199), Ended: at(180), Result: kube.Failed}, 0, 0, 0},
		"running since last week":       {table.Row{Created: at(200), Started: at(199), Result: kube.Running}, 24, 0, 0},
		"a schedule":                    {table.Row{Created: at(200), Kind: kinds.Schedule.FullName(), Result: kube.Running}, 0, 0, 0},
		"suspended before it started":   {table.Row{Created: at(3), Result: kube.Suspended, Suspended: true}, 0, 0, 0},
		"rejected before it started":    {table.Row{Created: at(3), Ended: at(3), Result: kube.Failed}, 0, 0, 1},
		"succeeded within the same run": {table.Row{Created: at(0.3), Started: at(0.2), Ended: at(0.1), Result: kube.Succeeded}, 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := table.HoursSince(now)
			h.Add(&c.row, now)

			var running, pending, failed int
			for _, hour := range h {
				running, pending, failed = running+hour.Running, pending+hour.Pending, failed+hour.Failed
			}

			if running != c.running || pending != c.pending || failed != c.failed {
				t.Errorf("hours running %d, pending %d, failed %d; want %d, %d, %d", running, pending, failed, c.running, c.pending, c.failed)
			}
		})
	}
}

// TestHoursOfRetries checks that the hours in which earlier attempts ran count as running, and that the wait for a
// retry counts as pending.
func TestHoursOfRetries(t *testing.T) {
	at := func(hours float64) *metav1.MicroTime {
		return &metav1.MicroTime{Time: now.Add(-time.Duration(hours * float64(time.Hour)))}
	}
	app := &v1beta2.SparkApplication{}
	app.CreationTimestamp = metav1.NewTime(at(10).Time)
	app.Status.AppState.State = v1beta2.ApplicationStateRunning
	app.Status.Operator = &statusv1.OperatorStatus{Attempt: 2, SubmittedAt: at(1.7), History: []statusv1.OperatorTransition{
		{Phase: "Launched", At: at(10), Attempt: 1}, {Phase: "Started", At: at(8), Attempt: 1}, {Phase: "Running", At: at(7.9), Attempt: 1},
		{Phase: "Waiting", At: at(4), Attempt: 1}, {Phase: "Launched", At: at(1.7), Attempt: 2}, {Phase: "Running", At: at(1.6), Attempt: 2},
	}}

	counts := func() (pending, running string) {
		r, h := table.RowOf(app), table.HoursSince(now)
		h.Add(&r, now)

		for _, hour := range h[len(h)-11:] {
			pending, running = pending+fmt.Sprint(hour.Pending), running+fmt.Sprint(hour.Running)
		}
		return pending, running
	}

	// From 12:30 ten hours ago; hours begin at full hours.
	if pending, running := counts(); pending != "11100011100" || running != "00111110111" {
		t.Errorf("second attempt: pending %s, running %s", pending, running)
	}

	app.Status.Operator.SubmittedAt, app.Status.Operator.History = nil, app.Status.Operator.History[:5]
	app.Status.AppState.State = v1beta2.ApplicationStateSubmitted

	if pending, running := counts(); pending != "11100011111" || running != "00111110000" {
		t.Errorf("before the start of the second attempt: pending %s, running %s", pending, running)
	}

	app.Status.Operator.SubmittedAt, app.Status.Operator.EndedAt = at(1.7), at(1.6)
	app.Status.AppState.State = v1beta2.ApplicationStatePendingRerun

	if pending, running := counts(); pending != "11100011111" || running != "00111110100" {
		t.Errorf("before a third attempt: pending %s, running %s", pending, running)
	}
}

// BenchmarkWindow measures one window over 10,000 rows.
func BenchmarkWindow(b *testing.B) {
	rows := sampleRows(10_000)
	q := table.Query{Text: "app 1", Sort: "cost"}

	for b.Loop() {
		table.WindowOf(rows, q, now)
	}
}
