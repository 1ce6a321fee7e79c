package application

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ownerReference returns a reference that makes the application the controller of an object. A foreground deletion of
// the application waits until the objects with this reference are deleted.
func ownerReference(app *v1beta2.SparkApplication) metav1.OwnerReference {
	return *metav1.NewControllerRef(app, v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
}

// submissionID returns the submission id of an attempt. A stored id has precedence: with it, a newer operator that
// computes ids differently still finds the objects of an attempt that an older operator launched.
func submissionID(app *v1beta2.SparkApplication, attempt int32) string {
	if id := app.Status.SubmissionID; id != "" && decodeMemory(&app.Status).Attempt == attempt {
		return id
	}
	return lifecycle.AttemptID(string(app.UID), attempt)
}

// request builds the submit.Request for an attempt of an application.
func (d Dialect) request(app *v1beta2.SparkApplication, attempt int32, now time.Time) (submit.Request, error) {
	id := submissionID(app, attempt)
	c, err := sparkConf(app)
	if err != nil {
		return submit.Request{}, err
	}
	driver, err := d.driverOverlay(app)
	if err != nil {
		return submit.Request{}, err
	}
	executor, err := executorOverlay(app)
	if err != nil {
		return submit.Request{}, err
	}
	admitted, _ := d.admissionSettings(app, c, executor)
	d.uiConf(c, app, id, attempt)
	if d.Authenticate {
		submit.Protect(c, app.Spec.SparkVersion)
	}
	prefix := namePrefix(app, id)
	r := submit.Request{
		SparkVersion:       app.Spec.SparkVersion,
		Namespace:          app.Namespace,
		AppName:            dialect.AppName(c, app.Name, id),
		AppID:              appID(id),
		ResourceNamePrefix: prefix,
		DriverPodName:      DriverPodName(app),
		Master:             cmp.Or(d.Master, submit.DefaultMaster),
		SubmitTime:         now,
		MainClass:          sparkoperator.StringValue(app.Spec.MainClass),
		Resource:           app.Spec.MainApplicationFile,
		Arguments:          app.Spec.Arguments,
		ArgumentsField:     "spec.arguments",
		ProxyUser:          sparkoperator.StringValue(app.Spec.ProxyUser),
		Conf:               c,
		DriverTemplate:     dialect.RawBytes(app.Spec.Driver.Template),
		ExecutorTemplate:   dialect.RawBytes(app.Spec.Executor.Template),
		Driver:             driver,
		Executor:           executor,
		Admitted:           admitted,
		ExecutorPorts:      executorPorts(&app.Spec),
		Owner:              ownerReference(app),
		Labels:             attemptLabels(app, attempt, id),

		RunnerServiceAccount: d.RunnerAccount,
		DeniedServiceAccount: d.Own.NameIn(app.Namespace),
	}
	if err := d.schedule(app, &r); err != nil {
		return submit.Request{}, err
	}
	return r, nil
}
