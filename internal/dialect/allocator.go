package dialect

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// AllocatorKey is the configuration key that says which objects create the executor pods.
const AllocatorKey = "spark.kubernetes.allocation.pods.allocator"

// AllocatorWarnings returns a warning if a driver will create its executors by objects on which it may have no rights.
// The argument `granted` says whether the operator's configuration reports the rights on StatefulSets.
func AllocatorWarnings(c *conf.Conf, granted bool) []string {
	const grant = "grant them to the driver's service account in a Role of your own, or use direct"

	var way string

	allocator, _ := c.Get(AllocatorKey)
	switch {
	case allocator == "statefulset" && !granted:
		way = "set the value spark.rbac.statefulSets of the operator's chart to true, " + grant
	case allocator == "deployment":
		way = grant
	default:
		return nil
	}
	return []string{fmt.Sprintf("spec.sparkConf[%s]: the driver needs rights on %ss, which the operator's chart does not grant; %s", AllocatorKey, allocator, way)}
}
