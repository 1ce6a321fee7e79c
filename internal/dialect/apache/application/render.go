package application

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/status"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Render returns the objects for a Create action, which launches an attempt. If spark-submit creates the driver pod,
// Objects.Driver is the pod that runs spark-submit, and a Secret is created before that pod. An error names the field
// of the custom resource to correct.
func (a Applications) Render(app *sparkv1.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	if action.Verb != lifecycle.Create || action.Part != lifecycle.Submission {
		return submit.Objects{}, lifecycle.Bugf("no objects can be rendered for the action %v", action)
	}

	if wrong := dialect.Invalid(slices.Concat(validate(app), a.refused(app, action.Attempt))); wrong != nil {
		return submit.Objects{}, errors.New(wrong.Message)
	}

	id := launch.Identity{Number: action.Attempt, ID: naming.ID(app, action.Attempt), At: now}

	l, objects, err := launch.Attached(action, id, func() *launched { return a.next(app, action.Attempt, now) })
	if err != nil {
		return submit.Objects{}, l.Attempt.defaults.ExplainError(err)
	}

	objects.Warnings = warnings(l)
	return objects, nil
}

// Pods returns the pods for which the next attempt of an application in a queue needs quota. An error names the field
// to correct.
func (a Applications) Pods(app *sparkv1.SparkApplication, now time.Time) ([]dialect.Pods, error) {
	return a.next(app, launch.NextAttempt(status.Memory(&app.Status)), now).QueuedPods()
}

// Executor returns the executor pod that the driver of an attempt would create. The operator never creates this pod,
// but sends it to the API server in a dry run. The pod differs from the real one in values that only a running driver
// has (see native.Executor).
//
// The arguments id and driver are the executor's id and the driver's UID. An error is a *dialect.FieldError that names
// the field to correct, or a *submit.Error with NotNative. NotNative means that the operator cannot build the
// submission and only spark-submit can, or that the platform's defaults have changed since the launch
// (launch.ErrDefaultsChanged).
func (a Applications) Executor(app *sparkv1.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	switch {
	case launch.Changed(a.Defaults, status.Stored(app), attempt):
		return nil, launch.ErrDefaultsChanged
	case driverOnly(&app.Spec):
		return nil, launch.ErrNoExecutors
	}
	return a.next(app, attempt, now).ExecutorOf(id, driver)
}
