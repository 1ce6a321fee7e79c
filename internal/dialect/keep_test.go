package dialect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestKeepConditions checks that KeepConditions removes the operator's own outdated conditions, and keeps the
// conditions of other writers up to the maximum number.
func TestKeepConditions(t *testing.T) {
	for _, test := range []struct{ theirs, want int }{{0, 0}, {3, 3}, {maxOthers, maxOthers}, {20000, maxOthers}} {
		var conditions []metav1.Condition
		for i := range test.theirs {
			conditions = append(conditions, metav1.Condition{Type: fmt.Sprint("theirs-", i)})
		}

		conditions = append(conditions, metav1.Condition{Type: "Over"}, metav1.Condition{Type: "Holds"})
		KeepConditions(&conditions, []string{"Holds", "Over"}, func(kind string) bool { return kind == "Over" })

		var ours []string
		for _, c := range conditions {
			if !strings.HasPrefix(c.Type, "theirs-") {
				ours = append(ours, c.Type)
			}
		}

		if theirs := len(conditions) - len(ours); theirs != test.want || !slices.Equal(ours, []string{"Holds"}) {
			t.Errorf("of %d conditions of other writers %d are kept, want %d; of the operator's own %v", test.theirs,
				theirs, test.want, ours)
		}
	}
}
