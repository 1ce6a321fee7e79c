package statuswrite

import (
	"testing"

	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestChurnOfServerIsDebounced checks that a status write of a server is debounced if it changes only the counts of
// executors, and that a write that changes other fields, such as the state, is not debounced.
func TestChurnOfServerIsDebounced(t *testing.T) {
	t.Parallel()

	churn := configured.For(kinds.SparkConnect).Build(config.Default, nil).Traits().ExecutorChurn
	for patch, want := range map[string]bool{
		`{"status":{"executors":{"running":2},"lastUpdateTime":"2026-01-02T03:04:05Z"}}`:                               true,
		`{"status":{"executors":null,"lastUpdateTime":"2026-01-02T03:04:05Z","operator":{"shortSince":null}}}`:         true,
		`{"status":{"executors":{"running":2},"lastUpdateTime":"2026-01-02T03:04:05Z","state":"Ready"}}`:               false,
		`{"status":{"executors":{"running":2},"lastUpdateTime":"2026-01-02T03:04:05Z","conditions":[]}}`:               false,
		`{"status":{"executors":{"running":2},"lastUpdateTime":"2026-01-02T03:04:05Z","operator":{"phase":"Ended"}}}`:  false,
		`{"status":{"executors":{"running":2},"lastUpdateTime":"2026-01-02T03:04:05Z","server":{"podIp":"10.0.0.1"}}}`: false,
		`{"status":{"executors":{"running":2},"lastUpdateTime":"2026-01-02T03:04:05Z","observedGeneration":2}}`:        false,
	} {
		if got := OnlyExecutorChurn(churn, lifecycle.Plan{}, []byte(patch)); got != want {
			t.Errorf("%s: debounced: %t", patch, got)
		}
	}
}
