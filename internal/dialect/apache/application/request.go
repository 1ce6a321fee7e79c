package application

import (
	"cmp"
	"strings"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// driverUser is the value of the environment variable SPARK_USER in every driver, even in a driver with a proxy user.
// It is the name of the user in the official images.
const driverUser = "spark"

// Request implements launch.Attempt.
func (a *attempt) Request(c *conf.Conf) error {
	app, p := a.app, a.program
	a.Builder = &launch.Builder{Name: func(refused *submit.Error) *dialect.FieldError { return asFieldError(app, refused) }}

	c = c.Clone()
	if a.Authenticate && driverMaster(&app.Spec) == "" {
		submit.Protect(c, app.Spec.RuntimeVersions.SparkVersion)
	}

	for _, role := range []string{launch.RoleDriver, launch.RoleExecutor} {
		if wrong := launch.Conflict(a.defaults.Settings, role, rawTemplate(&a.own.Spec, role), "spec."+role+"Spec.podTemplateSpec", a.own.Spec.SparkConf); wrong != nil {
			return wrong
		}
	}

	id := naming.ID(app, a.Number)
	a.Submit = submit.Request{
		SparkVersion:       app.Spec.RuntimeVersions.SparkVersion,
		Namespace:          app.Namespace,
		AppName:            dialect.AppName(c, app.Name, lifecycle.AttemptID(string(app.UID), a.Number)),
		AppID:              id,
		ResourceNamePrefix: id,
		DriverPodName:      naming.DriverPod(app, id),
		ConfigMapName:      naming.ConfigMapName(id),
		Master:             a.master(app),
		DriverMaster:       driverMaster(&app.Spec),
		SubmitTime:         a.At,
		User:               driverUser,
		MainClass:          p.Class,
		Resource:           p.Resource,
		Arguments:          app.Spec.DriverArgs,
		ArgumentsField:     fields.Application.FieldOfPart("Arguments"),
		ProxyUser:          app.Spec.ProxyUser,
		Conf:               c,
		DriverTemplate:     withoutEscalation(rawTemplate(&app.Spec, launch.RoleDriver)),
		ExecutorTemplate:   rawTemplate(&app.Spec, launch.RoleExecutor),
		Owner:              naming.Owner(app),
		Labels:             naming.Labels(app, a.Number, a.OperatorName),

		RunnerServiceAccount: a.RunnerAccount,
		DeniedServiceAccount: a.Own.NameIn(app.Namespace),
	}
	// The application gets a name only if its configuration sets one; otherwise the program chooses the name.
	_, named := app.Spec.SparkConf[fields.AppName]
	a.Submit.Unnamed = !named
	a.Submit.Driver.Labels = naming.Versions(app.Spec.RuntimeVersions)
	a.Submit.Driver.Annotations = launch.Annotations(app, "", a.Defaults)
	return nil
}

// master returns the driver's spark.master. This is the user's spark.master if it is the URL of an API server (k8s://),
// and otherwise the URL in the operator's configuration. The driver itself connects to the API server at another URL,
// spark.kubernetes.driver.master.
func (a Applications) master(app *sparkv1.SparkApplication) string {
	if master := app.Spec.SparkConf[fields.Master]; strings.HasPrefix(master, "k8s://") {
		return master
	}
	return a.apiServer()
}

// apiServer returns the URL at which pods reach the API server.
func (a Applications) apiServer() string { return cmp.Or(a.Master, submit.DefaultMaster) }

// asFieldError converts an error about a submission request into an error that names the field of the custom resource.
func asFieldError(app *sparkv1.SparkApplication, refused *submit.Error) *dialect.FieldError {
	var field string
	switch part, _, _ := strings.Cut(refused.Field, "."); {
	case refused.Key != "":
		field, _ = fields.OfKey(app, refused.Key)
	case refused.Field == "Resource":
		p, _ := fields.ProgramOf(&app.Spec)
		field = p.Field
	default:
		field = cmp.Or(fields.Application.FieldOfPart(part), "spec")
	}
	return &dialect.FieldError{Field: field, Message: refused.Message, Incomplete: refused.Missing}
}
