package apache

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// TestHoldOf checks every combination of what decides about a hold.
func TestHoldOf(t *testing.T) {
	t.Parallel()

	yes, no := true, false

	long := strings.Repeat("s", 1<<20)
	for _, suspend := range []*bool{nil, &no, &yes} {
		for _, state := range []string{"", "Running", long} {
			for i := range 8 {
				known, evicted, deleting := i&1 > 0, i&2 > 0, i&4 > 0

				r := Resource{Suspend: suspend, State: state, Known: known, Deleting: deleting}
				if evicted {
					r.SuspendReason = sparkv1.KueueEviction
				}

				want := ""
				switch {
				case deleting:
				case !known:
					want = dialect.ReasonOtherOperator
				case suspend == &yes:
					want = ReasonSuspendHeld
				case evicted:
					want = ReasonEvicted
				}

				checkHold(t, r, want)
			}
		}
	}
}

// checkHold checks the hold of a resource. The reason is empty if the resource is not held.
func checkHold(t *testing.T, r Resource, reason string) {
	t.Helper()

	h := HoldOf(r)
	if reason == "" {
		if h != (Hold{}) || len(h.Notices()) > 0 {
			t.Errorf("%+v is held: %+v", r, h)
		}
		return
	}

	unknown := reason == dialect.ReasonOtherOperator
	switch {
	case h.Cause == nil || h.Cause.Reason != reason || h.Frozen != unknown || h.Suspends == unknown || !h.New ||
		len(h.Notices()) != 1:
		t.Errorf("%+v: %+v", r, h)
	case len(h.Cause.Message) > 1024 || unknown &&
		!strings.Contains(h.Cause.Message, `"`+r.State[:min(len(r.State), 7)]):
		t.Errorf("state %.20q: message %.100q", r.State, h.Cause.Message)
	}

	r.Conditions = []metav1.Condition{{Type: dialect.ConditionReady, Reason: h.Cause.Reason}}
	if again := HoldOf(r); again.New || len(again.Notices()) > 0 {
		t.Errorf("%+v is reported twice", r)
	}
}
