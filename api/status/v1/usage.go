package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatorUsage contains the requests of the pods of a custom resource, multiplied by the time from their assignment to
// a node until their containers ended or the pods were deleted. The operator writes it only together with other changes
// of the status. The sums are therefore valid at the stored time. Until the next write, they grow by the stored
// requests each second.
type OperatorUsage struct {
	// The attempt to which driver, executors and peakExecutors belong.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// The time at which the sums are valid.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Sums of the driver pod of the attempt.
	// +optional
	Driver UsageOfPods `json:"driver,omitzero"`
	// Sums of the executors of the attempt.
	// +optional
	Executors UsageOfPods `json:"executors,omitzero"`
	// All pods of earlier attempts.
	// +optional
	Earlier UsageSums `json:"earlier,omitzero"`
	// The part of all sums that belongs to runs before the current or last one. A run begins with the first attempt, and
	// again when an attempt follows the permanent end, after an edit or a restart request.
	// +optional
	EarlierRuns UsageSums `json:"earlierRuns,omitzero"`
	// The largest number of executors of the attempt that had a node at the same time.
	// +optional
	PeakExecutors int32 `json:"peakExecutors,omitempty"`
	// How many executors had a node over time, of all attempts of the current or last run, until the stored time. A text
	// such as "1764500000 0:2 12:5 300:0" has the time of the first step in seconds since 1970, and for each step the
	// seconds since then and the number of executors. There are at most 32 steps; further ones are left out where the
	// least changes. Of a SparkCluster, all pods count.
	// +optional
	ExecutorSteps string `json:"executorSteps,omitempty"`
	// How long the attempts of the current or last run have waited, by cause.
	// +optional
	Pending UsagePending `json:"pending,omitzero"`
	// Executors of the attempt that had a node at the stored time, as ranges of their numbers.
	// +optional
	Open string `json:"open,omitempty"`
	// Executors of the attempt that had ended by then.
	// +optional
	Settled string `json:"settled,omitempty"`
	// The part of executors that belongs to the executors in settled.
	// +optional
	SettledSums UsageSums `json:"settledSums,omitzero"`
}

// UsageOfPods contains what some pods have requested so far, and what they request at the stored time.
type UsageOfPods struct {
	UsageSums `json:",inline"`
	// Requests of the pods that had a node at the stored time.
	// +optional
	Requested UsageRate `json:"requested,omitzero"`
	// Requests of the largest pod, each resource apart.
	// +optional
	Largest UsageRate `json:"largest,omitzero"`
	// Samples of the metrics API, which are incomplete: they miss what lies between two samples. Absent unless the
	// operator is configured to take them.
	// +optional
	Sampled UsageSamples `json:"sampled,omitzero"`
}

// UsageSamples contain what pods used, according to samples of the metrics API.
type UsageSamples struct {
	// Number of samples that were taken of the pods.
	// +optional
	Count int64 `json:"count,omitempty"`
	// Largest memory of one pod in a sample, in MiB.
	// +optional
	PeakMemoryMiB int64 `json:"peakMemoryMiB,omitempty"`
	// Sum of the used CPU of all samples multiplied by the time between them, in thousandths of a CPU multiplied by
	// seconds.
	// +optional
	CPUMillicoreSeconds int64 `json:"cpuMillicoreSeconds,omitempty"`
	// Sum of the used memory of all samples multiplied by the time between them, in MiB multiplied by seconds.
	// +optional
	MemoryMiBSeconds int64 `json:"memoryMiBSeconds,omitempty"`
}

// UsageSums are requests multiplied by time.
type UsageSums struct {
	// Thousandths of a CPU, multiplied by seconds.
	// +optional
	CPUMillicoreSeconds int64 `json:"cpuMillicoreSeconds,omitempty"`
	// MiB of memory, multiplied by seconds.
	// +optional
	MemoryMiBSeconds int64 `json:"memoryMiBSeconds,omitempty"`
	// GPUs, multiplied by seconds.
	// +optional
	GPUSeconds int64 `json:"gpuSeconds,omitempty"`
	// The cost by the configured prices, in billionths of the unit of the prices.
	// +optional
	CostNanos int64 `json:"costNanos,omitempty"`
}

// UsageRate is what pods request.
type UsageRate struct {
	// CPU that the pods request, in thousandths of a CPU.
	// +optional
	CPUMillicores int64 `json:"cpuMillicores,omitempty"`
	// Memory that the pods request, in MiB.
	// +optional
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// GPUs that the pods request, of all vendors together.
	// +optional
	GPUs int64 `json:"gpus,omitempty"`
	// The cost of a second by the configured prices, in billionths of the unit of the prices.
	// +optional
	CostNanos int64 `json:"costNanos,omitempty"`
}

// UsagePending contains how long the attempts have waited, in seconds.
type UsagePending struct {
	// Seconds for a node with enough room.
	// +optional
	UnschedulableSeconds int64 `json:"unschedulableSeconds,omitempty"`
	// Seconds for an image that could not be pulled.
	// +optional
	ImagePullSeconds int64 `json:"imagePullSeconds,omitempty"`
	// Seconds for a ResourceQuota of the namespace.
	// +optional
	QuotaSeconds int64 `json:"quotaSeconds,omitempty"`
	// Seconds in a queue, which gives quota to whole applications.
	// +optional
	QueueSeconds int64 `json:"queueSeconds,omitempty"`
}
