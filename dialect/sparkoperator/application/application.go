// Package application is the dialect of SparkApplications of sparkoperator.k8s.io. It converts a custom resource into
// the input of the packages lifecycle and spark/submit, and writes the decision into the custom resource's status. It
// is pure.
//
// names.go contains all names, conf.go converts typed fields into Spark's configuration, and render.go converts an
// attempt into a submission.
package application

import (
	"cmp"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/platform"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options are the settings of the operator's configuration that apply to every application.
type Options struct {
	// DefaultTTL is how long a finished application is kept if it does not set timeToLiveSeconds; 0 means forever.
	DefaultTTL time.Duration
	// MaxTrackedExecutors is the maximum number of entries in status.executorState; 0 means none. The counts always
	// include all executors.
	MaxTrackedExecutors int
	// Limits are the deadlines of applications that do not set their own; 0 means no deadline.
	Limits lifecycle.Deadlines
	// Master is the URL of the API server that drivers use; empty means submit.DefaultMaster.
	Master string
	// MissingGrace is how long a new driver pod may be missing in the cache before the operator reads it live.
	MissingGrace time.Duration
	// Batch configures the batch schedulers that applications may use.
	Batch Batch
	// UI configures how the web UIs of drivers are exposed.
	UI sparkoperator.UI
	// Authenticate makes drivers and executors authenticate each other and encrypt their traffic, unless an application
	// sets the keys for this itself.
	Authenticate bool
	// Submission is the submission mode of applications that do not set one; empty means Auto. Native also overrides
	// the mode that an application sets: the operator then creates all driver pods and never uses spark-submit.
	Submission dialect.SubmissionMode
	// RunnerAccount is the service account of pods that run spark-submit; empty means the driver's.
	RunnerAccount string
	// Admission lists the mechanisms that can change executor pods at admission: a policy and a webhook.
	Admission admit.Available
	// Own is the operator's service account, which no pod of an application may use.
	Own dialect.ServiceAccount
	// Rules are the rules of the platform for the application's namespace; nil if there are none.
	Rules dialect.Rules
	// Defaults are the platform's defaults in the application's namespace; nil if there are none.
	Defaults *platform.Settings

	// declared is set while the platform's defaults are merged into the application's spec.
	declared *declared
}

// Dialect decides about SparkApplications and renders their objects. It is pure: its methods read nothing but their
// arguments.
type Dialect struct{ Options }

// Decide reads the application, runs the state machine, and writes the result into the status of app, in memory. It
// does not change the status of an application that is being deleted.
func (d Dialect) Decide(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	launched, restore := d.asLaunched(app)
	defer func() { restore() }()
	wanted, memory := launched.app(app), takeOver(app, seen, now)
	if app.OutOfBounds != "" {
		wanted = dialect.UnreadableSpec(wanted, app.OutOfBounds, app.Status.ObservedGeneration != app.Generation, memory)
	}
	if foreign(&app.Status) {
		if !wanted.Deleting {
			encodeForeign(app, now)
		}
		return lifecycle.Plan{Next: memory}
	}
	var built *dialect.Built
	if dialect.MayLaunch(wanted, memory, seen) {
		restore() // the next attempt has the present defaults
		built, wanted.Submitter, wanted.Invalid = d.nextAttempt(app, dialect.NextAttempt(memory), now)
		_, restore = d.asLaunched(app)
	}
	plan := application.Step(wanted, memory, seen, now)
	built.AttachTo(plan)
	if takesOver(&app.Status) {
		plan.Notices = append([]lifecycle.Notice{takenOver(app, memory)}, plan.Notices...)
	}
	if !wanted.Deleting {
		before := slices.Clone(app.Status.Conditions)
		plan.Notices = append(plan.Notices, d.encode(app, wanted, plan, seen, now)...)
		d.encodeDefaults(app, memory, plan.Next)
		encodeTransientError(app, plan.Next, seen.TransientError, before, now)
	}
	return plan
}

// nextAttempt validates the application and renders an attempt. The result built contains the attempt's objects. If
// spark-submit has to create the driver pod, the result submitter is the reason. If no attempt can be launched from the
// spec, the result invalid is the reason. This reason does not depend on the attempt or the time, so every other
// attempt would fail too.
func (d Dialect) nextAttempt(app *v1beta2.SparkApplication, attempt int32, now time.Time) (built *dialect.Built, submitter, invalid *lifecycle.Cause) {
	objects, submitter, faults := d.tryAttempt(app, attempt, now)
	if invalid := dialect.Invalid(faults); invalid != nil {
		return nil, nil, invalid
	}
	return &dialect.Built{Attempt: attempt, ID: submissionID(app, attempt), At: now, Objects: objects}, submitter, nil
}

// tryAttempt validates the application and renders an attempt. It returns the attempt's objects, and the reason if
// spark-submit has to create the driver pod. If it returns faults, the spec cannot be launched.
func (d Dialect) tryAttempt(app *v1beta2.SparkApplication, attempt int32, now time.Time) (submit.Objects, *lifecycle.Cause, []*dialect.FieldError) {
	d, app = d.launching(app)
	return d.tryLaunched(app, attempt, now, d.executorOnce(app, attempt, now))
}

// Sources are the fields with the pods of an application.
var Sources = dialect.Sources("spec.driver", "spec.executor", "template")

// executorOnce returns a function that renders an executor of an attempt at its first call.
func (d Dialect) executorOnce(app *v1beta2.SparkApplication, attempt int32, now time.Time) func() (*corev1.Pod, error) {
	return dialect.Once(func() (*corev1.Pod, error) { return d.executor(app, attempt, 1, "", now) })
}

// tryLaunched is tryAttempt for an application with the platform's defaults. The argument executor renders an executor.
func (d Dialect) tryLaunched(app *v1beta2.SparkApplication, attempt int32, now time.Time, executor func() (*corev1.Pod, error)) (submit.Objects, *lifecycle.Cause, []*dialect.FieldError) {
	if faults := Validate(app); len(faults) > 0 {
		return submit.Objects{}, nil, d.explained(faults)
	}
	objects, submitter, err := d.BuildAttempt(app, attempt, now)
	if err != nil {
		return objects, submitter, d.explained(dialect.AsFaults(err))
	}
	executors := executor
	if driverOnly(&app.Spec) {
		executors = nil
	}
	if faults := Sources.Faults(app, objects.Driver, executors); len(faults) > 0 {
		return objects, submitter, d.explained(faults)
	}
	return objects, submitter, d.explained(d.ruleFaults(app, attempt, now, objects, submitter, executor))
}

// Executor returns the executor pod that the driver of an attempt would create. The operator never creates this pod,
// but sends it to the API server in a dry run. The pod differs from the real one in values that only a running driver
// has (see submit.Executor).
//
// The arguments id and driver are the executor's id and the driver pod's UID. An error is a *dialect.FieldError that
// names the field to correct, or a *submit.Error with NotNative. NotNative means that the operator cannot build the
// submission and only spark-submit can, or that the platform's defaults have changed since the launch
// (dialect.ErrDefaultsChanged).
func (d Dialect) Executor(app *v1beta2.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	if o := app.Status.Operator; o != nil && o.Attempt == attempt && !d.Defaults.IsVersion(o.Defaults) {
		return nil, dialect.ErrDefaultsChanged
	}
	if driverOnly(&app.Spec) {
		return nil, dialect.ErrNoExecutors
	}
	return d.executor(app, attempt, id, driver, now)
}

// executor returns the executor pod that the driver of an attempt would create if the attempt were launched with the
// platform's present defaults.
func (d Dialect) executor(app *v1beta2.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	d, app = d.launching(app)
	r, err := d.request(app, attempt, now)
	if err != nil {
		return nil, err
	}
	r.AppID = cmp.Or(app.Status.SparkApplicationID, r.AppID) // spark-submit chooses its own id
	pod, err := submit.Executor(r, id, driver)
	if refused, ok := errors.AsType[*submit.Error](err); ok && !refused.NotNative {
		err = asFieldError(app, refused)
	}
	return pod, err
}

// Render returns the objects of a Create action. If the action launches an attempt, these are the attempt's objects. If
// spark-submit creates the driver pod, Objects.Driver is the pod that runs spark-submit, and Objects.Before contains a
// Secret for it. If the action creates the driver's PodDisruptionBudget, the budget is the only element of
// Objects.Before. An error is a *dialect.FieldError that names the field to correct.
func (d Dialect) Render(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	switch {
	case action.Verb == lifecycle.Create && action.Part == lifecycle.DriverBudget:
		return driverBudget(app, action.Attempt), nil
	case action.Verb != lifecycle.Create || action.Part != lifecycle.Submission:
		return submit.Objects{}, lifecycle.Bugf("no objects can be rendered for the action %v", action)
	}
	objects, err := dialect.Launched(action, submissionID(app, action.Attempt), now, func() (submit.Objects, *lifecycle.Cause, error) {
		return d.BuildAttempt(app, action.Attempt, now)
	})
	if err != nil {
		return submit.Objects{}, err
	}
	_, launched := d.launching(app)
	objects.Warnings = slices.Concat(objects.Warnings, d.specWarnings(app, launched))
	withMonitoring(&objects, app, action.Attempt)
	return objects, nil
}
