package configured

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/gang"
)

// gangKinds returns the kinds of the pod groups of the batch schedulers that the configuration switches on.
func gangKinds(cfg config.Configuration) (kinds []schema.GroupVersionKind) {
	if !cfg.BatchScheduler.Enabled {
		return nil
	}

	kinds = append(kinds, gang.VolcanoKind)
	if len(cfg.BatchScheduler.KubeSchedulerNames) > 0 {
		kinds = append(kinds, gang.CoschedulingKind)
	}
	return kinds
}

func batchOptions(cfg config.Configuration) batch.Options {
	b := cfg.BatchScheduler
	return batch.Options{Enabled: b.Enabled, Default: b.Default, KubeSchedulers: b.KubeSchedulerNames}
}
