package specification

import (
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestInitialExecutors checks how many executors an application starts with, and the least number that it needs, for
// all fields and keys that set these numbers. A key whose value is not an int32 counts as not set.
func TestInitialExecutors(t *testing.T) {
	for _, c := range []struct {
		piece       string
		want, least int32
	}{
		{`{executor: {instances: null}}`, 1, 1},
		{`{executor: {instances: 3}}`, 3, 3},
		{`{executor: {instances: null}, sparkConf: {spark.executor.instances: "4"}}`, 4, 4},
		{`{executor: {instances: 3}, sparkConf: {spark.executor.instances: "4"}}`, 3, 3},
		{`{executor: {instances: null}, dynamicAllocation: {enabled: true}}`, 0, 0},
		{`{executor: {instances: 2}, dynamicAllocation: {enabled: true, minExecutors: 1, initialExecutors: 5}}`, 5, 1},
		{`{executor: {instances: 7}, dynamicAllocation: {enabled: true, initialExecutors: 5}}`, 7, 0},
		{`{executor: {instances: null}, sparkConf: {spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.minExecutors: "2"}}`, 2, 2},
		{`{executor: {instances: null}, dynamicAllocation: {enabled: true, minExecutors: 3}, sparkConf: {spark.dynamicAllocation.minExecutors: "2"}}`, 3, 3},
		{`{executor: {instances: null}, sparkConf: {spark.executor.instances: "2147483648"}}`, 1, 1},
		{`{executor: {instances: null}, sparkConf: {spark.executor.instances: "-4"}}`, 0, 0},
		{`{executor: {instances: 2}, dynamicAllocation: {enabled: true}, sparkConf: {spark.dynamicAllocation.initialExecutors: "99999999999"}}`, 2, 0},
		{`{executor: {instances: 2}, dynamicAllocation: {enabled: true}, sparkConf: {spark.dynamicAllocation.minExecutors: "99999999999"}}`, 2, 0},
		{`{executor: {instances: null}, dynamicAllocation: {enabled: true, minExecutors: 1}, sparkConf: {spark.executor.instances: "99999999999"}}`, 1, 1},
		{`{driver: {kubernetesMaster: "local[2]"}, executor: {instances: 3}}`, 0, 0},
		{`{driver: {kubernetesMaster: "local[2]"}, dynamicAllocation: {enabled: true, minExecutors: 3}}`, 0, 0},
	} {
		app := sparkapp.Of(t, "spec: "+c.piece)
		if got := InitialExecutors(&app.Spec); got != c.want {
			t.Errorf("%s: waits for %d executors, want %d", c.piece, got, c.want)
		}

		if got := MinExecutors(&app.Spec); got != c.least {
			t.Errorf("%s: always wants %d executors, want %d", c.piece, got, c.least)
		}
	}
}
