package sparkoperator

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ownerReference makes the application the controller of what is created for it. Deleting it in the foreground waits for its pods.
func ownerReference(app *v1beta2.SparkApplication) metav1.OwnerReference {
	return *metav1.NewControllerRef(app, v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))
}

// request reads one attempt of an application as a submission. Master is the API server's address as drivers reach it.
func request(app *v1beta2.SparkApplication, attempt int32, submissionID, master string, now time.Time) (submit.Request, error) {
	c, err := sparkConf(app)
	if err != nil {
		return submit.Request{}, err
	}
	driver, err := driverOverlay(app)
	if err != nil {
		return submit.Request{}, err
	}
	executor, err := executorOverlay(app)
	if err != nil {
		return submit.Request{}, err
	}
	prefix := namePrefix(app, submissionID)
	return submit.Request{
		SparkVersion:       app.Spec.SparkVersion,
		Namespace:          app.Namespace,
		AppName:            app.Name,
		AppID:              appID(submissionID),
		ResourceNamePrefix: prefix,
		DriverPodName:      DriverPodName(app),
		Master:             master,
		SubmitTime:         now,
		MainClass:          value(app.Spec.MainClass),
		Resource:           app.Spec.MainApplicationFile,
		Arguments:          app.Spec.Arguments,
		ProxyUser:          value(app.Spec.ProxyUser),
		Conf:               c,
		DriverTemplate:     raw(app.Spec.Driver.Template),
		ExecutorTemplate:   raw(app.Spec.Executor.Template),
		Driver:             driver,
		Executor:           executor,
		Owner:              ownerReference(app),
		Labels:             attemptLabels(app, attempt, submissionID),
	}, nil
}

func raw(template *runtime.RawExtension) []byte {
	if template == nil {
		return nil
	}
	return template.Raw
}

// specFields are the fields of a SparkApplication that a Spark configuration key, or a field of a Request, comes from: what a refusal
// names is what the user wrote.
var specFields = map[string]string{
	"MainClass":        "spec.mainClass",
	"Resource":         "spec.mainApplicationFile",
	"Arguments":        "spec.arguments",
	"ProxyUser":        "spec.proxyUser",
	"SparkVersion":     "spec.sparkVersion",
	"DriverTemplate":   "spec.driver.template",
	"ExecutorTemplate": "spec.executor.template",
	"Driver":           "spec.driver",
	"Executor":         "spec.executor",
	"DriverPodName":    "spec.driver.podName",

	"spark.driver.cores":                           "spec.driver.cores",
	"spark.driver.memory":                          "spec.driver.memory",
	"spark.driver.memoryOverhead":                  "spec.driver.memoryOverhead",
	"spark.driver.extraJavaOptions":                "spec.driver.javaOptions",
	"spark.kubernetes.driver.request.cores":        "spec.driver.coreRequest",
	"spark.kubernetes.driver.limit.cores":          "spec.driver.coreLimit",
	"spark.kubernetes.driver.container.image":      "spec.driver.image",
	"spark.executor.cores":                         "spec.executor.cores",
	"spark.executor.memory":                        "spec.executor.memory",
	"spark.executor.memoryOverhead":                "spec.executor.memoryOverhead",
	"spark.executor.instances":                     "spec.executor.instances",
	"spark.executor.extraJavaOptions":              "spec.executor.javaOptions",
	"spark.kubernetes.executor.request.cores":      "spec.executor.coreRequest",
	"spark.kubernetes.executor.limit.cores":        "spec.executor.coreLimit",
	"spark.kubernetes.executor.container.image":    "spec.executor.image",
	"spark.kubernetes.container.image":             "spec.image",
	"spark.kubernetes.container.image.pullPolicy":  "spec.imagePullPolicy",
	"spark.kubernetes.container.image.pullSecrets": "spec.imagePullSecrets",
	"spark.kubernetes.memoryOverheadFactor":        "spec.memoryOverheadFactor",
	"spark.jars":                                   "spec.deps.jars",
	"spark.files":                                  "spec.deps.files",
	"spark.archives":                               "spec.deps.archives",
	"spark.submit.pyFiles":                         "spec.deps.pyFiles",
	"spark.jars.packages":                          "spec.deps.packages",
}

// asFieldError names the field of the custom resource that a submission was refused for: the typed one where that is what the user
// wrote, else the entry of sparkConf.
func asFieldError(app *v1beta2.SparkApplication, refused *submit.Error) *FieldError {
	name := refused.Key
	if name == "" {
		name = refused.Field
	}
	field, typed := specFields[name]
	if role, part, ok := strings.Cut(name, "."); ok && refused.Key == "" && !typed {
		// A field of an overlay, such as Driver.Volumes: the volumes of a spec are its own, the rest is the pod's.
		field, typed = specFields[role], true
		if part == "Volumes" {
			field = "spec.volumes"
		}
	}
	if _, inConf := app.Spec.SparkConf[refused.Key]; inConf && refused.Key != "" || !typed {
		field = "spec"
		if refused.Key != "" {
			field = fmt.Sprintf("spec.sparkConf[%s]", refused.Key)
		}
	}
	return &FieldError{Field: field, Message: refused.Message}
}
