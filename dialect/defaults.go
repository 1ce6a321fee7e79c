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

// ErrDefaultsChanged is the reason why an executor of a running attempt cannot be rendered: the attempt was rendered
// with defaults that have changed since. It is not a fault of the custom resource.
var ErrDefaultsChanged = &submit.Error{Field: "Conf", Message: "the platform's defaults have changed since the launch", NotNative: true}

// AnnotateDefaults adds annotations to the driver's ConfigMap: the version of the platform's defaults, and the origins
// of the defaults that the attempt uses. If spark-submit creates the driver, there is no ConfigMap yet, and the
// annotations are on the pod that runs spark-submit.
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

// ExplainDefaults adds the origin of a default to each fault about that default. A fault is about a default if it is
// about a configuration key that only the platform's defaults set; the origin is the entry of the operator's
// configuration that sets the key. The argument own is the configuration that the custom resource sets.
func ExplainDefaults(faults []*FieldError, s *platform.Settings, own map[string]string) {
	for i, fault := range faults {
		key, isKey := strings.CutPrefix(fault.Field, "spec.sparkConf[")
		key = strings.TrimSuffix(key, "]")
		if _, isOwn := own[key]; !isKey || isOwn || s == nil {
			continue
		}
		if _, isDefault := s.SparkConf[key]; isDefault {
			origin := cmp.Or(s.Origins[platform.ConfSetting(key)], "defaults")
			faults[i] = &FieldError{Field: fault.Field, Message: fault.Message + " (the value is a default of the operator's configuration, " + origin + "; set the key in spec.sparkConf to override it)"}
		}
	}
}
