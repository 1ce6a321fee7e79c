package batch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// ReasonIntegrationOff is the reason of the condition QueueIgnored.
const ReasonIntegrationOff = "KueueIntegrationOff"

// QueueIgnored returns a message if Kueue does not manage an application that names a queue, and "" otherwise.
//
// Kueue's webhook suspends each application of a queue when the application is created. The API server counts the spec
// of that creation as generation 1, and every later change of spec.suspend adds 1. An application of generation 1 that
// is not suspended was therefore never suspended. A later edit hides that, so the condition stays until the queue's
// label is removed or the application is suspended.
func QueueIgnored(app *v1beta2.SparkApplication) string {
	queue := app.Labels[dialect.QueueLabel]
	switch {
	case queue == "", app.Spec.Suspend != nil && *app.Spec.Suspend, app.ResourceVersion == "": // not created yet
		return ""
	case app.Generation != 1 && !meta.IsStatusConditionTrue(app.Status.Conditions, dialect.ConditionQueueIgnored):
		return ""
	}
	return fmt.Sprintf("the application names the queue %q, but Kueue did not suspend it when it was created, so it runs outside of the quota: "+
		"in Kueue's configuration, switch on the feature gate SparkApplicationIntegration and add sparkoperator.k8s.io/sparkapplication to integrations.frameworks, "+
		"then create the application again; or remove the label %s", conf.Shorten(queue), dialect.QueueLabel)
}
