package application

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
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

// Request implements launch.Attempt.
func (a *attempt) Request(c *conf.Conf) error {
	app := a.app
	valid := c
	a.Builder = &launch.Builder{Name: func(refused *submit.Error) *dialect.FieldError { return asFieldError(app, valid, refused) }}
	c = c.Clone()

	driver, err := a.driverOverlay(app)
	if err != nil {
		return err
	}

	executor, err := executorOverlay(app)
	if err != nil {
		return err
	}

	admitted, _ := a.admissionSettings(app, c, executor)
	a.uiConf(c, app, a.ID, a.Number)

	if a.Authenticate {
		submit.Protect(c, app.Spec.SparkVersion)
	}

	prefix := namePrefix(app, a.ID)
	a.Submit = submit.Request{
		SparkVersion:       app.Spec.SparkVersion,
		Namespace:          app.Namespace,
		AppName:            dialect.AppName(c, app.Name, a.ID),
		AppID:              appID(a.ID),
		ResourceNamePrefix: prefix,
		DriverPodName:      DriverPodName(app),
		Master:             cmp.Or(a.Master, submit.DefaultMaster),
		SubmitTime:         a.At,
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
		Labels:             attemptLabels(app, a.Number, a.ID),

		RunnerServiceAccount: a.RunnerAccount,
		DeniedServiceAccount: a.Own.NameIn(app.Namespace),
	}
	return a.schedule()
}
