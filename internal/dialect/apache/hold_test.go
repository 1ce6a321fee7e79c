package apache

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
				known, ours, deleting := i&1 > 0, i&2 > 0, i&4 > 0
				want := !deleting && (!known || suspend == &yes)
				r := Resource{Suspend: suspend, State: state, Known: known, Ours: ours, Deleting: deleting}

				h := HoldOf(r)
				switch {
				case (h.Cause != nil) != want || h.Frozen != (want && (!ours || !known)) || h.New != want || len(h.Notices()) != map[bool]int{true: 1}[want]:
					t.Errorf("%+v: %+v", r, h)
				case want && (len(h.Cause.Message) > 1024 || state != "" && !strings.Contains(h.Cause.Message, `"`+state[:min(len(state), 7)])):
					t.Errorf("state %.20q: message %.100q", state, h.Cause.Message)
				case want && !known != (h.Cause.Reason == dialect.ReasonOtherOperator):
					t.Errorf("known %t: reason %s", known, h.Cause.Reason)
				}

				if !want {
					continue
				}

				r.Conditions = []metav1.Condition{{Type: dialect.ConditionReady, Reason: h.Cause.Reason}}
				if again := HoldOf(r); again.New || len(again.Notices()) > 0 {
					t.Errorf("%+v is reported twice", r)
				}
			}
		}
	}
}
