package application

import (
	"fmt"
	"strings"
	"testing"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/checkout"
)

// TestApplicationsAreDocumented checks that the two pages of these applications contain the names and numbers that
// users see.
func TestApplicationsAreDocumented(t *testing.T) {
	page, err := checkout.Docs("apache-applications.md", "apache-application-states.md")
	if err != nil {
		t.Fatal(err)
	}

	words := []string{
		dialect.EventTakenOver, dialect.EventSpecChanged, dialect.EventDriverPending, dialect.EventDriverDisrupted,
		dialect.EventRestartRequested, dialect.EventDriverUnknown, dialect.EventSubmitterPending,
		dialect.EventExecutorPending, apache.ReasonSuspendHeld, apache.ReasonEvicted, apache.EventSource,
		dialect.EventExecutorFailed, status.ConditionEdited, dialect.ConditionReady, dialect.ConditionReconciling,
		dialect.ConditionStalled, dialect.ConditionSubmitted,
		dialect.ConditionRunning, dialect.ConditionDegraded, dialect.ConditionSucceeded, dialect.ConditionFailed,
		dialect.ConditionExposed,
		lifecycle.ReasonBelowThreshold, lifecycle.ReasonPartialCapacity, lifecycle.ReasonNodeLost,
		string(sparkv1.RestartNever), string(sparkv1.RestartAlways), string(sparkv1.RestartOnFailure),
		string(sparkv1.RestartOnInfrastructureFailure),
	}
	for _, state := range everyState {
		words = append(words, string(state))
	}

	for _, word := range words {
		if !strings.Contains(page, "`"+word+"`") {
			t.Errorf("the pages do not tell of %s", word)
		}
	}

	for _, figure := range []string{
		fmt.Sprintf("| `maxRestartAttempts` | %d |", defaultMaxRestarts),
		fmt.Sprintf("| `restartBackoffMillis` | %d |", defaultBackoff.Milliseconds()),
		fmt.Sprintf("| `driverStartTimeoutMillis` | %d |", defaultTimeout.Milliseconds()),
		fmt.Sprintf("| `terminationRequeuePeriodMillis` | %d |", defaultCleanAgain.Milliseconds()),
		fmt.Sprintf("| `forceTerminationGracePeriodMillis` | %d |", defaultForceAfter.Milliseconds()),
		fmt.Sprintf("its last %d states", status.MaxHistory),
		fmt.Sprintf("up to %d KiB", status.MaxSnapshot>>10), fmt.Sprintf("cut at %d KiB", apache.MaxMessage>>10),
		fmt.Sprintf("no sooner than after %.0f s", leastCleanAgain.Seconds()),
	} {
		if !strings.Contains(page, figure) {
			t.Errorf("the pages do not say %q", figure)
		}
	}
}
