package connect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// connectKeyField returns the field of a SparkConnect that sets a configuration key.
func connectKeyField(sc *v1alpha1.SparkConnect, key string) string {
	typed, spec := fields.Connect.FieldOf(sc, key), &sc.Spec
	if begin, _ := gpuKey(spec); begin != "" && (key == begin+"amount" || key == begin+"vendor") {
		typed = "spec.executor.gpu"
	}

	if text, written := spec.SparkConf[key]; written && typed != "" {
		if effective, _ := connectTyped(sc).Get(key); effective == "" || effective == text {
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
	return cmp.Or(typed, dialect.ConfField(conf.Shorten(key)))
}

// inConnectFields returns the texts of warnings, each with the name of a field of the SparkConnect. Equal warnings are
// returned only once.
func inConnectFields(sc *v1alpha1.SparkConnect, warnings []connect.Warning) []string {
	var out []string
	for _, warning := range warnings {
		field := cmp.Or(fields.Connect.FieldOfPart(warning.Field), "spec")
		if warning.Field == "" {
			field = connectKeyField(sc, warning.Key)
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
	r.Conf, r.ExecutorTemplate = c, rawtemplate.Bytes(a.sc.Spec.Executor.Template)
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
		ServerTemplate: rawtemplate.Bytes(sc.Spec.Server.Template), // names ports to which a Service can lead
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
