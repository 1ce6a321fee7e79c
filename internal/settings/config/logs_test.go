package config

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// TestLastEntryOfLogsApplies checks that the last entry that selects a namespace applies as a whole, with the defaults.
func TestLastEntryOfLogsApplies(t *testing.T) {
	c, err := Parse([]byte("apiVersion: " + APIVersion + "\nkind: " + Kind + `
logs:
- {store: "s3://all", maxExecutors: 3}
- {namespaceSelector: tier=test, executors: All}
`))
	if err != nil {
		t.Fatal(err)
	}

	if l := keptlogs.Of(c.Logs, map[string]string{"tier": "test"}); l.Store != "" || l.Executors != keptlogs.ExecutorsAll || l.MaxExecutors != 20 || keptlogs.Bytes(l.MaxBytes) != 16<<20 || l.Wait.Duration != 10*time.Second {
		t.Errorf("the entry is %+v", l)
	}

	if l := keptlogs.Of(c.Logs, nil); l.Store != "s3://all" || l.MaxExecutors != 3 || l.Executors != keptlogs.ExecutorsFailed {
		t.Errorf("the entry is %+v", l)
	}

	if keptlogs.Of(nil, nil) != nil || keptlogs.Selects(nil) || !keptlogs.Selects(c.Logs) || !c.WatchesNamespaces() {
		t.Error("an empty list keeps logs, or a selector is overlooked")
	}
}
