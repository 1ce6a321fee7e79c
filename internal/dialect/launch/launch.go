// Package launch describes the launch of an attempt as one value. A Launch computes each of its parts at the first use
// and never again: the Spark configuration with the field that sets each key, the request of the submission, the
// objects, the executor that the driver would create, and the faults. A decision, a review at admission, the platform's
// rules, the quotas and sparkctl read the same value.
//
// A dialect describes its custom resource by the interface Attempt. The custom resource of an attempt is a shallow copy
// with the platform's defaults (Defaults), so nobody writes into the caller's object. SparkCluster has no attempts and
// uses only the Defaults. The package is pure: its functions read nothing but their arguments.
package launch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Attempt is an attempt of a custom resource in one dialect. A Launch calls Configuration, Request, Build and Driver at
// most once and in this order. The errors of all methods name the field of the custom resource to correct.
type Attempt interface {
	// Configuration returns the Spark configuration of the custom resource, from sparkConf and from typed fields.
	Configuration() (*conf.Conf, error)
	// Request prepares the request of the submission. The request gets a copy of the configuration, to which the
	// operator adds its own keys.
	Request(c *conf.Conf) error
	// Build returns the objects of the request. If spark-submit creates the driver pod, the second result is the
	// reason, and Objects.Driver is the pod that runs spark-submit.
	Build() (submit.Objects, *lifecycle.Cause, error)
	// Driver returns the driver pod that spark-submit would create from the request.
	Driver() (*corev1.Pod, error)
	// Executor returns an executor that the driver would create, or ErrNoExecutors.
	Executor(id int, driver types.UID) (*corev1.Pod, error)
	// Bound returns the pod of a role that rules and queues assume: whatever version of Spark the image has, the real pod
	// is not larger and has no more rights (native.Bound). The role RoleDriver is only for a driver that spark-submit
	// creates. Bound returns no pod if there are no executors.
	Bound(role string) (*corev1.Pod, []*dialect.FieldError)
	// Workers returns the largest number of executors, and the number of executors at the start.
	Workers(c *conf.Conf) (most dialect.Workers, initial int32)
	// Field returns the field that sets a key of the configuration to the given value, or "" if only the operator sets it.
	Field(key, value string) string
	// Describe describes a pod of a role to the platform's rules.
	Describe(role string, pod *corev1.Pod) dialect.Pod
	// Judge returns the violations of the platform's rules by the subject and by the objects that expose the driver. It
	// adds to the subject what only the dialect knows, such as labels.
	Judge(subject *dialect.Subject) []*dialect.FieldError
}

// Roles of the pods that Attempt.Describe describes.
const (
	RoleDriver   = "driver"
	RoleExecutor = "executor"
)

// Identity distinguishes launches: the number and the id of the attempt, and the time of the submission.
type Identity struct {
	Number int32
	ID     string
	At     time.Time
}

// Launch is the launch of an attempt.
type Launch[A Attempt] struct {
	Attempt  A
	Identity Identity

	owner   any
	sources dialect.PodSources
	ruled   bool

	conf     memo[*conf.Conf]
	request  memo[struct{}]
	built    memo[objects]
	driver   memo[*corev1.Pod]
	executor memo[*corev1.Pod]
	bounds   map[string]bound // by role
}

// bound is what Attempt.Bound returns.
type bound struct {
	pod    *corev1.Pod
	faults []*dialect.FieldError
}

type objects struct {
	submit.Objects
	submitter *lifecycle.Cause
}

// New returns the launch of an attempt. The argument owner is the custom resource with the defaults, and the argument
// sources are the fields of its pods. The argument rules may be nil.
func New[A Attempt](attempt A, identity Identity, owner any, sources dialect.PodSources, rules dialect.Rules) *Launch[A] {
	return &Launch[A]{Attempt: attempt, Identity: identity, owner: owner, sources: sources, ruled: rules != nil}
}

// memo computes a value at its first use.
type memo[T any] struct {
	known bool
	value T
	err   error
}

func (m *memo[T]) get(compute func() (T, error)) (T, error) {
	if !m.known {
		m.value, m.err = compute()
		m.known = true
	}
	return m.value, m.err
}

// Configuration returns the Spark configuration of the custom resource, without the keys that the operator adds to a
// request. Callers must not change it.
func (l *Launch[A]) Configuration() (*conf.Conf, error) {
	return l.conf.get(l.Attempt.Configuration)
}

