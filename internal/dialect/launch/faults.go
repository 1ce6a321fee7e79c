package launch

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// First returns the result of the first function that finds faults.
func First(checks ...func() []*dialect.FieldError) []*dialect.FieldError {
	for _, check := range checks {
		if faults := check(); len(faults) > 0 {
			return faults
		}
	}
	return nil
}

// BuildFaults returns the fault for which the objects of the attempt cannot be built, if there is one.
func (l *Launch[A]) BuildFaults() []*dialect.FieldError {
	_, err := l.build()
	return dialect.AsFaults(err)
}

// PodFaults returns the values of the attempt's pods that the API server would refuse (dialect.PodSources). The objects
// must have been built.
func (l *Launch[A]) PodFaults() []*dialect.FieldError {
	return l.sources.Faults(l.owner, l.built.value.Driver, l.Executor)
}

// RuleFaults returns the violations of the platform's rules by the attempt. The objects must have been built.
func (l *Launch[A]) RuleFaults() []*dialect.FieldError {
	if !l.ruled {
		return nil
	}
	return l.Attempt.Judge(&dialect.Subject{Settings: l.Settings, Pods: l.described, Workers: l.workers})
}

// Settings returns the Spark configuration. Each key comes with the field that sets it. If the configuration is
// invalid, Settings returns nothing; BuildFaults returns the fault.
func (l *Launch[A]) Settings() []dialect.Setting {
	c, err := l.Configuration()
	if err != nil {
		return nil
	}

	var all []dialect.Setting
	for key, value := range c.All() {
		all = append(all, dialect.Setting{Key: key, Value: value, Field: l.Attempt.Field(key, value)})
	}
	return all
}

func (l *Launch[A]) workers() dialect.Workers {
	c, _ := l.Configuration() // valid, because the objects have been built
	most, _ := l.Attempt.Workers(c)
	return most
}

// described returns the pods that the rules check: the driver, an executor, and the pod that runs spark-submit, if any.
// The driver's fields describe the pod that runs spark-submit, but a key of its own sets its service account. It has no
// Spark container.
func (l *Launch[A]) described() (pods []dialect.Pod, faults []*dialect.FieldError) {
	if l.built.value.submitter != nil {
		runner := l.Attempt.Describe(RoleDriver, l.built.value.Objects.Driver)
		runner.Role, runner.Container, runner.AccountField = "spark-submit", nil, "spec.sparkConf["+submit.RunnerAccountKey+"]"
		pods = append(pods, runner)
	}

	driver, faults := l.boundDriver()
	if len(faults) > 0 {
		return nil, faults
	}

	pods = append(pods, l.Attempt.Describe(RoleDriver, driver))

	executor, faults := l.Bound(RoleExecutor)
	if executor == nil || len(faults) > 0 {
		return pods, faults
	}

	worker := l.Attempt.Describe(RoleExecutor, executor)
	worker.Worker = true
	return append(pods, worker), nil
}

// boundDriver returns the driver pod. Spark of the image's version creates the pod if spark-submit creates it.
func (l *Launch[A]) boundDriver() (*corev1.Pod, []*dialect.FieldError) {
	if l.built.value.submitter != nil {
		return l.Bound(RoleDriver)
	}

	driver, err := l.Driver()
	return driver, dialect.AsFaults(err)
}
