package application

import (
	"cmp"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// modeField is the field in which an application sets the submission mode.
const modeField = "spec.submission.mode"

// BuildAttempt returns the objects of an attempt in the submission mode of the application or of the operator's
// configuration. The objects include either the driver pod itself, or a pod that runs spark-submit to create the driver
// pod. In the latter case, BuildAttempt also returns the reason why spark-submit is used.
func (d Dialect) BuildAttempt(app *v1beta2.SparkApplication, attempt int32, now time.Time) (submit.Objects, *lifecycle.Cause, error) {
	d, app = d.launching(app)
	r, err := d.request(app, attempt, now)
	if err != nil {
		return submit.Objects{}, nil, err
	}
	objects, why, err := d.submitted(app, r)
	if err != nil {
		return submit.Objects{}, nil, err
	}
	d.withOrigins(objects, r)
	group, err := d.podGroup(app, attempt, r)
	objects.Before = append(group, objects.Before...)
	return objects, why, err
}

// submitted returns the objects with which an attempt starts. If spark-submit creates the driver, these are the objects
// that run spark-submit, and submitted also returns the reason.
func (d Dialect) submitted(app *v1beta2.SparkApplication, r submit.Request) (submit.Objects, *lifecycle.Cause, error) {
	mode, chosenBy := d.mode(app)
	switch {
	case mode == dialect.SubmissionSparkSubmit && d.Submission == dialect.SubmissionNative:
		return submit.Objects{}, nil, &dialect.FieldError{Field: modeField, Incomplete: true,
			Message: "SparkSubmit is switched off by the operator's configuration (" + dialect.RunnersOff + "); use Native, or leave the field out"}
	case mode == dialect.SubmissionSparkSubmit:
		objects, err := runner(app, r)
		return objects, dialect.SparkSubmitCause(chosenBy), err
	}
	objects, why := d.native(app, r)
	switch {
	case why == nil:
		return objects, nil, nil
	case !why.notNative:
		return submit.Objects{}, nil, why.FieldError
	case d.Submission == dialect.SubmissionNative:
		why.Incomplete = true
		why.Message += "; spark-submit could do it, but that is switched off by the operator's configuration (" + dialect.RunnersOff + ")"
		return submit.Objects{}, nil, why.FieldError
	case mode == dialect.SubmissionNative:
		why.Message += "; or let spark-submit do it, with " + modeField + " Auto or SparkSubmit"
		return submit.Objects{}, nil, why.FieldError
	}
	objects, err := runner(app, r)
	return objects, dialect.SparkSubmitCause(why.Statement()), err
}

// mode returns the submission mode of an application, and a text that names the setting that determines the mode.
func (d Dialect) mode(app *v1beta2.SparkApplication) (mode dialect.SubmissionMode, chosenBy string) {
	if s := app.Spec.Submission; s != nil && s.Mode != "" {
		return dialect.SubmissionMode(s.Mode), modeField + " is " + string(s.Mode)
	}
	mode = cmp.Or(d.Submission, dialect.SubmissionAuto)
	return mode, "the operator's configuration requires it (submission.mode: " + string(mode) + ")"
}

// obstacle is the error that prevents the operator from building a driver pod itself.
type obstacle struct {
	*dialect.FieldError
	notNative bool // spark-submit could build the driver pod
}

// native builds the driver pod and the objects that the pod needs. If the operator cannot build them, native returns
// the obstacle.
func (d Dialect) native(app *v1beta2.SparkApplication, r submit.Request) (submit.Objects, *obstacle) {
	objects, err := submit.Build(r)
	if refused, ok := errors.AsType[*submit.Error](err); ok {
		return submit.Objects{}, &obstacle{asFieldError(app, refused), refused.NotNative}
	}
	if err != nil {
		return submit.Objects{}, &obstacle{&dialect.FieldError{Field: "spec", Message: err.Error()}, false}
	}
	if claims := driverClaims(app); len(claims) > 0 {
		return submit.Objects{}, &obstacle{claims[0], true}
	}
	if foreign := d.foreignKind(objects); foreign != "" {
		return submit.Objects{}, &obstacle{&dialect.FieldError{Field: "spec.sparkConf[" + featureSteps + "]",
			Message: "needs a " + foreign + ", which the operator has no right to create; remove the step"}, true}
	}
	return objects, nil
}

// featureSteps is the configuration key that lists additional feature steps of Spark: classes that change the driver
// pod.
const featureSteps = "spark.kubernetes.driver.pod.featureSteps"

// foreignKind returns the kind of the first object that the operator has no right to create. It returns "" if the
// operator may create all objects.
//
// The only such object is the PodGroup of Spark's VolcanoFeatureStep, because the operator may create PodGroups only if
// batch schedulers are enabled. spark-submit can still create the PodGroup if the service account of its pod has the
// right to do so.
func (d Dialect) foreignKind(objects submit.Objects) string {
	for _, object := range objects.Before {
		if _, ok := object.(*unstructured.Unstructured); ok && !d.Batch.mayMake(object) {
			return object.GetObjectKind().GroupVersionKind().Kind
		}
	}
	return ""
}

// runner returns the objects that run spark-submit in a pod. It checks again that the configuration sets no key that
// users may not set, because spark-submit would use these keys.
func runner(app *v1beta2.SparkApplication, r submit.Request) (submit.Objects, error) {
	if wrong := validSparkConf(app); len(wrong) > 0 {
		return submit.Objects{}, wrong[0]
	}
	objects, err := dialect.Runner(r)
	if refused, ok := errors.AsType[*submit.Error](err); ok {
		return submit.Objects{}, asFieldError(app, refused)
	}
	return objects, err
}
