package application

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// encodeWeather says what keeps the operator from going on. Before is what the conditions said last.
func encodeWeather(app *v1beta2.SparkApplication, m lifecycle.Memory, weather *lifecycle.Weather, before []metav1.Condition, now time.Time) {
	dialect.EncodeWeather(&app.Status.Conditions, m.Phase, weather, before, app.Generation, now)
}
