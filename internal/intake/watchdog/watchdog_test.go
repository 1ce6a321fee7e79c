package watchdog

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
)

// advance counts the ticks of a duration.
func (h *Watchdog) advance(d time.Duration) {
	for range d / Tick {
		h.Count()
	}
}

// TestHangs checks that hanging work is logged and fails the readiness check, and later the liveness check. Idle and
// ended work is not reported.
func TestHangs(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	logger := funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})
	h := New(logger)
	key := types.NamespacedName{Namespace: "team", Name: "app"}
	end := h.Pass("SparkApplication", key, time.Minute)
	watch := h.Decode("a watch of pods")
	defer watch.Drop()

	holds := func(when string, ready, alive bool) {
		t.Helper()

		if got := h.Ready(nil) == nil; got != ready {
			t.Errorf("%s: ready %t", when, got)
		}

		if got := h.Alive(nil) == nil; got != alive {
			t.Errorf("%s: alive %t", when, got)
		}
	}

	h.advance(time.Minute + PassSlow - Tick)
	holds("a pass that is within its time", true, true)
	h.advance(Tick)
	holds("a pass that is not", false, true)

	if got := log.String(); !strings.Contains(got, "SparkApplication") || !strings.Contains(got, "team") ||
		!strings.Contains(got, "app") {
		t.Errorf("the log does not name the object: %s", got)
	}

	h.advance(Limit - time.Minute - PassSlow)
	holds("a pass that does not end", false, false)

	if err := h.Alive(nil); err == nil || !strings.Contains(err.Error(), "SparkApplication team/app") {
		t.Errorf("%v, want it to name the object", err)
	}

	end()
	holds("a pass that has ended", true, true)

	watch.Begin()
	h.advance(DecodeSlow)
	holds("an object that is being decoded", false, true)
	watch.End()
	holds("one that was decoded", true, true)
	h.advance(time.Hour)
	holds("a watch on which nothing comes", true, true)
	watch.Begin()
	h.advance(Limit)
	holds("an object whose decoding does not end", false, false)

	if lines := strings.Count(log.String(), errHangs.Error()); lines != 3 {
		t.Errorf("%d lines in the log, want one for each", lines)
	}
}
