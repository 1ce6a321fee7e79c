package configured

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Review returns what a pass would report about a custom resource of one of the five kinds in a namespace with the
// given labels; nil means that the labels are unknown. For an object of another kind the review is empty.
func Review(cfg config.Configuration, labels map[string]string, object client.Object, now time.Time) dialect.Review {
	served := Of(object)
	if served == nil {
		return dialect.Review{}
	}
	return served.reviewWith(cfg, labels, Defaults(cfg, object, func(string) map[string]string { return labels }), object, now)
}

// reviewWith returns the review of an object. The argument settings contains the platform's defaults for the object.
func (s *Served) reviewWith(cfg config.Configuration, labels map[string]string, settings *platform.Settings, object client.Object, now time.Time) dialect.Review {
	review := s.with(cfg, settings).Review(object, labels, now)
	review.Faults = dialect.Unreplaced(review.Faults)
	return review
}
