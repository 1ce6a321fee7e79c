package config

import (
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// TestLogsAreChecked checks that each value that cannot work is refused with the path of its field and the way out.
func TestLogsAreChecked(t *testing.T) {
	for entry, want := range map[string]string{
		"store: bucket":                          "logs[0].store: Invalid value: must be s3://BUCKET/PREFIX",
		"store: http://bucket":                   "logs[0].store: Invalid value: must be s3://BUCKET/PREFIX",
		"store: s3:///prefix":                    "logs[0].store: Invalid value: must be s3://BUCKET/PREFIX",
		"store: file://relative/dir":             "logs[0].store: Invalid value: must be s3://BUCKET/PREFIX",
		"store: file:///":                        "logs[0].store: Invalid value: must be s3://BUCKET/PREFIX",
		"store: 's3://key:secret@bucket'":        "must not contain a password",
		"{store: 's3://b', retention: 0s}":       `logs[0].retention: Invalid value: "0s": would delete what was just kept; set at least 1h, or remove it`,
		"{store: 's3://b', retention: -1h}":      "logs[0].retention",
		"retention: 24h":                         "logs[0].retention: Forbidden: ConfigMaps are deleted with their application; set store",
		"executors: Some":                        "logs[0].executors: Unsupported value",
		"maxExecutors: 101":                      "logs[0].maxExecutors: Invalid value: 101: must be at most 100, because a ConfigMap has no room for more; or set store",
		"maxExecutors: -1":                       "logs[0].maxExecutors: Invalid value: -1: must be from 1 to 1000; to keep no logs of executors, set executors to None",
		"maxBytes: 1Gi":                          "logs[0].maxBytes",
		"maxBytes: lots":                         "logs[0].maxBytes",
		"executorMaxBytes: '1'":                  "logs[0].executorMaxBytes",
		"wait: 1h":                               "logs[0].wait: Invalid value: \"1h0m0s\": must be at most 1m",
		"namespaceSelector: 'a in'":              "logs[0].namespaceSelector",
		"namespaceSelector: ' '":                 "selects every namespace",
		"name: Bad":                              "logs[0].name",
		"{store: 's3://b', streamInterval: 1s}":  `logs[0].streamInterval: Invalid value: "1s": must be from 5s to 5m; remove it to read logs only when drivers end`,
		"{store: 's3://b', streamInterval: 1h}":  "logs[0].streamInterval",
		"{store: 's3://b', streamInterval: -5s}": "logs[0].streamInterval",
		"streamInterval: 15s":                    "logs[0].streamInterval: Forbidden: needs an object store, because each upload would rewrite a ConfigMap; set store, or remove streamInterval",
	} {
		if !strings.HasPrefix(entry, "{") {
			entry = "{" + entry + "}"
		}

		_, err := Parse([]byte("apiVersion: " + APIVersion + "\nkind: " + Kind + "\nlogs: [" + entry + "]"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

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
