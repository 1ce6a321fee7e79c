package cluster

import (
	"errors"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// validateCluster returns the faults for which a cluster cannot be rendered: a wrong name (which no edit can change), a
// wrong version, wrong numbers of workers, and the first error of standalone.Build about templates and configuration.
// If it returns no fault, the spec itself can be rendered, but a default of the platform may still cause a fault. It is
// no fault if minWorkers is not less than maxWorkers: the cluster then has no autoscaler, and initWorkers is the number
// of workers.
func validateCluster(cluster *sparkv1.SparkCluster) (wrong []*dialect.FieldError) {
	if wrong := dialect.OutOfBounds(cluster.OutOfBounds); wrong != nil {
		return wrong
	}

	reported := map[string]bool{}
	workers := cluster.Spec.ClusterTolerations.InstanceConfig

	_, rest := (Clusters{}).objects(cluster)
	for _, err := range []error{
		standalone.CheckName(cluster.Name), standalone.CheckVersion(cluster.Spec.RuntimeVersions.SparkVersion),
		standalone.CheckWorkers("InitWorkers", workers.InitWorkers), standalone.CheckWorkers("MinWorkers", workers.MinWorkers),
		standalone.CheckWorkers("MaxWorkers", workers.MaxWorkers), rest,
	} {
		if fault, ok := errors.AsType[*dialect.FieldError](asClusterError(err)); ok && !reported[fault.Field] {
			reported[fault.Field] = true
			wrong = append(wrong, fault)
		}
	}
	return wrong
}
