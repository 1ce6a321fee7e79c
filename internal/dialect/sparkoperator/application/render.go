package application

import (
	"cmp"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/exposure"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/monitoring"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/overwritten"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Request implements launch.Attempt.
func (a *attempt) Request(c *conf.Conf) error {
	app := a.app
	valid := c
	a.Builder = &launch.Builder{Name: func(refused *submit.Error) *dialect.FieldError { return specification.FieldError(app, valid, refused) }}
	c = c.Clone()

	driver, err := specification.DriverOverlay(app)
	if err != nil {
		return err
	}

	driver.Annotations = launch.Annotations(app, a.hash(), a.Defaults)

	executor, err := specification.ExecutorOverlay(app)
	if err != nil {
		return err
	}

	admitted, _ := overwritten.Settings(app, a.Admission, c, executor)
	exposure.Configure(c, a.exposure())

	if a.Authenticate {
		submit.Protect(c, app.Spec.SparkVersion)
	}

	prefix := naming.Prefix(app, a.ID)
	a.Submit = submit.Request{
		SparkVersion:       app.Spec.SparkVersion,
		Namespace:          app.Namespace,
		AppName:            dialect.AppName(c, app.Name, a.ID),
		AppID:              naming.AppID(a.ID),
		ResourceNamePrefix: prefix,
		DriverPodName:      naming.DriverPodName(app),
		Master:             cmp.Or(a.Master, submit.DefaultMaster),
		SubmitTime:         a.At,
		MainClass:          sparkoperator.StringValue(app.Spec.MainClass),
		Resource:           app.Spec.MainApplicationFile,
		Arguments:          app.Spec.Arguments,
		ArgumentsField:     "spec.arguments",
		ProxyUser:          sparkoperator.StringValue(app.Spec.ProxyUser),
		Conf:               c,
		DriverTemplate:     rawtemplate.Bytes(app.Spec.Driver.Template),
		ExecutorTemplate:   rawtemplate.Bytes(app.Spec.Executor.Template),
		Driver:             driver,
		Executor:           executor,
		Admitted:           admitted,
		ExecutorPorts:      monitoring.ExecutorPorts(&app.Spec),
		Owner:              naming.Owner(app),
		Labels:             naming.AttemptLabels(app, a.Number, a.ID),

		RunnerServiceAccount: a.RunnerAccount,
		DeniedServiceAccount: a.Own.NameIn(app.Namespace),
	}
	return a.Batch.Schedule(app, a.Builder)
}
