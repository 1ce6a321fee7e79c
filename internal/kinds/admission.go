package kinds

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	sparkapp "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application"
	sparkconnect "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/connect"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// Admitted describes a kind of custom resource to the admission webhook. Its functions change nothing. Besides their
// arguments, Review and Restarts read the labels of the object's namespace (Admission).
type Admitted struct {
	Kind schema.GroupVersionKind
	// New returns an empty object.
	New func() client.Object
	// Enabled reports whether the operator serves the kind. Selects reports whether the operator acts on an object.
	Enabled func(config.Configuration) bool
	Selects func(config.Configuration, client.Object) bool
	// Review returns what a pass would report about an object in a namespace with the given labels. Restarts returns a
	// warning if an edit restarts something that runs, and "" otherwise.
	Review   func(cfg config.Configuration, labels map[string]string, object client.Object, now time.Time) dialect.Review
	Restarts func(cfg config.Configuration, old, edited client.Object) string
}

// Admission returns the descriptions of the five kinds for the admission webhook. The labels of
// namespaces select the platform's defaults. If the function labels is nil, only the defaults for all namespaces apply.
func Admission(labels NamespaceLabels) []Admitted {
	of := evaluatedOnce(labels)
	review := func(cfg config.Configuration, labels map[string]string, object client.Object, now time.Time) dialect.Review {
		return reviewWith(cfg, labels, of(cfg, object), object, now)
	}
	all := func(config.Configuration, client.Object) bool { return true }
	selected := func(cfg config.Configuration, object client.Object) bool {
		return actsOn(cfg.Apache.LabelSelector)(object)
	}
	none := func(config.Configuration, client.Object, client.Object) string { return "" }
	return []Admitted{
		{
			Kind: v1beta2.SchemeGroupVersion.WithKind("SparkApplication"), New: func() client.Object { return &v1beta2.SparkApplication{} },
			Enabled: func(cfg config.Configuration) bool { return cfg.Applications() }, Selects: all,
			Review: review,
			Restarts: func(cfg config.Configuration, old, edited client.Object) string {
				return sparkapp.Dialect{Options: dialectOptions(cfg)}.RestartWarning(old.(*v1beta2.SparkApplication), edited.(*v1beta2.SparkApplication))
			},
		},
		{
			Kind: v1beta2.SchemeGroupVersion.WithKind("ScheduledSparkApplication"), New: func() client.Object { return &v1beta2.ScheduledSparkApplication{} },
			Enabled: func(cfg config.Configuration) bool { return cfg.Schedules() }, Selects: all,
			Review:   review,
			Restarts: none, // an edit is for the runs that follow
		},
		{
			Kind: v1alpha1.SchemeGroupVersion.WithKind("SparkConnect"), New: func() client.Object { return &v1alpha1.SparkConnect{} },
			Enabled: func(cfg config.Configuration) bool { return cfg.ConnectServers() }, Selects: all,
			Review: review,
			Restarts: func(cfg config.Configuration, old, edited client.Object) string {
				return sparkconnect.Connects{Options: connectOptions(cfg)}.RestartWarning(old.(*v1alpha1.SparkConnect), edited.(*v1alpha1.SparkConnect))
			},
		},
		{
			Kind: sparkv1.GroupVersion.WithKind("SparkApplication"), New: func() client.Object { return &sparkv1.SparkApplication{} },
			Enabled: func(cfg config.Configuration) bool { return cfg.ApacheApplications() }, Selects: selected,
			Review:   review,
			Restarts: none, // an edit is for the next attempt
		},
		{
			Kind: sparkv1.GroupVersion.WithKind("SparkCluster"), New: func() client.Object { return &sparkv1.SparkCluster{} },
			Enabled: func(cfg config.Configuration) bool { return cfg.SparkClusters() }, Selects: selected,
			Review: review,
			Restarts: func(cfg config.Configuration, old, edited client.Object) string {
				return clustersWith(cfg, of(cfg, edited)).RestartWarning(old.(*sparkv1.SparkCluster), edited.(*sparkv1.SparkCluster))
			},
		},
	}
}
