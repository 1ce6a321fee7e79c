package kinds

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Review returns what a pass would report about a custom resource of one of the five kinds in a namespace with the
// given labels; nil means that the labels are unknown. For an object of another kind the review is empty.
func Review(cfg config.Configuration, labels map[string]string, object client.Object, now time.Time) dialect.Review {
	settings := Defaults(cfg, object, func(string) map[string]string { return labels })
	return reviewWith(cfg, labels, settings, object, now)
}

// reviewWith returns the review of an object. The argument settings contains the platform's defaults for the object.
func reviewWith(cfg config.Configuration, labels map[string]string, settings *platform.Settings, object client.Object, now time.Time) (review dialect.Review) {
	defer func() { review.Faults = dialect.Unreplaced(review.Faults) }()

	rules := cfg.Policy.For(labels)
	switch object := object.(type) {
	case *v1beta2.SparkApplication:
		d := applicationsWith(dialectOptions(cfg), settings)
		d.Rules = rules
		return d.Review(object, now)
	case *v1beta2.ScheduledSparkApplication:
		d := schedulesWith(scheduleDialect(cfg), settings)
		d.Applications.Rules = rules
		return d.Review(object, now)
	case *v1alpha1.SparkConnect:
		d := connectsWith(connectOptions(cfg), settings)
		d.Rules = rules
		return d.Review(object)
	case *sparkv1.SparkApplication:
		d := apacheWith(cfg, settings)
		d.Rules = rules
		return d.Review(object, now)
	case *sparkv1.SparkCluster:
		d := clustersWith(cfg, settings)
		d.Rules = rules
		return d.Review(object)
	}
	return dialect.Review{}
}
