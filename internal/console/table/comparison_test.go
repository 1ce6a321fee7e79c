package table_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/console/table"
)

// TestComparison checks which rows a word selects that compares a column.
func TestComparison(t *testing.T) {
	row := table.Row{
		Name: "daily", Namespace: "etl", State: "RUNNING", Owner: "Data", SparkVersion: "3.5.9", Created: now.Add(-36 * time.Hour), Started: now.Add(-90 * time.Minute),
		ExecutorsRunning: 4, ExecutorsFailed: 1, Attempts: 2, CPUMillis: 4700, MemoryBytes: 64 << 30, CostNanos: 5e9,
	}

	for word, want := range map[string]bool{
		"age>1d": true, "age>1d12h": false, "age>=1d12h": true, "age<2d": true, "duration>1h29m59s": true, "duration>90m": false, "duration=90m": true, "Duration<=5400s": true,
		"executors=4": true, "executors<4": false, "failed>0": true, "attempts>=3": false, "gpus=0": true, "gpus>0": false,
		"cpu>4": true, "cpu>4700m": false, "cpu<=4.7": true, "cpu=4700m": true, "memory>=64Gi": true, "memory>64Gi": false, "memory>64G": true,
		"cost=5": true, "cost>5": false, "cost>-1": true, "cost<1e9": true,
		"owner=data": true, "owner=dat": false, "owner=": false, "schedule=": true, "state=running": true, "version=3.5.9": true, "namespace=ETL": true, "name=dail": false,
		"kubectl=daily": false, "=daily": false, // words as all others
	} {
		q, ignored := table.ParseQuery(url.Values{"q": {"daily " + word}})
		if len(ignored) > 0 {
			t.Errorf("%s is left out", word)
		}

		if got := q.Filter(now)(&row); got != want {
			t.Errorf("%s selects the row: %t, want %t", word, got, want)
		}
	}
}

// TestWrongComparison checks that a comparison that cannot be read is left out and named, and that other words remain.
func TestWrongComparison(t *testing.T) {
	q, ignored := table.ParseQuery(url.Values{"q": {"daily age>soon cpu>>2 cost>NaN memory=1GiB version>=3.5 duration> attempts=>1 age>1dd cost>5 memory>1e-2000000000 mem>64Gi a=b"}})

	var want []string
	for _, word := range []string{"age>soon", "cpu>>2", "cost>NaN", "memory=1GiB", "version>=3.5", "duration>", "attempts=>1", "age>1dd", "memory>1e-2000000000", "mem>64Gi"} {
		want = append(want, fmt.Sprintf("the comparison %q, which cannot be read", word))
	}

	if d := cmp.Diff(want, ignored); d != "" || q.Text != "daily cost>5 a=b" {
		t.Errorf("the text is %q; left out (-want +got):\n%s", q.Text, d)
	}
}
