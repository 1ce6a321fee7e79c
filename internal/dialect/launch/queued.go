package launch

import (
	"errors"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// These are keys of the number of executors.
const (
	dynamicAllocation = "spark.dynamicAllocation.enabled"
	dynamicMaximum    = "spark.dynamicAllocation.maxExecutors"
	instances         = "spark.executor.instances"
)

// QueuedPods returns the pods for which an attempt in a queue needs quota. These are the pods that it will really
// create: the driver, and the executors with which it starts, with the size that they have at most (Bound). An error
// names the field that makes their number or size unknown.
func (l *Launch[A]) QueuedPods() ([]dialect.Pods, error) {
	_, submitter, err := l.Objects()
	if err != nil {
		return nil, err
	}

	if submitter != nil {
		return nil, fmt.Errorf("spec: the pods of an application in a queue must be known before the launch, but spark-submit creates them (%s); "+
			"remove what requires spark-submit, or the label %s", submitter.Message, dialect.QueueLabel)
	}

	executors, err := l.queuedExecutors()
	if err != nil {
		return nil, err
	}
	return l.podsWith(executors, func() (*corev1.Pod, error) {
		pod, faults := l.Bound(RoleExecutor)
		if invalid := dialect.Invalid(faults); invalid != nil {
			return nil, errors.New(invalid.Message)
		}
		return pod, nil
	})
}

// queuedExecutors returns the number of executors for which an attempt needs quota.
func (l *Launch[A]) queuedExecutors() (int32, error) {
	const known = "the number of executors in a queue must be known before the launch; "

	c, err := l.Configuration()
	if err != nil {
		return 0, err
	}

	most, executors := l.executors()
	if !most.Unlimited && most.Max <= 0 {
		return executors, nil
	}

	switch dynamic, err := c.Bool(dynamicAllocation, false); {
	case err != nil:
		return 0, fmt.Errorf("%s: "+known+"set it to true or false", l.fieldOf(dynamicAllocation, ""))
	case dynamic:
		return l.reserved(most)
	}
	// Spark also reads texts that the status does not count, such as ${spark.n}.
	n, err := c.Int(instances, int(executors))
	if err != nil {
		return 0, fmt.Errorf("%s: "+known+"set it to a number", l.fieldOf(instances, ""))
	}
	return max(executors, int32(min(n, math.MaxInt32))), nil
}

// reserved returns the largest number of executors of an attempt with dynamic allocation.
func (l *Launch[A]) reserved(most dialect.Workers) (int32, error) {
	if owner, isObject := l.owner.(metav1.Object); !isObject || owner.GetAnnotations()[lifecycle.ReserveAnnotation] != "true" {
		return 0, fmt.Errorf("%s: an application in a queue cannot change its number of executors; set it to false, or set %s and the annotation %s: \"true\", "+
			"so that the queue reserves the largest number", l.fieldOf(dynamicAllocation, "true"), l.fieldOf(dynamicMaximum, ""), lifecycle.ReserveAnnotation)
	}

	if most.Unlimited {
		return 0, fmt.Errorf("%s: it must be set, because the annotation %s reserves so many executors", l.fieldOf(dynamicMaximum, ""), lifecycle.ReserveAnnotation)
	}
	return int32(min(most.Max, math.MaxInt32)), nil
}

// fieldOf returns the field that sets a key of the configuration.
func (l *Launch[A]) fieldOf(key, value string) string {
	if field := l.Attempt.Field(key, value); field != "" {
		return field
	}
	return dialect.ConfField(key)
}

// Conflict returns the fault of a custom resource that contradicts what a queue adds to its pods; nil if there is none.
// The arguments are the user's pod template of the role, its field, and the user's sparkConf.
func Conflict(s *platform.Settings, role string, template []byte, field string, own map[string]string) error {
	at, isKey, message := s.Conflict(template, own, role)
	switch {
	case at == "":
		return nil
	case isKey:
		return &dialect.FieldError{Field: dialect.ConfField(at), Message: message}
	}
	return &dialect.FieldError{Field: field + "." + at, Message: message}
}
