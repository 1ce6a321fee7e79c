package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// usageCounters count what pods have requested, multiplied by time, by namespace and by one label of the custom
// resources. The first maxLabelSets combinations of the two have their own series, and all others one together.
type usageCounters struct {
	label                   string // the key of the label; empty if no label is configured
	cores, memory, gpu, all *prometheus.CounterVec

	mu    sync.Mutex
	known map[[2]string]bool
}

func newUsageCounters(reg prometheus.Registerer, label string) *usageCounters {
	counter := func(name, help string) *prometheus.CounterVec {
		return register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"app_namespace", "owner"}))
	}
	return &usageCounters{
		label: label, known: map[[2]string]bool{},
		cores:  counter("sparkoperator_usage_core_seconds_total", "Requested CPUs of drivers, executors and SparkClusters, multiplied by seconds, counted when the status is stored."),
		memory: counter("sparkoperator_usage_gib_seconds_total", "Requested GiB of memory of drivers, executors and SparkClusters, multiplied by seconds, counted when the status is stored."),
		gpu:    counter("sparkoperator_usage_gpu_seconds_total", "Requested GPUs of drivers, executors and SparkClusters, multiplied by seconds, counted when the status is stored."),
		all:    counter("sparkoperator_usage_cost_total", "Cost of drivers, executors and SparkClusters by the configured prices, counted when the status is stored."),
	}
}

// valuesOf returns the values of the labels app_namespace and owner.
func (u *usageCounters) valuesOf(subject lifecycle.Subject) (namespace, owner string) {
	namespace = clean(subject.Namespace)
	if u.label != "" {
		if owner = unknownLabel; subject.Labels[u.label] != "" {
			owner = clean(subject.Labels[u.label])
		}
	}

	u.mu.Lock()
	defer u.mu.Unlock()

	values := [2]string{namespace, owner}
	if !u.known[values] && len(u.known) >= maxLabelSets {
		return otherValue, otherValue
	}

	u.known[values] = true
	return namespace, owner
}

// Used counts what the pods of a custom resource have requested since its last status write.
func (m *Metrics) Used(subject lifecycle.Subject, more statusv1.UsageSums) {
	if more == (statusv1.UsageSums{}) {
		return
	}

	namespace, owner := m.usage.valuesOf(subject)
	m.usage.cores.WithLabelValues(namespace, owner).Add(float64(more.CPUMillicoreSeconds) / 1000)
	m.usage.memory.WithLabelValues(namespace, owner).Add(float64(more.MemoryMiBSeconds) / 1024)

	if more.GPUSeconds > 0 {
		m.usage.gpu.WithLabelValues(namespace, owner).Add(float64(more.GPUSeconds))
	}

	if more.CostNanos > 0 {
		m.usage.all.WithLabelValues(namespace, owner).Add(float64(more.CostNanos) / 1e9)
	}
}

// recordFailed is the result of run records that were not written, in metrics.
const recordFailed = "failed"

// RecordKept counts the records of finished runs that were written, and those that were not.
func (m *Metrics) RecordKept(ok bool) {
	result := "ok"
	if !ok {
		result = recordFailed
	}

	m.runRecords.WithLabelValues(result).Inc()
}
