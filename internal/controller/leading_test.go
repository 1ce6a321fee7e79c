package controller

import (
	"context"
	"testing"
	"time"
)

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
