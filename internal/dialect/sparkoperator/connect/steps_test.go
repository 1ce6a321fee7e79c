package connect

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// This file contains the steps of a decision for tests that judge only one step.

// invalid returns the reason why a server can never work with a spec.
func (c Connects) invalid(sc *v1alpha1.SparkConnect) *lifecycle.Cause {
	return dialect.Invalid(faults(c.next(sc, 1)))
}

// service returns the Service for clients.
func (c Connects) service(sc *v1alpha1.SparkConnect) (*corev1.Service, error) {
	return c.present(sc).clientService()
}

// exposure returns the objects of the web UI.
func (c Connects) exposure(sc *v1alpha1.SparkConnect, clients string) sparkoperator.Exposure {
	return c.present(sc).exposure(clients)
}

// serviceWarnings returns notices about the Service for clients.
func (c Connects) serviceWarnings(sc *v1alpha1.SparkConnect) []lifecycle.Notice {
	return c.present(sc).serviceWarnings()
}

// encodeService writes the state of the Service for clients into the status.
func (c Connects) encodeService(sc *v1alpha1.SparkConnect, now time.Time) []lifecycle.Notice {
	return encodeService(c.present(sc), now)
}

// connectWarnings returns the warnings about a spec.
func connectWarnings(sc *v1alpha1.SparkConnect) []string {
	return Connects{}.present(sc).withoutEffect(sc)
}

// settings returns the Spark configuration with the field that sets each key.
func settings(sc *v1alpha1.SparkConnect) []dialect.Setting { return Connects{}.next(sc, 1).Settings() }

// workers returns the largest number of executors.
func workers(sc *v1alpha1.SparkConnect) dialect.Workers {
	most, _ := Connects{}.present(sc).Workers(connectConf(sc))
	return most
}
