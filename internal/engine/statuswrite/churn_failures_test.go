package statuswrite

import (
	"testing"

	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// TestFailedExecutorsOfServerAreDebounced checks that status changes because of failed and missing executors are
// debounced like changes of the counts. Events about the server, and the wait reasons of its executors, are not
// debounced.
func TestFailedExecutorsOfServerAreDebounced(t *testing.T) {
	t.Parallel()
	const (
		fails = `{"status":{"executors":{"failed":1},"lastUpdateTime":"2026-01-02T03:04:05Z","operator":{"executorFailure":{"reason":"Error"},"executors":{"failed":"7"}}}}`
		goes  = `{"status":{"executors":null,"lastUpdateTime":"2026-01-02T03:04:05Z","operator":{"executors":null}}}`
		tells = `{"status":{"executors":{"failed":1},"conditions":[],"operator":{"executors":{"failed":"7"}}}}`
	)
	failed := lifecycle.Notice{Part: lifecycle.Executors, Name: "x-exec-7", Attempt: 1,
		Cause: lifecycle.Cause{Reason: "Error"}}
	waits := failed

	waits.Waits = true
	for _, test := range []struct {
		name, patch string
		tell        []lifecycle.Notice
		want        bool
	}{
		{"one executor fails", fails, []lifecycle.Notice{failed}, true},
		{"many executors fail", fails, []lifecycle.Notice{failed, failed, failed}, true},
		{"the failed executor is gone", goes, nil, true},
		{"one executor fails, another waits", fails, []lifecycle.Notice{failed, waits}, false},
		{"an event is about the server", fails, []lifecycle.Notice{failed, {Part: lifecycle.DriverPod}}, false},
		{"an event is about the spec", fails, []lifecycle.Notice{{Part: lifecycle.Application}}, false},
		{"a condition changes", tells, []lifecycle.Notice{failed}, false},
	} {
		churn := configured.For(kinds.SparkConnect).Build(config.Default, nil).Traits().ExecutorChurn

		plan := lifecycle.Plan{Notices: test.tell}
		if got := OnlyExecutorChurn(churn, plan, []byte(test.patch)); got != test.want {
			t.Errorf("%s: debounced: %t", test.name, got)
		}

		if churn.DebounceEvents = false; len(test.tell) > 0 && OnlyExecutorChurn(churn, plan, []byte(test.patch)) {
			t.Errorf("%s: debounced for a kind that does not debounce events", test.name)
		}
	}
}
