package application

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
)

// hashVersion is the version of Hash's algorithm. Another one is never compared with it, so it must change with anything that changes the
// hash of a spec that users have stored.
const hashVersion = 2

// Hash names what an attempt is launched from: the spec less the fields that only steer the operator, which may change without a new run
// (suspend, timeToLiveSeconds, timeouts, restartPolicy, driverPodDisruptionBudget, what stands beside the driver, and the fields that mean nothing
// any more).
func Hash(spec *v1beta2.SparkApplicationSpec) string {
	s := *spec
	s.Suspend, s.TimeToLiveSeconds, s.Timeouts, s.DriverPodDisruptionBudget = nil, nil, nil, nil
	s.RestartPolicy = v1beta2.RestartPolicy{}
	s.SparkUIOptions, s.DriverIngressOptions = nil, nil
	s.FailureRetries, s.RetryInterval = nil, nil
	// The spec came out of JSON and goes back into it; only a template that holds no JSON at all, which no API server stores, cannot.
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return strconv.Itoa(hashVersion) + ":" + hex.EncodeToString(sum[:12])
}
