package application

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// Render returns the objects for a Create action, which launches an attempt. If spark-submit creates the driver pod,
// Objects.Driver is the pod that runs spark-submit, and a Secret is created before that pod. An error names the field
// of the custom resource to correct.
func (a Applications) Render(app *sparkv1.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	if action.Verb != lifecycle.Create || action.Part != lifecycle.Submission {
		return submit.Objects{}, lifecycle.Bugf("no objects can be rendered for the action %v", action)
	}
	if wrong := dialect.Invalid(slices.Concat(Validate(app), a.refused(app, action.Attempt))); wrong != nil {
		return submit.Objects{}, errors.New(wrong.Message)
	}
	objects, err := dialect.Launched(action, appID(app, action.Attempt), now, func() (submit.Objects, *lifecycle.Cause, error) {
		return a.submission(app, action.Attempt, now)
	})
	if err != nil {
		return submit.Objects{}, err
	}
	objects.Warnings = slices.Concat(objects.Warnings, launchWarnings(app), thresholdWarnings(&app.Spec), templateWarnings(app))
	return objects, nil
}

// Executor returns the executor pod that the driver of an attempt would create. The operator never creates this pod,
// but sends it to the API server in a dry run. The pod differs from the real one in values that only a running driver
// has (see native.Executor).
//
// The arguments id and driver are the executor's id and the driver's UID. An error is a *dialect.FieldError that names
// the field to correct, or a *submit.Error with NotNative. NotNative means that the operator cannot build the
// submission and only spark-submit can, or that the platform's defaults have changed since the launch
// (dialect.ErrDefaultsChanged).
func (a Applications) Executor(app *sparkv1.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	if o := app.Status.Operator; o != nil && o.Attempt == attempt && !a.Defaults.IsVersion(o.Defaults) {
		return nil, dialect.ErrDefaultsChanged
	}
	if driverOnly(&app.Spec) {
		return nil, dialect.ErrNoExecutors
	}
	return a.executor(app, attempt, id, driver, now)
}

// executorOnce returns a function that renders an executor of an attempt at its first call.
func (a Applications) executorOnce(app *sparkv1.SparkApplication, attempt int32, now time.Time) func() (*corev1.Pod, error) {
	return dialect.Once(func() (*corev1.Pod, error) { return a.executor(app, attempt, 1, "", now) })
}

// executor returns the executor pod that the driver of an attempt would create if the attempt were launched with the
// platform's present defaults.
func (a Applications) executor(app *sparkv1.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	a, app = a.launching(app)
	r, err := a.request(app, attempt, now)
	if err != nil {
		return nil, err
	}
	return executorOf(app, r, id, driver)
}

// executorOf is Applications.executor for a request.
func executorOf(app *sparkv1.SparkApplication, r submit.Request, id int, driver types.UID) (*corev1.Pod, error) {
	pod, err := native.Executor(r, id, driver)
	if refused, ok := errors.AsType[*submit.Error](err); ok && !refused.NotNative {
		err = asFieldError(app, refused)
	}
	return pod, err
}
