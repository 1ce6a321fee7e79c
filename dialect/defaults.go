package dialect

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/dialect/platform"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// propertiesFile is the key of Spark's configuration in the ConfigMap of a driver.
const propertiesFile = "spark.properties"

// ErrDefaultsChanged is the error that the dialects' methods Executor return if the platform's defaults have changed
// since the attempt was launched. An executor that is rendered with the present defaults would differ from the
// executors of the attempt. The error is not a fault of the custom resource.
var ErrDefaultsChanged = &submit.Error{Field: "Conf", Message: "the platform's defaults have changed since the launch", NotNative: true}

// ErrNoExecutors is the error that the dialects' methods Executor return if the driver runs its tasks itself, or in
// another cluster. The error is not a fault of the custom resource.
var ErrNoExecutors = &submit.Error{Field: "Conf", Message: "the driver requests no executors", NotNative: true}

// AnnotateDefaults adds annotations to the driver's ConfigMap: the version of the platform's defaults, and the origins
// of the defaults that the attempt uses. If spark-submit creates the driver and its ConfigMap, the annotations are on
// the pod that runs spark-submit instead.
func AnnotateDefaults(objects submit.Objects, s *platform.Settings, used []string) {
	for _, object := range objects.Before {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Data[propertiesFile] != "" {
			s.Annotate(config, used)
			return
		}
	}
	if objects.Driver != nil {
		s.Annotate(objects.Driver, used)
	}
}

// ExplainDefaults extends the message of each fault that one of the platform's defaults has caused: a fault of a
// configuration key that the custom resource itself does not set. The argument own is the sparkConf of the custom
// resource. The added text names the entry of the operator's configuration that contains the default.
func ExplainDefaults(faults []*FieldError, s *platform.Settings, own map[string]string) {
	for i, fault := range faults {
		key, isKey := strings.CutPrefix(fault.Field, "spec.sparkConf[")
		key = strings.TrimSuffix(key, "]")
		if _, isOwn := own[key]; !isKey || isOwn || s == nil {
			continue
		}
		if _, isDefault := s.SparkConf[key]; isDefault {
			origin := cmp.Or(s.Origins[platform.ConfSetting(key)], "defaults")
			faults[i] = &FieldError{Field: fault.Field, Incomplete: fault.Incomplete, Message: fault.Message + " (the value is a default of the operator's configuration, " + origin + "; set the key in spec.sparkConf to override it)"}
		}
	}
}
