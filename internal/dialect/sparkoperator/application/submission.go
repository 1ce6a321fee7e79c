package application

import (
	"cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/batch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/validate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// modeField is the field in which an application sets the submission mode.
const modeField = "spec.submission.mode"

// submitted returns the objects with which an attempt starts. If spark-submit creates the driver, these are the objects
// that run spark-submit, and submitted also returns the reason.
func (a *attempt) submitted() (submit.Objects, *lifecycle.Cause, error) {
	mode, chosenBy := a.mode(a.app)

	m := launch.Mode{Off: a.Submission == dialect.SubmissionNative}
	switch {
	case mode == dialect.SubmissionSparkSubmit && m.Off:
		return submit.Objects{}, nil, &dialect.FieldError{Field: modeField, Incomplete: true,
			Message: "SparkSubmit is switched off by the operator's configuration (" + dialect.RunnersOff + "); use Native, or leave the field out"}
	case mode == dialect.SubmissionSparkSubmit:
		m.Required = chosenBy
	case mode == dialect.SubmissionNative:
		m.Excluded = "; or let spark-submit do it, with " + modeField + " Auto or SparkSubmit"
	}
	return launch.Submitted(m, a.native, a.runner)
}

// mode returns the submission mode of an application, and a text that names the setting that determines the mode.
func (d Dialect) mode(app *v1beta2.SparkApplication) (mode dialect.SubmissionMode, chosenBy string) {
	if s := app.Spec.Submission; s != nil && s.Mode != "" {
		return dialect.SubmissionMode(s.Mode), modeField + " is " + string(s.Mode)
	}

	mode = cmp.Or(d.Submission, dialect.SubmissionAuto)
	return mode, "the operator's configuration requires it (submission.mode: " + string(mode) + ")"
}

// native builds the driver pod and the objects that the pod needs. If only spark-submit can build them, the error is a
// *launch.NotNative.
func (a *attempt) native() (submit.Objects, error) {
	objects, err := a.Native()
	if err != nil {
		return submit.Objects{}, err
	}

	if claims := validate.DriverClaims(a.app); len(claims) > 0 {
		return submit.Objects{}, launch.NewNotNative(claims[0])
	}

	if foreign := a.Batch.ForeignKind(objects); foreign != "" {
		return submit.Objects{}, launch.NewNotNative(&dialect.FieldError{Field: dialect.ConfField(batch.FeatureSteps),
			Message: "needs a " + foreign + ", which the operator has no right to create; remove the step"})
	}
	return objects, nil
}

// runner returns the objects that run spark-submit in a pod. It checks again that the configuration sets no key that
// users may not set, because spark-submit would use these keys.
func (a *attempt) runner() (submit.Objects, error) {
	if wrong := validate.SparkConf(a.app); len(wrong) > 0 {
		return submit.Objects{}, wrong[0]
	}
	return a.Runner()
}
