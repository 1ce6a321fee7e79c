package application

import (
	"errors"
	"strings"
	"time"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// modeSetting is the text by which messages name the setting of the submission mode. Only the operator's configuration
// sets the mode, because this API has no field for it. The closing parenthesis is missing, because each message first
// appends the value of the mode.
const modeSetting = "the operator's configuration (submission.mode"

// submission returns the objects of an attempt in the configured submission mode: the driver pod itself, or a pod that
// runs spark-submit to create the driver pod. If it uses spark-submit, it also returns the reason.
func (a Applications) submission(app *sparkv1.SparkApplication, attempt int32, now time.Time) (submit.Objects, *lifecycle.Cause, error) {
	a, app = a.launching(app)
	r, err := a.request(app, attempt, now)
	if err != nil {
		return submit.Objects{}, nil, a.explained(err)
	}
	return a.submissionOf(app, attempt, r)
}

// submissionOf is submission for a request.
func (a Applications) submissionOf(app *sparkv1.SparkApplication, attempt int32, r submit.Request) (submit.Objects, *lifecycle.Cause, error) {
	objects, why, err := a.submitted(app, r)
	if err != nil {
		return submit.Objects{}, nil, a.explained(err)
	}
	a.withOrigins(objects, r)
	objects.Before = append(a.configMaps(app, attempt), objects.Before...)
	return objects, why, nil
}

// submitted returns the objects that start the driver of a submission request. If it uses spark-submit, it also returns
// the reason.
func (a Applications) submitted(app *sparkv1.SparkApplication, r submit.Request) (submit.Objects, *lifecycle.Cause, error) {
	if a.Submission == dialect.SubmissionSparkSubmit && r.DriverMaster == "" {
		objects, err := a.runner(app, r)
		return objects, dialect.SparkSubmitCause(modeSetting + ": " + string(a.Submission) + ") requires it"), err
	}
	objects, err := native.Build(r)
	refused, ok := errors.AsType[*submit.Error](err)
	switch {
	case err == nil:
		return objects, nil, nil
	case !ok:
		return submit.Objects{}, nil, err
	case !refused.NotNative:
		return submit.Objects{}, nil, asFieldError(app, refused)
	}
	why := asFieldError(app, refused)
	switch {
	case a.Submission == dialect.SubmissionNative:
		why.Incomplete = true
		why.Message += "; spark-submit could do it, but that is switched off by the operator's configuration (" + dialect.RunnersOff + ")"
		return submit.Objects{}, nil, why
	case r.DriverMaster != "":
		why.Message += "; spark-submit could do it, but not for an application of " + confMaster + " " + r.DriverMaster
		return submit.Objects{}, nil, why
	}
	objects, err = a.runner(app, r)
	return objects, dialect.SparkSubmitCause(why.Statement()), err
}

// runner returns the objects for a submission by spark-submit, among them the pod that runs spark-submit. In this pod,
// spark-submit connects to the API server that the operator's configuration names.
func (a Applications) runner(app *sparkv1.SparkApplication, r submit.Request) (submit.Objects, error) {
	r.Master = a.apiServer()
	objects, err := dialect.Runner(r)
	if refused, ok := errors.AsType[*submit.Error](err); ok {
		return submit.Objects{}, asFieldError(app, refused)
	}
	return objects, err
}

// nextAttempt validates the application and renders an attempt. The result built contains the attempt's objects. If
// spark-submit has to create the driver pod, the result submitter is the reason. If the spec has a fault that no
// restart can fix, the result invalid is this fault.
//
// Other faults reject only this attempt. The results built and invalid are then nil, and Render reports the fault
// later. The restart policy decides whether another attempt follows. That attempt uses the spec as it is then, with the
// user's edits.
func (a Applications) nextAttempt(app *sparkv1.SparkApplication, attempt int32, now time.Time) (built *dialect.Built, submitter, invalid *lifecycle.Cause) {
	if invalid := dialect.Invalid(Validate(app)); invalid != nil {
		return nil, nil, invalid
	}
	objects, submitter, err := a.submission(app, attempt, now)
	if err != nil {
		return nil, submitter, nil // Render reports the rejection
	}
	if invalid := dialect.Invalid(a.ruleFaults(app, attempt, now, objects, submitter, a.executorOnce(app, attempt, now))); invalid != nil {
		return nil, nil, invalid
	}
	return &dialect.Built{Attempt: attempt, ID: appID(app, attempt), At: now, Objects: objects}, submitter, nil
}

// launchWarnings returns warnings about fields of the spec that have no effect on a launch. The warnings of
// native.Build are not among them.
func launchWarnings(app *sparkv1.SparkApplication) (warnings []string) {
	p, _ := programOf(&app.Spec)
	warnings = p.unused(&app.Spec)
	for _, list := range [][3]string{{"spec.jars", confJars, p.jars}, {"spec.pyFiles", confPyFiles, p.pyFiles}, {"spec.files", confFiles, app.Spec.Files}} {
		if set, listed := app.Spec.SparkConf[list[1]]; listed && list[2] != "" && list[2] != set {
			warnings = append(warnings, list[0]+": "+list[2]+" has no effect: spec.sparkConf["+list[1]+"] is "+quoted(set))
		}
	}
	if c, wrong := sparkConf(app, p); wrong == nil {
		warnings = append(warnings, overriddenWarnings(&app.Spec, c)...)
	}
	for _, version := range []struct{ field, text string }{
		{"spec.runtimeVersions.scalaVersion", app.Spec.RuntimeVersions.ScalaVersion},
		{"spec.runtimeVersions.jdkVersion", app.Spec.RuntimeVersions.JDKVersion},
	} {
		if version.text != "" && !isLabelValue(version.text) {
			warnings = append(warnings, version.field+": "+quoted(version.text)+" is not a valid label value, and the field has no other use")
		}
	}
	return warnings
}

// overriddenWarnings returns a warning for each key of sparkConf that another field overrides. The images may differ
// from sparkConf, because they may have a placeholder for the version.
func overriddenWarnings(spec *sparkv1.ApplicationSpec, c *conf.Conf) []string {
	for key, image := range spec.SparkConf {
		if strings.HasSuffix(key, "container.image") {
			c.Set(key, image)
		}
	}
	return dialect.Overridden(spec.SparkConf, c, func(key string) string {
		return map[string]string{confDriverTemplate: requestFields["DriverTemplate"], confExecutorTemplate: requestFields["ExecutorTemplate"]}[key]
	})
}
