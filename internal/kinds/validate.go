package kinds

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	apacheapp "github.com/sparkoperator/spark-operator/dialect/apache/application"
	apachecluster "github.com/sparkoperator/spark-operator/dialect/apache/cluster"
	sparkapp "github.com/sparkoperator/spark-operator/dialect/sparkoperator/application"
	sparkconnect "github.com/sparkoperator/spark-operator/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/internal/config"
)

// Validate returns the faults that make a custom resource of one of the five kinds invalid, as its dialect reports
// them, with the platform's defaults that the labels of namespaces select. A launch may still find faults in values
// that Validate does not check. Validate returns nothing for an object of another kind.
func Validate(cfg config.Configuration, object client.Object, now time.Time, labels ...NamespaceLabels) []*dialect.FieldError {
	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		return sparkapp.Validate(object)
	case *v1beta2.ScheduledSparkApplication:
		return schedulesWith(scheduleDialect(cfg), platformDefaults(cfg, labels)(object)).Validate(object, now)
	case *v1alpha1.SparkConnect:
		return sparkconnect.ValidateConnect(object)
	case *sparkv1.SparkApplication:
		return apacheapp.Validate(object)
	case *sparkv1.SparkCluster:
		return apachecluster.ValidateCluster(object)
	}
	return nil
}
