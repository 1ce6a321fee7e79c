package connect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// connectFields maps the fields of a connect.Request to the fields of a SparkConnect that set them.
var connectFields = map[string]string{
	"Name":             "metadata.name",
	"SparkVersion":     "spec.sparkVersion",
	"Conf":             "spec.sparkConf",
	"Image":            "spec.image",
	"ServerTemplate":   "spec.server.template",
	"ExecutorTemplate": "spec.executor.template",
	"Service":          "spec.server.service",
}

// connectKeyFields maps Spark configuration keys to the typed fields that set them.
var connectKeyFields = map[string]string{
	"spark.driver.cores":                              "spec.server.cores",
	"spark.driver.memory":                             "spec.server.memory",
	"spark.executor.cores":                            "spec.executor.cores",
	"spark.executor.memory":                           "spec.executor.memory",
	"spark.executor.instances":                        "spec.executor.instances",
	"spark.kubernetes.container.image":                "spec.image",
	"spark.kubernetes.driver.container.image":         "spec.image",
	"spark.kubernetes.executor.container.image":       "spec.image",
	"spark.dynamicAllocation.minExecutors":            "spec.dynamicAllocation.minExecutors",
	"spark.dynamicAllocation.maxExecutors":            "spec.dynamicAllocation.maxExecutors",
	"spark.dynamicAllocation.initialExecutors":        "spec.dynamicAllocation.initialExecutors",
	"spark.kubernetes.driver.podTemplateFile":         "spec.server.template",
	"spark.kubernetes.executor.podTemplateFile":       "spec.executor.template",
	"spark.kubernetes.executor.podNamePrefix":         "metadata.name",
	"spark.dynamicAllocation.shuffleTracking.timeout": "spec.dynamicAllocation.shuffleTrackingTimeout",
}

// connectKeyField returns the field of a SparkConnect that sets a configuration key.
func connectKeyField(spec *v1alpha1.SparkConnectSpec, key string) string {
	typed := connectKeyFields[key]
	if begin, _ := gpuKey(spec); begin != "" && (key == begin+"amount" || key == begin+"vendor") {
		typed = "spec.executor.gpu"
	}
	if text, written := spec.SparkConf[key]; written && typed != "" {
		if effective, _ := connectTyped(spec).Get(key); effective == "" || effective == text {
			typed = ""
		}
	}
	if name, hadoop := strings.CutPrefix(key, hadoopPrefix); hadoop {
		for _, written := range []string{key, name} {
			if _, ok := spec.HadoopConf[written]; ok {
				return "spec.hadoopConf[" + written + "]"
			}
		}
	}
	for _, role := range []string{"driver", "executor"} {
		name, label := strings.CutPrefix(key, "spark.kubernetes."+role+".label.")
		if _, written := spec.SparkConf[key]; label && !written {
			return "metadata.labels[" + name + "]"
		}
	}
	return cmp.Or(typed, "spec.sparkConf["+conf.Shorten(key)+"]")
}

// inConnectFields returns the texts of warnings, each with the name of a field of the SparkConnect. Equal warnings are
// returned only once.
func inConnectFields(spec *v1alpha1.SparkConnectSpec, warnings []connect.Warning) []string {
	var out []string
	for _, warning := range warnings {
		field := cmp.Or(connectFields[warning.Field], "spec")
		if warning.Field == "" {
			field = connectKeyField(spec, warning.Key)
		}
		if text := field + ": " + warning.Text; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// requestOf returns the request to build the server with a configuration, to which it adds the operator's keys.
func (a *attempt) requestOf(c *conf.Conf) connect.Request {
	r := a.standingRequest()
	r.Labels[sparkoperator.LabelAttempt] = strconv.Itoa(int(a.number))
	a.uiPath(c)
	r.Conf, r.ExecutorTemplate = c, dialect.RawBytes(a.sc.Spec.Executor.Template)
	return r
}

// standingRequest returns a request that contains only values that are the same for every attempt. The Service for
// clients is built from it, so that the Service does not change with the attempt.
func (a *attempt) standingRequest() connect.Request {
	sc := a.sc
	c, _ := a.Configuration()
	selector := map[string]string{sparkoperator.LabelConnectName: sc.Name, sparkoperator.LabelLaunchedBy: "true"}
	return connect.Request{
		Name: sc.Name, Namespace: sc.Namespace, SparkVersion: sc.Spec.SparkVersion, Image: sparkoperator.StringValue(sc.Spec.Image), Master: cmp.Or(a.Master, submit.DefaultMaster), Conf: c,
		ServerTemplate: dialect.RawBytes(sc.Spec.Server.Template), // names ports to which a Service can lead
		Owner:          serverOwner(sc), Selector: selector, Reserved: dialect.OwnPrefix,
		Labels: map[string]string{
			sparkoperator.LabelConnectName: sc.Name, sparkoperator.LabelLaunchedBy: "true", sparkoperator.LabelAppUID: string(sc.UID), sparkoperator.LabelManaged: "true",
		},
		ObjectLabels: map[string]string{
			sparkoperator.LabelConnectName: sc.Name, sparkoperator.LabelCreatedBy: "true", sparkoperator.LabelAppUID: string(sc.UID), sparkoperator.LabelManaged: "true",
		},
	}
}

// serverOwner returns an owner reference that makes the SparkConnect the controller of an object.
func serverOwner(sc *v1alpha1.SparkConnect) metav1.OwnerReference {
	return *metav1.NewControllerRef(sc, v1alpha1.SchemeGroupVersion.WithKind("SparkConnect"))
}
