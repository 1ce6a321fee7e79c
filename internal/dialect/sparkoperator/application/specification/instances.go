package specification

import (
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
)

// InitialExecutors returns the number of executors with which the application starts, according to typed fields and
// sparkConf.
func InitialExecutors(spec *v1beta2.SparkApplicationSpec) int32 {
	if DriverOnly(spec) {
		return 0
	}

	instances, set := number(spec, spec.Executor.Instances, "spec.executor.instances")
	if DynamicAllocation(spec) {
		var field *int32
		if spec.DynamicAllocation != nil {
			field = spec.DynamicAllocation.InitialExecutors
		}
		// Spark starts with the largest of the three (Utils.getDynamicAllocationInitialExecutors).
		initial, _ := number(spec, field, "spec.dynamicAllocation.initialExecutors")
		return max(initial, MinExecutors(spec), instances)
	}

	if !set {
		return 1
	}
	return instances
}

// MinExecutors returns the number of executors that the application needs at all times. Without dynamic allocation this
// is its initial number of executors. With dynamic allocation it is Spark's minimum.
func MinExecutors(spec *v1beta2.SparkApplicationSpec) int32 {
	switch {
	case DriverOnly(spec):
		return 0
	case !DynamicAllocation(spec):
		return InitialExecutors(spec)
	}

	var field *int32
	if spec.DynamicAllocation != nil {
		field = spec.DynamicAllocation.MinExecutors
	}

	least, _ := number(spec, field, "spec.dynamicAllocation.minExecutors")
	return least
}

// number returns the value of a typed field. If the field is not set, it returns the value of the field's key in
// sparkConf (dialect.ExecutorNumber). The result found is false if neither of them is set.
func number(spec *v1beta2.SparkApplicationSpec, field *int32, path string) (n int32, found bool) {
	if field != nil {
		return *field, true
	}
	return dialect.ExecutorNumber(spec.SparkConf[fields.Application.Key(path)])
}

// DynamicAllocation reports whether the number of executors changes while the application runs.
func DynamicAllocation(spec *v1beta2.SparkApplicationSpec) bool {
	if d := spec.DynamicAllocation; d != nil && d.Enabled {
		return true
	}
	return strings.EqualFold(strings.TrimSpace(spec.SparkConf[fields.Application.Key("spec.dynamicAllocation.enabled")]), "true")
}

// DriverOnly reports whether spec.driver.kubernetesMaster is local. Such an application has no executors: its driver
// runs all tasks itself.
func DriverOnly(spec *v1beta2.SparkApplicationSpec) bool {
	return strings.HasPrefix(sparkoperator.StringValue(spec.Driver.KubernetesMaster), "local")
}
