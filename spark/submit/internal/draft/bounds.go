package draft

import (
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// bound is a limit of a configuration value which Spark checks when the SparkContext starts. Another value ends the
// driver.
type bound struct {
	key   string
	check func(d *Draft, key string) (bool, error) // whether Spark accepts the value
	must  string                                   // follows "should be"
}

// bounds lists the limits (ConfigBuilder.checkValue) of what each SparkContext on Kubernetes reads. Keys that it reads
// later, or only with other settings, are left out: programs may run with any value of them. The first keys are in
// org.apache.spark.deploy.k8s.Config, the others in org.apache.spark.internal.config.
var bounds = []bound{
	{"spark.kubernetes.allocation.batch.size", atLeast(1), "more than zero"},
	{"spark.kubernetes.allocation.batch.delay", longer(time.Millisecond, 0), "more than zero"},
	// SPARK-49447
	{"spark.kubernetes.allocation.batch.delay", since(4, 0, longer(time.Millisecond, 100*time.Millisecond)), "more than 100ms"},
	{"spark.kubernetes.allocation.maximum", since(4, 1, atLeast(1)), "more than zero"},
	{"spark.kubernetes.allocation.maxPendingPods", atLeast(1), "more than zero"},
	{"spark.kubernetes.allocation.driver.readinessTimeout", longer(time.Second, 0), "at least 1s"},
	{"spark.kubernetes.allocation.executor.timeout", longer(time.Millisecond, 0), "more than zero"},
	{"spark.kubernetes.executor.apiPollingInterval", longer(time.Millisecond, 0), "more than zero"},
	{"spark.kubernetes.executor.eventProcessingInterval", longer(time.Millisecond, 0), "more than zero"},
	{"spark.memory.storageFraction", fraction, "at least 0 and less than 1"},
	{"spark.memory.offHeap.size", notNegative, "at least 0"},
	{"spark.scheduler.listenerbus.eventqueue.capacity", atLeast(1), "more than zero"},
	{"spark.scheduler.listenerbus.metrics.maxListenerClassesTimed", atLeast(-1), "at least -1"},
	{"spark.scheduler.numCancelledJobGroupsToTrack", since(4, 0, atLeast(1)), "more than zero"},
	{"spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures", atLeast(1), "more than zero"},
	{"spark.buffer.size", atLeast(0), "at least 0"},
	{"spark.diskStore.subDirectories", atLeast(1), "more than zero"},
	{"spark.log.level", isLogLevel, "one of " + strings.Join(logLevels, ", ")},
}

// checkBounds rejects values outside the bounds. Values with references that only the driver resolves are accepted.
func (d *Draft) checkBounds() error {
	for _, b := range bounds {
		if _, _, set := d.Conf.Lookup(b.key); !set || len(d.Conf.Unresolved(b.key)) > 0 || !d.reads(b.key) {
			continue
		}

		switch accepted, err := b.check(d, b.key); {
		case err != nil:
			return err
		case !accepted:
			value, _ := d.Conf.String(b.key, "")
			return submit.KeyErrorf(b.key, "should be %s, but is %s: Spark ends the driver at its start", b.must, d.Conf.Quote(b.key, value))
		}
	}
	return nil
}

// reads reports whether Spark reads a key at the start. Only the default allocator of executors
// (org.apache.spark.scheduler.cluster.k8s.ExecutorPodsAllocator) reads the keys about its batches.
func (d *Draft) reads(key string) bool {
	allocator, _ := d.Conf.String("spark.kubernetes.allocation.pods.allocator", "direct")
	return allocator == "direct" || !strings.HasPrefix(key, "spark.kubernetes.allocation.") || strings.Contains(key, ".driver.")
}

func atLeast(least int) func(*Draft, string) (bool, error) {
	return func(d *Draft, key string) (bool, error) {
		n, err := d.Conf.Int(key, least)
		return n >= least, err
	}
}

// longer accepts times above a limit. Spark first rounds a time down to whole units.
func longer(unit, limit time.Duration) func(*Draft, string) (bool, error) {
	return func(d *Draft, key string) (bool, error) {
		took, err := d.Conf.Duration(key, limit+unit, unit)
		return took.Truncate(unit) > limit, err
	}
}

// since applies a check from a version of Spark. Earlier versions accept any value.
func since(major, minor int, check func(*Draft, string) (bool, error)) func(*Draft, string) (bool, error) {
	return func(d *Draft, key string) (bool, error) {
		if d.Line.Major < major || d.Line.Major == major && d.Line.Minor < minor {
			return true, nil
		}
		return check(d, key)
	}
}

func fraction(d *Draft, key string) (bool, error) {
	f, err := d.Conf.Float(key, 0)
	return f >= 0 && f < 1, err
}

// notNegative rejects a negative size in the words of a bound. Other texts that are no size have an error of their own.
func notNegative(d *Draft, key string) (bool, error) {
	if text, _ := d.Conf.String(key, ""); strings.HasPrefix(strings.TrimSpace(text), "-") {
		return false, nil
	}

	_, err := d.Conf.Size(key, 0, conf.Byte)
	return true, err
}

var logLevels = []string{"ALL", "DEBUG", "ERROR", "FATAL", "INFO", "OFF", "TRACE", "WARN"}

func isLogLevel(d *Draft, key string) (bool, error) {
	level, err := d.Conf.String(key, "")
	return slices.Contains(logLevels, strings.ToUpper(strings.TrimSpace(level))), err
}
