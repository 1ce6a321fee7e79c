package application

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// encodeTransientError reports a transient error in the conditions (dialect.EncodeTransientError). The argument before
// contains the conditions of the stored status.
func encodeTransientError(app *v1beta2.SparkApplication, m lifecycle.Memory, transient *lifecycle.TransientError, before []metav1.Condition, now time.Time) {
	dialect.EncodeTransientError(&app.Status.Conditions, m.Phase, transient, before, app.Generation, now)
}
