package model_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// FuzzQuery checks that the URL of a query has the same query, whatever the URL was from which the query was read.
func FuzzQuery(f *testing.F) {
	f.Add("namespace=etl,analytics&kind=app&result=failed&q=a++b&label=team%3Ddata&sort=-cost&offset=50&limit=100")
	f.Add("kind=nothing&result=x&sort=-&limit=-1&offset=99999999999999999999&label=%3D%3D%3D")
	f.Add("q=%ff%00%e2%80%ae&namespace=,,%ff,")
	f.Fuzz(func(t *testing.T, text string) {
		values, _ := url.ParseQuery(text)
		q, _ := model.ParseQuery(values)

		again, ignored := model.ParseQuery(q.Values())
		if len(ignored) > 0 {
			t.Errorf("%q: the query's own URL has ignored values: %q", text, ignored)
		}

		if d := cmp.Diff(q, again); d != "" {
			t.Errorf("%q: %s", text, d)
		}

		if q.Size() < 1 || q.Size() > model.MaxLimit || q.Offset < 0 {
			t.Errorf("%q: size %d, offset %d", text, q.Size(), q.Offset)
		}

		window := model.WindowOf([]*model.Row{{Name: "a", Created: now}}, q, now)
		if len(window.Rows) > window.Total || window.Total > window.All {
			t.Errorf("%q: %d rows of %d of %d", text, len(window.Rows), window.Total, window.All)
		}
	})
}

// sampleRows returns rows of two namespaces and all results.
func sampleRows(n int) (rows []*model.Row) {
	results := []kube.Result{kube.Running, kube.Failed, kube.Succeeded, kube.Pending, kube.Suspended}
	for i := range n {
		rows = append(rows, &model.Row{
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

			q, ignored := model.ParseQuery(values)

			w := model.WindowOf(slices.Clone(rows), q, now)
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
	all, failed := model.WindowOf(rows, model.Query{}, now), model.WindowOf(rows, model.Query{Results: []kube.Result{kube.Failed}}, now)

	if d := cmp.Diff(all.Counts, failed.Counts); d != "" {
		t.Error(d)
	}

	if all.Counts[kube.Failed] != 20 || failed.Total != 20 {
		t.Errorf("%d failed, %d in the window; want 20", all.Counts[kube.Failed], failed.Total)
	}
}

// TestSortedBy checks that a header of the table sorts by its column, and the second time in the reverse order.
func TestSortedBy(t *testing.T) {
	for _, column := range model.Sorts {
		once := model.Query{Offset: 50}.SortedBy(column)
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
		row                      model.Row
		running, pending, failed int // hours
	}{
		"pending since three hours":     {model.Row{Created: at(3), Result: kube.Pending}, 0, 4, 0},
		"running since two hours":       {model.Row{Created: at(2), Started: at(2), Result: kube.Running}, 3, 0, 0},
		"failed after an hour":          {model.Row{Created: at(5), Started: at(4.1), Ended: at(3), Result: kube.Failed}, 2, 2, 1},
		"failed last week":              {model.Row{Created: at(200), Started: at(199), Ended: at(180), Result: kube.Failed}, 0, 0, 0},
		"running since last week":       {model.Row{Created: at(200), Started: at(199), Result: kube.Running}, 24, 0, 0},
		"a schedule":                    {model.Row{Created: at(200), Kind: kinds.Schedule.FullName(), Result: kube.Running}, 0, 0, 0},
		"suspended before it started":   {model.Row{Created: at(3), Result: kube.Suspended, Suspended: true}, 0, 0, 0},
		"rejected before it started":    {model.Row{Created: at(3), Ended: at(3), Result: kube.Failed}, 0, 0, 1},
		"succeeded within the same run": {model.Row{Created: at(0.3), Started: at(0.2), Ended: at(0.1), Result: kube.Succeeded}, 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := model.HoursSince(now)
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

// BenchmarkWindow measures one window over 10,000 rows.
func BenchmarkWindow(b *testing.B) {
	rows := sampleRows(10_000)
	q := model.Query{Text: "app 1", Sort: "cost"}

	for b.Loop() {
		model.WindowOf(rows, q, now)
	}
}
