package application

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// attempt is an attempt of an application (launch.Attempt).
type attempt struct {
	Dialect
	*launch.Builder // of the request, once it is prepared

	own *v1beta2.SparkApplication // as the user wrote it; the status is written here
	app *v1beta2.SparkApplication // a shallow copy with the platform's defaults
	launch.Identity
	defaults launch.Defaults
	exposed  *sparkoperator.Exposure // nil before the first use
}

// launched is the launch of an attempt.
type launched = launch.Launch[*attempt]

// next returns the launch of an attempt with the platform's present defaults.
func (d Dialect) next(app *v1beta2.SparkApplication, number int32, now time.Time) *launched {
	a := &attempt{Dialect: d, own: app, app: app, Identity: launch.Identity{Number: number, ID: status.SubmissionID(app, number), At: now}}
	if d.Defaults != nil {
		merged := *app
		a.defaults = launch.Defaults{Settings: d.Defaults, Own: app.Spec.SparkConf, Filled: specification.Merge(&merged.Spec, app.Labels, d.Defaults)}
		a.app = &merged
	}
	return launch.New(a, a.Identity, a.app, Sources, d.Rules)
}

// present returns the launch of the current attempt as far as decisions about it need it: the configuration has the
// defaults of the launch, which may differ from the present ones. The dialect of the result has the deadlines of that
// launch.
func (d Dialect) present(app *v1beta2.SparkApplication) *launched {
	a := &attempt{Dialect: d, own: app, app: app}
	if d.Defaults != nil && d.Defaults.TimeToLiveSeconds != nil {
		a.DefaultTTL = sparkoperator.Seconds(d.Defaults.TimeToLiveSeconds, 0)
	}

	if settings := launch.Present(d.Defaults, app.Status.Operator, takeover.Needed(&app.Status)); settings != nil {
		a.Limits = specification.Deadlines(specification.Timeouts(settings.Timeouts), d.Limits)
		merged := *app
		merged.Spec.SparkConf = settings.Conf(app.Spec.SparkConf, func(key string) bool { return specification.TypedSets(app, key) })
		a.app = &merged
	}
	return launch.New(a, a.Identity, a.app, Sources, d.Rules)
}

// hash returns the hash of the spec as the user wrote it. The attempt does not store it, because not every use of an
// attempt needs the hash, and its computation encodes the whole spec.
func (a *attempt) hash() string { return specification.Hash(&a.own.Spec) }

// Faults returns the errors in the spec that make every launch of the application impossible.
func (d Dialect) Faults(app *v1beta2.SparkApplication, now time.Time) []*dialect.FieldError {
	return faults(d.next(app, 1, now))
}

// faults returns the reasons why an attempt cannot be launched from the spec. They depend neither on the attempt nor on
// the time, so every other attempt would fail too.
func faults(l *launched) []*dialect.FieldError {
	valid := func() []*dialect.FieldError { return validate.Spec(l.Attempt.app) }
	return l.Attempt.defaults.Explain(launch.First(valid, l.BuildFaults, l.PodFaults, l.RuleFaults))
}

// Configuration implements launch.Attempt.
func (a *attempt) Configuration() (*conf.Conf, error) { return specification.Configuration(a.app) }

// Build implements launch.Attempt.
func (a *attempt) Build() (submit.Objects, *lifecycle.Cause, error) {
	objects, why, err := a.submitted()
	if err != nil {
		return submit.Objects{}, nil, err
	}

	a.defaults.Annotate(objects, a.Submit.Conf)
	group, err := a.Batch.PodGroup(a.app, a.Builder, naming.AttemptLabels(a.app, a.Number, a.ID))
	objects.Before = append(group, objects.Before...)
	return objects, why, err
}

// Executor implements launch.Attempt.
func (a *attempt) Executor(id int, driver types.UID) (*corev1.Pod, error) {
	if specification.DriverOnly(&a.app.Spec) {
		return nil, launch.ErrNoExecutors
	}
	return a.ExecutorOf(a.own.Status.SparkApplicationID, id, driver)
}

// Bound implements launch.Attempt.
func (a *attempt) Bound(role string) (*corev1.Pod, []*dialect.FieldError) {
	if role == launch.RoleExecutor && specification.DriverOnly(&a.app.Spec) {
		return nil, nil
	}
	return a.Builder.Bound(role)
}

// Workers implements launch.Attempt.
func (a *attempt) Workers(c *conf.Conf) (most dialect.Workers, initial int32) {
	const instances, maximum = "spec.executor.instances", "spec.dynamicAllocation.maxExecutors"
	if specification.DriverOnly(&a.app.Spec) {
		return dialect.Workers{Field: instances}, 0
	}
	return dialect.ExecutorWorkers(c, 1, instances, maximum), specification.InitialExecutors(&a.app.Spec)
}

// Field implements launch.Attempt.
func (a *attempt) Field(key, value string) string {
	text, written := a.app.Spec.SparkConf[key]
	switch {
	case written && text == value:
		return dialect.ConfField(key)
	case key == fields.PodKey("executor", "instances") && a.app.Spec.Executor.Instances == nil:
		return "" // this API's default
	}
	return specification.SettingField(a.app, key)
}

// Describe implements launch.Attempt.
func (a *attempt) Describe(role string, pod *corev1.Pod) dialect.Pod {
	p := dialect.PodOf(role, "spec."+role, &pod.ObjectMeta, &pod.Spec)
	p.AccountField = specification.AccountField(a.app, role)
	p.EnvField = func(name string) string { return specification.TypedField(a.app, fields.EnvPrefix(role)+name) }
	p.OwnCommand = rawtemplate.HasCommand(sparkoperator.PodSpec(&a.app.Spec, role).Template, p.Container)
	p.ImageField = fields.Application.FirstSet(a.app, "spec."+role+".image", "spec.image")
	return p
}

// Judge implements launch.Attempt.
func (a *attempt) Judge(subject *dialect.Subject) []*dialect.FieldError {
	spec := &a.app.Spec

	subject.Labels, subject.Services = a.app.Labels, dialect.DriverServices(spec.SparkConf)
	if annotations := spec.Driver.ServiceAnnotations; len(annotations) > 0 {
		subject.Services = append(subject.Services, dialect.Exposing{Kind: dialect.ServiceKind, Annotations: annotations, AnnotationsField: "spec.driver.serviceAnnotations"})
	}

	if batch := spec.BatchSchedulerOptions; batch != nil {
		subject.PriorityClasses = []dialect.FieldValue{{Field: "spec.batchSchedulerOptions.priorityClassName", Value: sparkoperator.StringValue(batch.PriorityClassName)}}
	}
	return append(a.Rules.Faults(subject), a.exposure().Refused...)
}

// exposure returns the auxiliary objects that make the driver reachable.
func (a *attempt) exposure() *sparkoperator.Exposure {
	if a.exposed == nil {
		a.exposed = new(a.exposer().Exposure(a.app, a.Number, a.ID))
	}
	return a.exposed
}
