package specification

import (
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// hashVersion is the version of the algorithm of Hash. Hashes of different versions are never compared. Every change of
// the algorithm that changes the hash of a stored spec must also change the version.
const hashVersion = 2

// Hash returns a hash of those parts of the spec that determine how an attempt is launched. It leaves out the fields
// that may change without a new run: suspend, timeToLiveSeconds, timeouts, restartPolicy, driverPodDisruptionBudget,
// the settings of auxiliary objects, and fields without an effect.
func Hash(spec *v1beta2.SparkApplicationSpec) string {
	s := *spec
	s.Suspend, s.TimeToLiveSeconds, s.Timeouts, s.DriverPodDisruptionBudget = nil, nil, nil, nil
	s.RestartPolicy = v1beta2.RestartPolicy{}
	s.SparkUIOptions, s.DriverIngressOptions = nil, nil
	s.FailureRetries, s.RetryInterval = nil, nil
	return dialect.SpecHash(hashVersion, s)
}
