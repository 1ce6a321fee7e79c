package draft

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/language"
)

// executorMemory returns the memory of an executor pod: heap, overhead, Python's memory and off-heap memory
// (ResourceProfile).
func executorMemory(e *Draft) (resource.Quantity, error) {
	const key = "spark.executor.memory"

	heap, err := e.Conf.Size(key, 1024, conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}

	least, err := leastOverhead(e, submit.RoleExecutor)
	if err != nil {
		return resource.Quantity{}, err
	}

	factor, err := e.Conf.Float(factorKey, 0.1)
	if err == nil {
		factor, err = e.Conf.Float("spark.executor.memoryOverheadFactor", factor)
	}

	if err != nil {
		return resource.Quantity{}, err
	}

	overhead, err := e.Conf.Size("spark.executor.memoryOverhead", max(truncate(factor*float64(heap)), least), conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}

	extra, err := executorExtraMemory(e)
	if err != nil {
		return resource.Quantity{}, err
	}

	total := heap
	for _, part := range []int64{overhead, extra} {
		if part < 0 || total > math.MaxInt64>>20-part {
			return resource.Quantity{}, submit.KeyErrorf(key, "memory plus overhead is more than a Kubernetes quantity can hold; reduce it")
		}

		total += part
	}
	return mebibytes(total), nil
}

// executorExtraMemory returns Python's memory and the off-heap memory of the JVM, in MiB.
func executorExtraMemory(e *Draft) (extra int64, err error) {
	if e.Language == language.Python {
		if extra, err = e.Conf.Size("spark.executor.pyspark.memory", 0, conf.MiB); err != nil {
			return 0, err
		}
	}

	offHeap, err := e.Conf.Bool("spark.memory.offHeap.enabled", false)
	if err != nil || !offHeap {
		return extra, err
	}

	size, err := e.Conf.Size("spark.memory.offHeap.size", 0, 1)
	return extra + size>>20, err
}

const factorKey = "spark.kubernetes.memoryOverheadFactor"

// Memory returns the memory of the draft's pod.
func (d *Draft) Memory() (resource.Quantity, error) {
	if d.Role == submit.RoleExecutor {
		return executorMemory(d)
	}
	return driverMemory(d)
}

// mebibytes converts MiB to a quantity.
func mebibytes(n int64) resource.Quantity { return *resource.NewQuantity(n<<20, resource.BinarySI) }

// driverMemory returns the memory of the driver pod: heap plus overhead.
func driverMemory(d *Draft) (resource.Quantity, error) {
	heap, err := d.Conf.Size("spark.driver.memory", 1024, conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}

	factor, err := overheadFactor(d)
	if err != nil {
		return resource.Quantity{}, err
	}

	least, err := leastOverhead(d, submit.RoleDriver)
	if err != nil {
		return resource.Quantity{}, err
	}

	overhead, err := d.Conf.Size("spark.driver.memoryOverhead", max(truncate(factor*float64(heap)), least), conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}

	const most = math.MaxInt64 >> 20
	if heap > most-min(overhead, most) {
		return resource.Quantity{}, submit.KeyErrorf("spark.driver.memory", "memory plus overhead is more than a Kubernetes quantity can hold; reduce it")
	}
	return mebibytes(heap + overhead), nil
}

// leastOverhead returns the minimum of the overhead of a role's pods in MiB. In a bound it is also at least the minimum
// of the lines that do not read the key.
func leastOverhead(d *Draft, role string) (int64, error) {
	if !d.Line.MinOverhead && !d.Request.Bound {
		return submit.LeastOverhead, nil
	}

	least, err := d.Conf.Size("spark."+role+".minMemoryOverhead", submit.LeastOverhead, conf.MiB)
	if d.Request.Bound {
		least = max(least, submit.LeastOverhead)
	}
	return least, err
}

// truncate converts f to an integer as the JVM casts a double to an int: values beyond the largest int become the
// largest int.
func truncate(f float64) int64 { return int64(min(f, math.MaxInt32)) }

// overheadFactor returns the driver's memory overhead factor. It also writes spark.kubernetes.memoryOverheadFactor, the
// factor for driver and executors, to spark.properties, because the driver reads the factor for its executors there.
func overheadFactor(d *Draft) (float64, error) {
	def := 0.1
	if d.Language != language.Java {
		def = 0.4
	}

	def, err := d.Conf.Float(factorKey, def)
	if err != nil {
		return 0, err
	}

	if !(def >= 0) || math.IsInf(def, 0) {
		return 0, submit.KeyErrorf(factorKey, "should be zero or more, but is %s", d.Conf.Quote(factorKey, fmt.Sprint(def)))
	}

	d.Props.Set(factorKey, conf.FormatDouble(def))
	const driverKey = "spark.driver.memoryOverheadFactor"

	factor, err := d.Conf.Float(driverKey, def)
	if err != nil {
		return 0, err
	}

	if d.Conf.Has(driverKey) && !(factor > 0) || math.IsInf(factor, 0) {
		return 0, submit.KeyErrorf(driverKey, "should be more than zero, but is %s", d.Conf.Quote(driverKey, fmt.Sprint(factor)))
	}
	return factor, nil
}
