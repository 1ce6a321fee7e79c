package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/spark/gang"
)

// BatchScheduler configures the use of schedulers that place an application's driver and executors as a group.
type BatchScheduler struct {
	// Enabled lets applications choose a batch scheduler (spec.batchScheduler). The operator needs rights on the
	// PodGroups of Volcano and, if KubeSchedulerNames names a scheduler, on the PodGroups of the coscheduling plugin.
	// Their definitions may be installed later. If false, spec.batchScheduler is only the name of the pods' scheduler.
	// Default false.
	Enabled bool `json:"enabled,omitempty"`
	// Default is the batch scheduler of applications that name no scheduler: volcano, yunikorn, or one of
	// KubeSchedulerNames. It has no effect if Enabled is false. Default: none.
	Default string `json:"default,omitempty"`
	// KubeSchedulerNames are the names of schedulers (profiles of kube-scheduler) that have the coscheduling plugin.
	// Default: none.
	KubeSchedulerNames []string `json:"kubeSchedulerNames,omitempty"`
}

// Kueue configures the integration with the queue Kueue. SparkApplications of sparkoperator.k8s.io are not part of it,
// because Kueue has an integration of its own for them.
type Kueue struct {
	// Enabled queues SparkApplications and SparkClusters of spark.apache.org and SparkConnects with the label
	// kueue.x-k8s.io/queue-name: their pods are created only when Kueue admits them. The operator needs rights on
	// Workloads, ResourceFlavors, WorkloadPriorityClasses and PriorityClasses. Kueue's definitions (v1beta2) may be
	// installed later; until then, labelled resources wait. If false, the label has no effect. Default false.
	Enabled bool `json:"enabled,omitempty"`
}

func validateBatchScheduler(c *Configuration) (errs field.ErrorList) {
	path, b := field.NewPath("batchScheduler"), &c.BatchScheduler

	known := []string{gang.VolcanoScheduler, gang.YuniKornScheduler}
	for i, name := range b.KubeSchedulerNames {
		at := path.Child("kubeSchedulerNames").Index(i)
		errs = append(errs, checked(at, name, validation.IsDNS1123Subdomain)...)

		if slices.Contains(known, name) {
			errs = append(errs, field.Duplicate(at, name))
		}

		known = append(known, name)
	}

	if b.Default != "" && !slices.Contains(known, b.Default) {
		errs = append(errs, field.NotSupported(path.Child("default"), b.Default, known))
	}
	return errs
}
