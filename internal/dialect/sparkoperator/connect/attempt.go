package connect

import (
	"cmp"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// attempt is a server of a SparkConnect (launch.Attempt). The server's pod is the driver.
type attempt struct {
	Connects

	own      *v1alpha1.SparkConnect // as the user wrote it
	sc       *v1alpha1.SparkConnect // a shallow copy with the platform's defaults
	number   int32
	defaults launch.Defaults
	conf     *conf.Conf
	request  connect.Request
	made     connect.Objects
	// pods are the executors of the request; nil before the first use.
	pods *connect.Executors
}

// launched is the launch of a server.
type launched = launch.Launch[*attempt]

// next returns the launch of a server with the platform's present defaults.
func (c Connects) next(sc *v1alpha1.SparkConnect, number int32) *launched {
	a := &attempt{Connects: c, own: sc, sc: sc, number: number}
	if s := launch.Placed(c.Defaults, stored(sc), number); s != nil {
		merged := *sc
		a.defaults = launch.Defaults{Settings: s, Own: sc.Spec.SparkConf, Filled: merge(&merged.Spec, sc.Labels, s)}
		a.sc = &merged
	}
	return launch.New(a, launch.Identity{Number: number}, a.sc, Sources, c.Rules)
}

// judged returns the launch whose faults make a spec invalid. It lacks what a queue adds: a contradiction to that only
// rejects the attempt, because another admission may add something else.
func (c Connects) judged(next *launched) *launched {
	if c.Defaults == next.Attempt.Defaults {
		return next
	}
	return c.next(next.Attempt.own, next.Identity.Number)
}

// present returns the current server as far as decisions about it need it: sparkConf has the defaults with which the
// server was created, which may differ from the present ones.
func (c Connects) present(sc *v1alpha1.SparkConnect) *attempt {
	a := &attempt{Connects: c, own: sc, sc: sc}

	inherited := sc.Status.Operator == nil && sc.Status.State != v1alpha1.SparkConnectStateNew
	if settings := launch.Present(c.Defaults, stored(sc), inherited); settings != nil {
		merged := *sc
		merged.Spec.SparkConf = settings.Conf(sc.Spec.SparkConf, func(key string) bool { return typedSets(&sc.Spec, key) })
		a.sc = &merged
	}
	return a
}

// hash returns the hash of the spec as the user wrote it. The attempt does not store it, because not every use of an
// attempt needs the hash, and its computation encodes the whole spec.
func (a *attempt) hash() string { return hash(&a.own.Spec) }

// stored returns the operator's part of the status; nil if there is none.
func stored(sc *v1alpha1.SparkConnect) *statusv1.OperatorStatus {
	if o := sc.Status.Operator; o != nil {
		return &o.OperatorStatus
	}
	return nil
}

// faults returns the reasons why a server can never work with the spec. Either the server itself can never start, or it
// could never create executors. The second case is checked too, because the status of the server's pod would not show
// this error. The reasons depend neither on the attempt nor on the time.
func faults(l *launched) []*dialect.FieldError {
	return l.Attempt.defaults.Explain(launch.First(
		func() []*dialect.FieldError { return validateConnect(l.Attempt.sc) },
		l.BuildFaults,
		func() []*dialect.FieldError { _, err := l.Executor(); return dialect.AsFaults(err) },
		func() []*dialect.FieldError { return append(l.PodFaults(), l.RuleFaults()...) },
	))
}

// Configuration implements launch.Attempt. The Services of a server need the configuration, too.
func (a *attempt) Configuration() (*conf.Conf, error) {
	if a.conf == nil {
		a.conf = connectConf(a.sc)
	}
	return a.conf, nil
}

// Request implements launch.Attempt.
func (a *attempt) Request(c *conf.Conf) error {
	spec := &a.own.Spec
	if wrong := cmp.Or(
		launch.Conflict(a.defaults.Settings, launch.RoleDriver, rawtemplate.Bytes(spec.Server.Template), "spec.server.template", spec.SparkConf),
		launch.Conflict(a.defaults.Settings, launch.RoleExecutor, rawtemplate.Bytes(spec.Executor.Template), "spec.executor.template", spec.SparkConf),
	); wrong != nil {
		return wrong
	}

	a.request = a.requestOf(c.Clone())
	a.request.Annotations = launch.Annotations(a.sc, a.hash(), a.Defaults)
	return nil
}

// Build implements launch.Attempt.
func (a *attempt) Build() (submit.Objects, *lifecycle.Cause, error) {
	made, err := connect.Build(a.request)
	if err != nil {
		return submit.Objects{}, nil, asConnectError(a.sc, err)
	}

	if err := a.Own.Reject(serverAccountField(a.sc), a.sc.Namespace, &made.Server.Spec); err != nil {
		return submit.Objects{}, nil, err
	}

	a.made = made
	a.defaults.AnnotateObject(made.Config, a.request.Conf)

	before := []submit.Object{made.Config}
	if made.Secret != nil {
		before = append(before, made.Secret)
	}
	return submit.Objects{Before: before, Driver: made.Server, DriverExtra: made.ServerExtra}, nil, nil
}

// Driver implements launch.Attempt. The operator itself creates every server.
func (a *attempt) Driver() (*corev1.Pod, error) { return a.made.Server, nil }

// Executor implements launch.Attempt.
func (a *attempt) Executor(id int, server types.UID) (*corev1.Pod, error) {
	pod, err := a.executors().Pod(id, server)
	if err != nil {
		return nil, asConnectError(a.sc, err)
	}
	return pod, a.Own.Reject(executorAccountField(a.sc), a.sc.Namespace, &pod.Spec)
}

// executors returns the executors of the request, which must not change any more.
func (a *attempt) executors() *connect.Executors {
	if a.pods == nil {
		a.pods = connect.NewExecutors(a.request)
	}
	return a.pods
}

// Bound implements launch.Attempt. The operator itself creates every server, so the pod is an executor.
func (a *attempt) Bound(string) (*corev1.Pod, []*dialect.FieldError) {
	pod, unknown, err := a.executors().Bound()
	if err != nil {
		return nil, dialect.AsFaults(asConnectError(a.sc, err))
	}

	var faults []*dialect.FieldError
	for _, key := range unknown {
		faults = append(faults, &dialect.FieldError{Field: connectKeyField(a.sc, key), Message: "has a reference that only the server can replace, " +
			"so the operator cannot compute the executors for a queue or for the platform's rules; write the value"})
	}

	if len(faults) > 0 {
		return nil, faults
	}
	return pod, dialect.AsFaults(a.Own.Reject(executorAccountField(a.sc), a.sc.Namespace, &pod.Spec))
}

// Workers implements launch.Attempt.
func (a *attempt) Workers(c *conf.Conf) (most dialect.Workers, initial int32) {
	most = dialect.ExecutorWorkers(c, sparkInstances, "spec.executor.instances", "spec.dynamicAllocation.maxExecutors")

	initial = connectExecutors(a.sc)
	if dynamic, err := c.Bool(fields.Connect.Key("spec.dynamicAllocation.enabled"), false); err != nil || !dynamic {
		return most, initial
	}
	// Spark starts with the largest of the three numbers (Utils.getDynamicAllocationInitialExecutors).
	for _, key := range []string{fields.Connect.Key("spec.dynamicAllocation.initialExecutors"), fields.Connect.Key("spec.executor.instances")} {
		if n, err := c.Int(key, 0); err == nil {
			initial = max(initial, int32(min(n, math.MaxInt32)))
		}
	}
	return most, initial
}

// Field implements launch.Attempt.
func (a *attempt) Field(key, _ string) string { return connectKeyField(a.sc, key) }

// Describe implements launch.Attempt.
func (a *attempt) Describe(role string, pod *corev1.Pod) dialect.Pod {
	var p dialect.Pod
	if role == launch.RoleExecutor {
		p = dialect.PodOf(role, "spec.executor", &pod.ObjectMeta, &pod.Spec)
		p.AccountField = executorAccountField(a.sc)
		p.OwnCommand = rawtemplate.HasCommand(a.sc.Spec.Executor.Template, p.Container)
	} else {
		p = dialect.PodOf("server", "spec.server", &pod.ObjectMeta, &pod.Spec)

		p.AccountField = serverAccountField(a.sc)
		for i := range pod.Spec.Containers {
			if c := &pod.Spec.Containers[i]; c.Name == a.made.Container {
				p.Container = c
			}
		}
	}

	if sparkoperator.StringValue(a.sc.Spec.Image) == p.Image {
		p.ImageField = "spec.image"
	}
	return p
}

// Judge implements launch.Attempt.
func (a *attempt) Judge(subject *dialect.Subject) []*dialect.FieldError {
	subject.Labels, subject.Services = a.sc.Labels, dialect.DriverServices(a.sc.Spec.SparkConf)
	return append(a.Rules.Faults(subject), a.exposure(connect.ServiceName(a.sc.Name, a.sc.Spec.Server.Service)).Refused...)
}
