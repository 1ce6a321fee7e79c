package overlay

import (
	"reflect"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/testkit/worst"
)

// TestCostIsLinear applies long lists to a pod that has long lists too. When lists of tolerations and environment
// sources were still compared item by item, 20,000 items took minutes.
func TestCostIsLinear(t *testing.T) {
	for _, field := range worst.Fields(reflect.TypeFor[Overlay]()) {
		worst.Linear(t, field.Path, func(n int) func() {
			var o Overlay
			field.Fill(&o, 4*n) // it is fast enough for more items
			return func() {
				pod := driver()
				for range 2 { // the second time the pod has everything already
					if err := Apply(pod, DriverContainer, o); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
