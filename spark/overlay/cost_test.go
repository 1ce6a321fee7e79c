package overlay

import (
	"reflect"
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestCostIsLinear applies long lists to a pod that has long lists too. If Apply compared each toleration or
// environment source with every other item of the list, 20,000 items would take minutes.
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
