package application

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/exposure"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// attempt is an attempt of an application (launch.Attempt).
type attempt struct {
	Applications
	*launch.Builder // of the request, once it is prepared

	own *sparkv1.SparkApplication // as the user wrote it
	app *sparkv1.SparkApplication // a shallow copy with the platform's defaults
	launch.Identity
	defaults launch.Defaults
	program  fields.Program // once the configuration is computed
	// timeouts are the platform's default timeouts.
	timeouts platform.Timeouts
}

// launched is the launch of an attempt.
type launched = launch.Launch[*attempt]

// next returns the launch of an attempt with the platform's present defaults, and with what a queue added to the
// attempt.
func (a Applications) next(app *sparkv1.SparkApplication, number int32, now time.Time) *launched {
	next := &attempt{Applications: a, own: app, app: app, Identity: launch.Identity{Number: number, ID: naming.ID(app, number), At: now}}
	if s := launch.Placed(a.Defaults, status.Stored(app), number); s != nil {
		merged := *app
		next.defaults = launch.Defaults{Settings: s, Own: app.Spec.SparkConf, Filled: merge(&merged.Spec, s)}
		next.app = &merged
	}
	return launch.New(next, next.Identity, next.app, Sources, a.Rules)
}

// present returns the current attempt as far as decisions about it need it: sparkConf has the defaults of its launch,
// which may differ from the present ones. The timeouts are those of that launch, too.
func (a Applications) present(app *sparkv1.SparkApplication) *attempt {
	current := &attempt{Applications: a, own: app, app: app}

	settings := launch.Present(a.Defaults, status.Stored(app), takeover.Due(&app.Status))
	if settings == nil {
		return current
	}

	current.timeouts = settings.Timeouts
	if limit := settings.Timeouts.RunSeconds; limit != nil {
		current.Run = time.Duration(*limit) * time.Second
	}

	merged := *app
	merged.Spec.SparkConf = settings.Conf(app.Spec.SparkConf, func(key string) bool { return platform.SetsFallback(app.Spec.SparkConf, key) })
	current.app = &merged
	return current
}

// causes returns the reason if spark-submit has to create the driver pod, and the fault of the spec that no restart can
// fix.
//
// Other faults reject only this attempt. Both results are then nil, and Render reports the fault later. The restart
// policy decides whether another attempt follows. That attempt uses the spec as it is then, with the user's edits.
func causes(l *launched) (submitter, invalid *lifecycle.Cause) {
	if invalid := dialect.Invalid(validate(l.Attempt.own)); invalid != nil {
		return nil, invalid
	}

	_, submitter, err := l.Objects()
	if err != nil {
		return nil, nil
	}

	if invalid := dialect.Invalid(launch.First(l.PodFaults, l.RuleFaults)); invalid != nil {
		return nil, invalid
	}
	return submitter, nil
}

// Configuration implements launch.Attempt.
func (a *attempt) Configuration() (*conf.Conf, error) {
	p, wrong := fields.ProgramOf(&a.app.Spec)
	if wrong != nil {
		return nil, wrong
	}

	a.program = p

	c, wrong := sparkConf(a.app, p)
	if wrong != nil {
		return nil, wrong
	}
	return c, nil
}

// modeSetting is the text by which messages name the setting of the submission mode. Only the operator's configuration
// sets the mode, because this API has no field for it. The closing parenthesis is missing, because each message first
// appends the value of the mode.
const modeSetting = "the operator's configuration (submission.mode"

// Build implements launch.Attempt.
func (a *attempt) Build() (submit.Objects, *lifecycle.Cause, error) {
	m := launch.Mode{Off: a.Submission == dialect.SubmissionNative}
	switch {
	case a.Submit.DriverMaster != "":
		m.Excluded = "; spark-submit could do it, but not for an application of " + fields.Master + " " + a.Submit.DriverMaster
	case a.Submission == dialect.SubmissionSparkSubmit:
		m.Required = modeSetting + ": " + string(a.Submission) + ") requires it"
	}

	objects, why, err := launch.Submitted(m, a.Native, a.runner)
	if err != nil {
		return submit.Objects{}, nil, err
	}

	a.defaults.Annotate(objects, a.Submit.Conf)
	objects.Before = append(a.configMaps(a.app, a.Number), objects.Before...)
	return objects, why, nil
}

// runner returns the objects for a submission by spark-submit, among them the pod that runs spark-submit. In this pod,
// spark-submit connects to the API server that the operator's configuration names.
func (a *attempt) runner() (submit.Objects, error) {
	b := *a.Builder
	b.Submit.Master = a.apiServer()
	return b.Runner()
}

// Executor implements launch.Attempt.
func (a *attempt) Executor(id int, driver types.UID) (*corev1.Pod, error) {
	if driverOnly(&a.app.Spec) {
		return nil, launch.ErrNoExecutors
	}
	return a.ExecutorOf("", id, driver)
}

// Bound implements launch.Attempt.
func (a *attempt) Bound(role string) (*corev1.Pod, []*dialect.FieldError) {
	if role == launch.RoleExecutor && driverOnly(&a.app.Spec) {
		return nil, nil
	}
	return a.Builder.Bound(role)
}

// Workers implements launch.Attempt.
func (a *attempt) Workers(*conf.Conf) (most dialect.Workers, initial int32) {
	if driverOnly(&a.app.Spec) {
		return dialect.Workers{Field: fields.InConf(fields.Instances)}, 0
	}

	initial, _ = executorsOf(&a.app.Spec)
	return dialect.ExecutorWorkers(conf.FromMap(a.app.Spec.SparkConf), sparkInstances, "", ""), initial
}

// Field implements launch.Attempt.
func (a *attempt) Field(key, _ string) string {
	field, set := fields.OfKey(a.app, key)
	if !set {
		return ""
	}
	return field
}

// Describe implements launch.Attempt.
func (a *attempt) Describe(role string, pod *corev1.Pod) dialect.Pod {
	p := dialect.PodOf(role, "spec."+role+"Spec", &pod.ObjectMeta, &pod.Spec)
	p.ImageField, p.AccountField = imageField(a.app, role), accountField(a.app, role)

	p.OwnCommand = rawtemplate.HasCommand(fields.Template(&a.app.Spec, role), p.Container)
	return p
}

// Judge implements launch.Attempt.
func (a *attempt) Judge(subject *dialect.Subject) []*dialect.FieldError {
	subject.Labels, subject.Services = a.app.Labels, dialect.DriverServices(a.app.Spec.SparkConf)

	faults := a.Rules.Faults(subject)
	for _, d := range exposure.EntriesOf(&a.app.Spec) {
		faults = append(faults, a.exposing().RuleFaults(d)...)
	}
	return faults
}
