package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestErrorHasNoTime checks that a failed pass is repeated after the backoff alone. For an error with a time,
// controller-runtime ignores the time and logs a warning.
func TestErrorHasNoTime(t *testing.T) {
	later, failure := reconcile.Result{RequeueAfter: time.Second}, errors.New("timeout")
	if result, err := ended(t.Context(), later, failure); !errors.Is(err, failure) || result != (reconcile.Result{}) {
		t.Errorf("a failed pass ends with %v, %v", result, err)
	}

	if result, err := ended(t.Context(), later, nil); err != nil || result != later {
		t.Errorf("a pass ends with %v, %v", result, err)
	}
}

// TestShutdownLetsPassesFinish checks that a requested shutdown does not end the passes in flight.
func TestShutdownLetsPassesFinish(t *testing.T) {
	for _, test := range []struct {
		name  string
		asked func() bool
		ends  bool
	}{
		{"requested shutdown", func() bool { return true }, false},
		{"lost lease", func() bool { return false }, true},
		{"no function that reports a shutdown", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			looked := make(chan struct{})

			r := &Reconciler{term: term{limit: time.Hour}}
			if test.asked != nil {
				r.asked = func() bool { defer close(looked); return test.asked() }
			} else {
				close(looked)
			}

			reconciling, stop := context.WithCancel(t.Context())
			ctx, cancel, _ := r.whileLeading(reconciling)
			defer cancel()

			stop()
			<-looked

			if test.ends {
				<-ctx.Done() // otherwise the test never ends
			} else if ctx.Err() != nil {
				t.Error("the pass was ended")
			}
		})
	}
}
