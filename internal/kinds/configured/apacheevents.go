package configured

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache"
	apacheapp "github.com/sparkoperator/spark-operator/internal/dialect/apache/application"
	apachecluster "github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster"
	"github.com/sparkoperator/spark-operator/internal/engine/eventlimit"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
)

// EventSettings returns the settings for Events about applications.
func (k *apacheApplications) EventSettings() eventlimit.Settings { return apacheEvents(k.settings()) }

// FailureReason returns the reason of an Event about a failed pass over an application, or about a failed write of its
// status.
func (*apacheApplications) FailureReason(object client.Object, ofStatus bool) string {
	return apacheapp.FailureReason(object.(*sparkv1.SparkApplication), ofStatus)
}

// EventSettings returns the settings for Events about clusters.
func (k *clusters) EventSettings() eventlimit.Settings { return apacheEvents(k.settings()) }

// FailureReason returns the reason of an Event about a failed pass over a cluster, or about a failed write of its
// status.
func (*clusters) FailureReason(object client.Object, ofStatus bool) string {
	return apachecluster.FailureReason(object.(*sparkv1.SparkCluster), ofStatus)
}

// apacheEvents returns the settings for Events about the custom resources of spark.apache.org.
func apacheEvents(cfg config.Configuration) eventlimit.Settings {
	events := cfg.Apache.Events

	s := eventlimit.Settings{Source: apache.EventSource, Off: !*events.Enabled, Interval: events.MinInterval.Duration}
	for _, text := range events.ExcludedReasons {
		if expression, err := config.ReasonExpression(text); err == nil { // the configuration has valid ones only
			s.Excluded = append(s.Excluded, expression)
		}
	}
	return s
}
