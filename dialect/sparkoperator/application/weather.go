package application

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// encodeWeather reports a transient error in the conditions (dialect.EncodeWeather). Before holds the previous
// conditions.
func encodeWeather(app *v1beta2.SparkApplication, m lifecycle.Memory, weather *lifecycle.Weather, before []metav1.Condition, now time.Time) {
	dialect.EncodeWeather(&app.Status.Conditions, m.Phase, weather, before, app.Generation, now)
}
