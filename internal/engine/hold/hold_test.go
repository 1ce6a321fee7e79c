package hold

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestMemory checks that a wait is reported after 3 s, and periodically after that. If the reason changes, the wait is
// reported again when the new reason has lasted for 3 s. A new reason must not change the start of the wait.
func TestMemory(t *testing.T) {
	var w Memory

	key := types.NamespacedName{Namespace: "ns", Name: "pi"}
	for _, test := range []struct {
		at          time.Duration
		why         string
		first, tell bool
	}{
		{0, "a", true, false},
		{2 * time.Second, "a", false, false},
		{3 * time.Second, "a", false, true},
		{7 * time.Second, "a", false, false},
		{8 * time.Second, "b", true, false},
		{9 * time.Second, "a", true, false},
		{10 * time.Second, "b", true, false},
		{14 * time.Second, "b", false, true},
		{10 * time.Minute, "b", false, false},
		{11 * time.Minute, "b", false, true},
	} {
		since, first := w.begin(key, test.why, noon.Add(test.at))
		if tell := w.ShouldReport(key, noon.Add(test.at)); !since.Equal(noon) || first != test.first ||
			tell != test.tell {
			t.Errorf("at %s: since %s, first %t, tell %t", test.at, since, first, tell)
		}
	}

	if begun := w.Begun(key, noon.Add(time.Hour)); !begun.Equal(noon) {
		t.Errorf("begun at %s", begun)
	}

	if w.Forget(key); w.Len() != 0 || w.ShouldReport(key, noon) {
		t.Errorf("%d are remembered", w.Len())
	}

	if begun := w.Begun(key, noon.Add(time.Hour)); !begun.Equal(noon.Add(time.Hour)) {
		t.Errorf("begun at %s", begun)
	}
}

// TestUnwatchedWaitEndsSoon checks the time to the next pass of a wait whose end no watch reports, such as the wait for
// the name of another owner's pod. It is one second for as long as pods usually take to go. Other waits double it.
func TestUnwatchedWaitEndsSoon(t *testing.T) {
	for waited, want := range map[time.Duration][2]time.Duration{ // of an unwatched and of a watched wait
		4 * time.Second:  {time.Second, 4 * time.Second},
		30 * time.Second: {time.Second, maxRequeueDelay},
		5 * time.Minute:  {10 * time.Second, maxRequeueDelay},
		time.Hour:        {maxRequeueDelay, maxRequeueDelay},
	} {
		for i, unwatched := range []bool{true, false} {
			h := Hold{Waited: waited, Wait: apianswer.Wait{Unwatched: unwatched}}
			if got := h.RequeueAfter(); got != want[i] {
				t.Errorf("after %v, unwatched %v: the next pass is after %v, want %v", waited, unwatched, got, want[i])
			}
		}
	}
}
