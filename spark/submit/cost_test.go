package submit_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestOverwrittenCostsLinearTime checks the cost of comparing a long environment with the configuration.
func TestOverwrittenCostsLinearTime(t *testing.T) {
	worst.Linear(t, "env", func(n int) func() {
		var o overlay.Overlay
		for i := range 4 * n {
			o.Env = append(o.Env, corev1.EnvVar{Name: fmt.Sprint("E", i)})
		}
		return func() { submit.OverwrittenByConf(conf.New(), o) }
	})
}
