package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// ReportsOf returns every text that a user can read about an application: its conditions and its Events.
func (w *World) ReportsOf(app *v1beta2.SparkApplication) (texts []string) {
	live := &v1beta2.SparkApplication{}

	_ = w.API.Get(w.T.Context(), client.ObjectKeyFromObject(app), live) // a deleted application has no conditions
	for _, c := range live.Status.Conditions {
		texts = append(texts, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}

	for reason, message := range w.EventsOf(app) {
		for line := range strings.SplitSeq(message, "\n") {
			texts = append(texts, reason+": "+line)
		}
	}
	return texts
}

// Check is a condition that must become true after something has disappeared.
type Check struct {
	What  string
	Since time.Time
	Holds func(context.Context) error
}

// WaitChecks waits until every check holds, and logs when each did.
func (w *World) WaitChecks(checks []Check) {
	w.T.Helper()
	kit.Wait(w.T, "everything to be restored or named", func(ctx context.Context) error {
		var missing []error
		checks = slices.DeleteFunc(checks, func(c Check) bool {
			if err := c.Holds(ctx); err != nil {
				missing = append(missing, fmt.Errorf("%s: %w", c.What, err))
				return false
			}

			w.T.Logf("%s: within %s", c.What, time.Since(c.Since).Round(100*time.Millisecond))
			return true
		})
		return errors.Join(missing...)
	})
}
