package config

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// TestLastEntryOfLogsApplies checks that the last entry that selects a namespace applies as a whole, with the defaults
// of the fields that it does not set. A wait of 0s, with which deletions do not wait, became the default of 10s.
func TestLastEntryOfLogsApplies(t *testing.T) {
	c, err := Parse([]byte("apiVersion: " + APIVersion + "\nkind: " + Kind + `
logs:
- {store: "s3://all", maxExecutors: 3}
- {namespaceSelector: tier=test, executors: All}
- {namespaceSelector: tier=dev, wait: 0s}
`))
	if err != nil {
		t.Fatal(err)
	}

	if l := keptlogs.Of(c.Logs, map[string]string{"tier": "test"}); l.Store != "" || l.Executors != keptlogs.ExecutorsAll || *l.MaxExecutors != 20 || keptlogs.Bytes(l.MaxBytes) != 16<<20 || l.Wait.Duration != 10*time.Second {
		t.Errorf("the entry is %+v", l)
	}

	if l := keptlogs.Of(c.Logs, nil); l.Store != "s3://all" || *l.MaxExecutors != 3 || l.Executors != keptlogs.ExecutorsFailed {
		t.Errorf("the entry is %+v", l)
	}

	if l := keptlogs.Of(c.Logs, map[string]string{"tier": "dev"}); l.Wait.Duration != 0 {
		t.Errorf("a deletion waits for %s", l.Wait.Duration)
	}

	if keptlogs.Of(nil, nil) != nil || keptlogs.Selects(nil) || !keptlogs.Selects(c.Logs) || !c.WatchesNamespaces() {
		t.Error("an empty list keeps logs, or a selector is overlooked")
	}
}
