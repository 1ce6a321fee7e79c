package chart

import (
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb"
	kyaml "sigs.k8s.io/yaml"
)

// step is the time between two samples, and between two evaluations of an alert.
const step = time.Minute

// TestAlertsFire evaluates each alert with Prometheus' own engine and database. With the first samples of
// testdata/alerts.yaml it must fire, with texts in which every template has a value. With the second it must not.
func TestAlertsFire(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var cases map[string]struct{ Fires, Silent []string }
	if err := kyaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}

	_, alerts := ruleOf(t, mustRender(t, install{values: everyMonitor + "\nhistoryServer: {enable: true, logDirectory: s3a://logs}", apis: monitoringAPIs}))
	for _, a := range alerts {
		t.Run(a.Alert, func(t *testing.T) {
			t.Parallel()

			if len(cases[a.Alert].Fires) == 0 || len(cases[a.Alert].Silent) == 0 {
				t.Fatal("testdata/alerts.yaml has no samples with which it fires, or none with which it does not")
			}

			fired := firing(t, a, cases[a.Alert].Fires)
			if len(fired) != 1 {
				t.Fatalf("it fires %d times: %v", len(fired), fired)
			}

			for name, text := range a.Annotations {
				if got := expanded(t, text, fired[0]); got == "" || strings.ContainsAny(got, "{}") || strings.Contains(got, "<no value>") || strings.Contains(got, "  ") {
					t.Errorf("%s: %q", name, got)
				}
			}

			if fired := firing(t, a, cases[a.Alert].Silent); len(fired) > 0 {
				t.Errorf("it fires: %v", fired)
			}
		})
	}

	names := slices.Sorted(maps.Keys(cases))
	if len(names) != len(alerts) {
		t.Errorf("there are %d alerts, and samples for %v", len(alerts), names)
	}
}

// firing returns the series for which an alert fires at some time: those that its expression returns for as long as the
// alert's for.
func firing(t *testing.T, a alert, series []string) (fired []promql.Sample) {
	t.Helper()

	pending := model.Duration(0)
	if a.For != "" {
		var err error
		if pending, err = model.ParseDuration(a.For); err != nil {
			t.Fatal(err)
		}
	}

	db, end := stored(t, series)

	reader := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 20, Timeout: time.Minute, Parser: reader})

	query, err := engine.NewRangeQuery(t.Context(), db, promql.NewPrometheusQueryOpts(false, 0), a.Expr, time.Unix(0, 0), end, step)
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()

	matrix, err := query.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatal(err)
	}

	for _, found := range matrix {
		since := int64(math.MinInt64)
		for i, point := range found.Floats {
			if i == 0 || point.T-found.Floats[i-1].T > step.Milliseconds() {
				since = point.T
			}

			if time.Duration(point.T-since)*time.Millisecond >= time.Duration(pending) {
				fired = append(fired, promql.Sample{Metric: found.Metric, F: point.F})
				break
			}
		}
	}
	return fired
}

// stored returns a database with the samples of the given series, and the time of the last sample.
func stored(t *testing.T, series []string) (db *tsdb.DB, end time.Time) {
	t.Helper()

	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = db.Close() }) // its directory is removed

	appender := db.Appender(t.Context())
	for _, line := range series {
		name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}

		for i, value := range values {
			at := time.Unix(0, 0).Add(time.Duration(i) * step)

			if value.Omitted {
				continue
			}

			if _, err := appender.Append(0, name, at.UnixMilli(), value.Value); err != nil {
				t.Fatalf("%s: %v", line, err)
			}

			if at.After(end) {
				end = at
			}
		}
	}

	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
	return db, end
}

// expanded returns the text of an annotation for a series for which an alert fires.
func expanded(t *testing.T, text string, sample promql.Sample) string {
	t.Helper()

	data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)

	got, err := template.NewTemplateExpander(t.Context(), "{{$labels := .Labels}}{{$value := .Value}}"+text, "", data, 0, nil, nil,
		[]string{"missingkey=error"}).Expand()
	if err != nil {
		t.Fatal(err)
	}
	return got
}
