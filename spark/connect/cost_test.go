package connect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestReferencesDoNotMultiply builds executors from a configuration in which many keys refer to one long value. Without
// a limit, 40 KB of keys would become hundreds of MB.
func TestReferencesDoNotMultiply(t *testing.T) {
	r := minimal()
	r.Conf.Set("spark.big", strings.Repeat("x", 200<<10))

	for i := range 2000 {
		r.Conf.Set(fmt.Sprint("spark.executor.k", i), "${spark.big}")
	}

	if got := worst.Allocated(func() { _, _ = Executor(r, 1, "uid") }); got > 32<<20 {
		t.Errorf("%d MiB are allocated", got>>20)
	}
}

// TestKeysOfTheServerCostLinearTime builds an executor and its bound with many devices. The amounts of the devices
// contain references that only the server's process can replace. Another build of the whole pod for each amount would
// take quadratic time.
func TestKeysOfTheServerCostLinearTime(t *testing.T) {
	worst.Linear(t, "devices", func(n int) func() {
		r := minimal()
		for i := range n {
			r.Conf.Set(fmt.Sprintf("spark.executor.resource.d%d.amount", i), "${env:AMOUNT}")
		}
		return func() {
			if _, err := Executor(r, 1, "uid"); err != nil {
				t.Error(err)
			}

			if _, unknown, err := NewExecutors(r).Bound(); err != nil || len(unknown) != n {
				t.Errorf("%d unknown keys, want %d: %v", len(unknown), n, err)
			}
		}
	})
}

// TestForeignKeysCostLinearTime builds a server with many keys that are not Spark configuration.
func TestForeignKeysCostLinearTime(t *testing.T) {
	worst.Linear(t, "foreign keys", func(n int) func() {
		r := minimal()

		keys := map[string]string{}
		for i := range 4 * n {
			keys[fmt.Sprint("foreign.k", i)] = "v"
		}

		for key, value := range conf.FromMap(keys).All() {
			r.Conf.Set(key, value)
		}
		return func() { _, _ = Build(r) }
	})
}
