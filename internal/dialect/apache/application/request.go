package application

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// driverUser is the value of the environment variable SPARK_USER in every driver, even in a driver with a proxy user.
// It is the name of the user in the official images.
const driverUser = "spark"

// ownerReference returns an owner reference that makes the application the controller of an object. The reference
// blocks the deletion of the owner, so a foreground deletion of the application waits for its pods.
func ownerReference(app *sparkv1.SparkApplication) metav1.OwnerReference {
	return *metav1.NewControllerRef(app, sparkv1.GroupVersion.WithKind("SparkApplication"))
}

// Request implements launch.Attempt.
func (a *attempt) Request(c *conf.Conf) error {
	app, p := a.app, a.program
	a.Builder = &launch.Builder{Name: func(refused *submit.Error) *dialect.FieldError { return asFieldError(app, refused) }}

	c = c.Clone()
	if a.Authenticate && driverMaster(&app.Spec) == "" {
		submit.Protect(c, app.Spec.RuntimeVersions.SparkVersion)
	}

	id := appID(app, a.Number)
	a.Submit = submit.Request{
		SparkVersion:       app.Spec.RuntimeVersions.SparkVersion,
		Namespace:          app.Namespace,
		AppName:            dialect.AppName(c, app.Name, lifecycle.AttemptID(string(app.UID), a.Number)),
		AppID:              id,
		ResourceNamePrefix: id,
		DriverPodName:      driverPodName(app, id),
		ConfigMapName:      configMapName(id),
		Master:             a.master(app),
		DriverMaster:       driverMaster(&app.Spec),
		SubmitTime:         a.At,
		User:               driverUser,
		MainClass:          p.class,
		Resource:           p.resource,
		Arguments:          app.Spec.DriverArgs,
		ArgumentsField:     requestFields["Arguments"],
		ProxyUser:          app.Spec.ProxyUser,
		Conf:               c,
		DriverTemplate:     withoutEscalation(rawTemplate(app.Spec.DriverSpec)),
		ExecutorTemplate:   rawTemplate(app.Spec.ExecutorSpec),
		Owner:              ownerReference(app),
		Labels:             a.attemptLabels(app, a.Number),

		RunnerServiceAccount: a.RunnerAccount,
		DeniedServiceAccount: a.Own.NameIn(app.Namespace),
	}
	// The application gets a name only if its configuration sets one; otherwise the program chooses the name.
	_, named := app.Spec.SparkConf[confAppName]
	a.Submit.Unnamed = !named
	a.Submit.Driver.Labels = versionLabels(app.Spec.RuntimeVersions)
	a.Submit.Driver.Annotations = launch.Annotations(app, "", a.Defaults)
	return nil
}

// master returns the driver's spark.master. This is the user's spark.master if it is the URL of an API server (k8s://),
// and otherwise the URL in the operator's configuration. The driver itself connects to the API server at another URL,
// spark.kubernetes.driver.master.
func (a Applications) master(app *sparkv1.SparkApplication) string {
	if master := app.Spec.SparkConf[confMaster]; strings.HasPrefix(master, "k8s://") {
		return master
	}
	return a.apiServer()
}

// apiServer returns the URL at which pods reach the API server.
func (a Applications) apiServer() string { return cmp.Or(a.Master, submit.DefaultMaster) }

// requestFields maps the fields of a submit.Request to the fields of a SparkApplication that set them.
var requestFields = map[string]string{
	"MainClass":          "spec.mainClass",
	"Arguments":          "spec.driverArgs",
	"ProxyUser":          "spec.proxyUser",
	"SparkVersion":       "spec.runtimeVersions.sparkVersion",
	"DriverTemplate":     "spec.driverSpec.podTemplateSpec",
	"ExecutorTemplate":   "spec.executorSpec.podTemplateSpec",
	"Driver":             "spec.driverSpec.podTemplateSpec",
	"Executor":           "spec.executorSpec.podTemplateSpec",
	"AppID":              "spec.sparkConf[" + confAppID + "]",
	"ResourceNamePrefix": "spec.sparkConf[" + confAppID + "]",
	"ConfigMapName":      "spec.sparkConf[" + confAppID + "]",
	"DriverPodName":      "spec.sparkConf[" + confDriverPodName + "]",
	"Master":             "spec.sparkConf[" + confMaster + "]",
	"DriverMaster":       "spec.sparkConf[" + confMaster + "]",
	"Namespace":          "metadata.namespace",
	"Conf":               "spec.sparkConf",
}

// asFieldError converts an error about a submission request into an error that names the field of the custom resource.
func asFieldError(app *sparkv1.SparkApplication, refused *submit.Error) *dialect.FieldError {
	var field string
	switch name, _, _ := strings.Cut(refused.Field, "."); {
	case refused.Key != "":
		field = keyField(&app.Spec, refused.Key)
	case refused.Field == "Resource":
		p, _ := programOf(&app.Spec)
		field = p.field
	default:
		field = cmp.Or(requestFields[name], "spec")
	}
	return &dialect.FieldError{Field: field, Message: refused.Message, Incomplete: refused.Missing}
}

// keyField returns the field of the custom resource from which the value of a configuration key comes.
func keyField(spec *sparkv1.ApplicationSpec, key string) string {
	if _, written := spec.SparkConf[key]; !written {
		p, _ := programOf(spec)
		switch {
		case key == confJars && p.jars != "", key == confPyFiles && p.pyFiles != "":
			return p.field
		case key == confFiles && spec.Files != "":
			return "spec.files"
		}
	}
	return fmt.Sprintf("spec.sparkConf[%s]", key)
}

func isLabelValue(text string) bool {
	return text != "" && len(validation.IsValidLabelValue(text)) == 0
}
