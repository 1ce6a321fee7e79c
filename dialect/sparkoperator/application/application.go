// Package application is the dialect of SparkApplications of sparkoperator.k8s.io: it reads one into the terms of lifecycle and spark/submit, and
// writes the decision back into its status. It is pure.
//
// names.go holds every name; conf.go what a typed field becomes in Spark's configuration; render.go the objects of an attempt.
package application

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options is what the operator's configuration gives every application. The zero value of a field means what it says.
type Options struct {
	// DefaultTTL keeps a finished application that has no timeToLiveSeconds for so long; 0 means for ever.
	DefaultTTL time.Duration
	// MaxTrackedExecutors bounds the entries of status.executorState; 0 means none. The counts are those of
	// all executors, whatever it is.
	MaxTrackedExecutors int
	// Limits are the deadlines of an application that sets none; 0 means no bound.
	Limits lifecycle.Deadlines
	// Master is the API server as drivers reach it; empty means DefaultMaster.
	Master string
	// MissingGrace is how long a driver pod that was just created may be invisible before it is looked for live.
	MissingGrace time.Duration
	// Batch is which schedulers may schedule an application as a whole.
	Batch Batch
	// UI is how drivers' web UIs are exposed.
	UI sparkoperator.UI
	// Authenticate lets drivers and executors authenticate each other and encrypt what they send, where an application does not say otherwise.
	Authenticate bool
	// Submission is the mode of applications that do not choose one; empty means Auto. Native is more than that: no application is submitted by
	// spark-submit then, whatever it asks for.
	Submission v1beta2.SubmissionMode
	// RunnerAccount is the service account of pods that run spark-submit; empty means the driver's.
	RunnerAccount string
	// Own is the operator's service account, which no pod of an application may have.
	Own dialect.ServiceAccount
}

// Dialect decides about and renders SparkApplications. It is pure: its methods read nothing but their arguments.
type Dialect struct{ Options }

// Decide reads the application, lets the machine decide, and writes what follows into the application's status, in memory. One that is
// being deleted keeps the status that it has.
func (d Dialect) Decide(app *v1beta2.SparkApplication, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	wanted, memory := d.app(app), takeOver(app, seen, now)
	if app.OutOfBounds != "" {
		wanted = dialect.Unread(wanted, app.OutOfBounds, app.Status.ObservedGeneration != app.Generation, memory)
	}
	if foreign(&app.Status) {
		if !wanted.Deleting {
			encodeForeign(app, now)
		}
		return lifecycle.Plan{Next: memory}
	}
	var built *dialect.Built
	if dialect.MayLaunch(wanted, memory, seen) {
		built, wanted.Submitter, wanted.Invalid = d.prospect(app, dialect.NextAttempt(memory), now)
	}
	plan := application.Step(wanted, memory, seen, now)
	built.Offer(plan)
	if taking(&app.Status) {
		plan.Tell = append([]lifecycle.Notice{takenOver(app, memory)}, plan.Tell...)
	}
	if !wanted.Deleting {
		before := slices.Clone(app.Status.Conditions)
		plan.Tell = append(plan.Tell, d.encode(app, wanted, plan, seen, now)...)
		encodeWeather(app, plan.Next, seen.Weather, before, now)
	}
	return plan
}

// prospect builds an attempt to tell why spark-submit would make the driver pod, where it would, and what keeps the spec from ever being launched. That
// depends on neither the attempt nor the time, so it is no refusal that another attempt could get around.
func (d Dialect) prospect(app *v1beta2.SparkApplication, attempt int32, now time.Time) (built *dialect.Built, submitter, invalid *lifecycle.Cause) {
	if invalid := dialect.Invalid(Validate(app)); invalid != nil {
		return nil, nil, invalid
	}
	objects, submitter, err := d.BuildAttempt(app, attempt, now)
	if err != nil {
		return nil, nil, &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: err.Error()}
	}
	return &dialect.Built{Attempt: attempt, ID: submissionID(app, attempt), At: now, Objects: objects}, submitter, nil
}

// Executor returns the pod that the driver of an attempt, of the UID given, would ask the API server for as the executor of an id, as far as that is
// known without the driver (submit.Executor). Nobody creates it. An error is a *FieldError that names what the user wrote, or a *submit.Error about what
// spark-submit may make of it (NotNative).
func (d Dialect) Executor(app *v1beta2.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	r, err := d.request(app, attempt, now)
	if err != nil {
		return nil, err
	}
	r.AppID = cmp.Or(app.Status.SparkApplicationID, r.AppID) // spark-submit gives one of its own
	pod, err := submit.Executor(r, id, driver)
	if refused, ok := errors.AsType[*submit.Error](err); ok && !refused.NotNative {
		err = asFieldError(app, refused)
	}
	return pod, err
}

// Render returns the objects that a Create action makes: those of an attempt's launch, or its driver's budget, which is alone in Objects.Before. Where spark-submit makes the driver pod, Objects.Driver is the pod that
// runs it, with a Secret before it. An error is a *FieldError that names what the user wrote.
func (d Dialect) Render(app *v1beta2.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	switch {
	case action.Verb == lifecycle.Create && action.Part == lifecycle.DriverBudget:
		return driverBudget(app, action.Attempt), nil
	case action.Verb != lifecycle.Create || action.Part != lifecycle.Submission:
		return submit.Objects{}, fmt.Errorf("nothing is rendered for %v", action)
	}
	objects, err := dialect.Launched(action, submissionID(app, action.Attempt), now, func() (submit.Objects, *lifecycle.Cause, error) {
		return d.BuildAttempt(app, action.Attempt, now)
	})
	if err != nil {
		return submit.Objects{}, err
	}
	objects.Warnings = slices.Concat(objects.Warnings, typeWarnings(&app.Spec), d.batchWarnings(app))
	withMonitoring(&objects, app, action.Attempt)
	return objects, nil
}