// prepare prepares the request.
func (l *Launch[A]) prepare() error {
	_, err := l.request.get(func() (struct{}, error) {
		c, err := l.Configuration()
		if err == nil {
			err = l.Attempt.Request(c)
		}
		return struct{}{}, err
	})
	return err
}

func (l *Launch[A]) build() (objects, error) {
	return l.built.get(func() (o objects, err error) {
		if err = l.prepare(); err == nil {
			o.Objects, o.submitter, err = l.Attempt.Build()
		}
		return o, err
	})
}

// Objects returns the objects of the attempt. If spark-submit creates the driver pod, it also returns the reason.
// Callers must not change the objects.
func (l *Launch[A]) Objects() (submit.Objects, *lifecycle.Cause, error) {
	o, err := l.build()
	return o.Objects, o.submitter, err
}

// Driver returns the driver pod, also if spark-submit creates it.
func (l *Launch[A]) Driver() (*corev1.Pod, error) {
	o, err := l.build()
	if err != nil || o.submitter == nil {
		return o.Driver, err
	}
	return l.driver.get(l.Attempt.Driver)
}

// Executor returns the first executor that the driver would create.
func (l *Launch[A]) Executor() (*corev1.Pod, error) {
	return l.executor.get(func() (*corev1.Pod, error) { return l.ExecutorOf(1, "") })
}

// Bound returns the pod of a role that rules and queues assume (Attempt.Bound). The objects must have been built.
func (l *Launch[A]) Bound(role string) (*corev1.Pod, []*dialect.FieldError) {
	b, known := l.bounds[role]
	if !known {
		b.pod, b.faults = l.Attempt.Bound(role)
		if l.bounds == nil {
			l.bounds = map[string]bound{}
		}

		l.bounds[role] = b
	}
	return b.pod, b.faults
}

// ExecutorOf returns the executor with an id that the driver with a UID would create.
func (l *Launch[A]) ExecutorOf(id int, driver types.UID) (*corev1.Pod, error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	return l.Attempt.Executor(id, driver)
}

// Pods returns the driver, and the executors with which it starts. It leaves out pods that cannot be rendered.
func (l *Launch[A]) Pods() []dialect.Pods {
	_, initial := l.executors()
	pods, _ := l.podsWith(initial, l.Executor)
	return pods
}

// executors returns the largest number of executors, and the number with which the driver starts.
func (l *Launch[A]) executors() (most dialect.Workers, initial int32) {
	c, err := l.Configuration()
	if err != nil {
		return dialect.Workers{}, 0
	}
	return l.Attempt.Workers(c)
}

// podsWith returns the driver, and the given number of the given executors. If one of them cannot be rendered, it
// returns the other one and the error.
func (l *Launch[A]) podsWith(executors int32, executor func() (*corev1.Pod, error)) ([]dialect.Pods, error) {
	driver, err := l.Driver()
	if err != nil || driver == nil {
		return nil, err
	}

	pods := []dialect.Pods{{Role: RoleDriver, Pod: driver, Count: 1}}
	if executors <= 0 {
		return pods, nil
	}

	pod, err := executor()
	if err == nil {
		pods = append(pods, dialect.Pods{Role: RoleExecutor, Pod: pod, Count: executors})
	}
	return pods, err
}

// Attach attaches the launch to the action of a plan that launches the same attempt, if there is such an action. If l
// is nil, Attach does nothing.
func (l *Launch[A]) Attach(plan lifecycle.Plan) {
	for i := range plan.Actions {
		if a := &plan.Actions[i]; l != nil && a.Verb == lifecycle.Create && a.Part == lifecycle.Submission && a.Attempt == l.Identity.Number {
			a.Built = l
		}
	}
}

// Attached returns the launch that Attach attached to an action, and a copy of its objects. If there is none with the
// given identity, it calls the function compute instead.
func Attached[A Attempt](action lifecycle.Action, id Identity, compute func() *Launch[A]) (*Launch[A], submit.Objects, error) {
	l, _ := action.Built.(*Launch[A])
	if l == nil || l.Identity.Number != id.Number || l.Identity.ID != id.ID || !l.Identity.At.Equal(id.At) {
		l = compute()
		made, _, err := l.Objects()
		return l, made, err
	}

	made, _, err := l.Objects()
	return l, made.DeepCopy(), err
}

// NextAttempt returns the number of the attempt that a decision may launch. If m.Attempt is the largest int32, the
// result is 1, but the state machine launches no attempt (lifecycle.ReasonNoAttempts).
func NextAttempt(m lifecycle.Memory) int32 { return max(m.Attempt+1, 1) }
