package application

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// validSizes rejects sizes of driver and executors that Spark does not accept. Without this check, the driver would
// read the executors' sizes after its start, and the application would wait for executors that are never created. A
// value with a reference ("${...}") is not checked, since only the driver can resolve it.
func validSizes(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	check := func(field string, value *string, read func(string) error) {
		if value == nil || *value == "" || strings.Contains(*value, "${") {
			return
		}
		if err := read(*value); err != nil {
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: err.Error()})
		}
	}
	pod := func(path string, p *v1beta2.SparkPodSpec, coreRequest *string) {
		check(path+".memory", p.Memory, sparkoperator.CheckMemorySize)
		check(path+".memoryOverhead", p.MemoryOverhead, func(text string) error {
			if size, err := conf.ParseSize(text, conf.MiB); err == nil && size == 0 {
				return nil
			}
			return sparkoperator.CheckMemorySize(text)
		})
		check(path+".memoryLimit", p.MemoryLimit, func(text string) error {
			_, err := memoryQuantity(text)
			return err
		})
		check(path+".coreLimit", p.CoreLimit, cpuQuantity)
		check(path+".coreRequest", coreRequest, cpuQuantity)
	}
	pod("spec.driver", &app.Spec.Driver.SparkPodSpec, app.Spec.Driver.CoreRequest)
	pod("spec.executor", &app.Spec.Executor.SparkPodSpec, app.Spec.Executor.CoreRequest)
	check("spec.memoryOverheadFactor", app.Spec.MemoryOverheadFactor, overheadFactor)
	return append(wrong, executorLimit(&app.Spec)...)
}

// executorLimit rejects a CPU limit of executors that is below their CPU request. Without this check, Kubernetes would
// reject every executor pod, and the driver would try to create executors forever. The driver's own limit is checked
// when its pod is built.
func executorLimit(spec *v1beta2.SparkApplicationSpec) []*dialect.FieldError {
	executor := &spec.Executor
	cores := cmp.Or(spec.SparkConf["spark.executor.cores"], "1")
	if executor.Cores != nil {
		cores = strconv.Itoa(int(*executor.Cores))
	}
	request := cmp.Or(sparkoperator.StringValue(executor.CoreRequest), spec.SparkConf["spark.kubernetes.executor.request.cores"], cores)
	limit := cmp.Or(sparkoperator.StringValue(executor.CoreLimit), spec.SparkConf["spark.kubernetes.executor.limit.cores"])
	wanted, err1 := bounds.Quantity(strings.TrimSpace(request))
	most, err2 := bounds.Quantity(strings.TrimSpace(limit))
	if err1 != nil || err2 != nil || most.Cmp(wanted) >= 0 {
		return nil
	}
	return []*dialect.FieldError{{Field: "spec.executor.coreLimit", Message: fmt.Sprintf("%q is below the request, %q; raise it, or lower the request", limit, request)}}
}

// cpuQuantity rejects a text that is not an amount of CPU of 0 or more. The library for quantities also reads a unit
// without a number.
func cpuQuantity(text string) error {
	_, err := bounds.Quantity(strings.TrimSpace(text))
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return fault
	}
	if err != nil || strings.HasPrefix(strings.TrimSpace(text), "-") || !strings.ContainsAny(text, "0123456789") {
		return fmt.Errorf("%q is not an amount of CPU; write one such as 500m or 2", text)
	}
	return nil
}

// overheadFactor rejects a factor that Spark does not accept (MEMORY_OVERHEAD_FACTOR in Spark's Config.scala: at least
// 0). With 0, the overhead is Spark's least, 384 MiB.
func overheadFactor(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.Signbit(n) || math.IsNaN(n) {
		return fmt.Errorf("%q is not a number of 0 or more; write one such as 0.2", text)
	}
	return nil
}
