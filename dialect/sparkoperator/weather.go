package sparkoperator

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// encodeWeather says what keeps the operator from going on where the application is not Ready, or what degrades one that is. It is remembered nowhere:
// with the first pass that goes through it is gone. Message is what the conditions said before: it stays while the reason does, since each failure
// may be worded anew and is no news.
func encodeWeather(app *v1beta2.SparkApplication, m lifecycle.Memory, weather *lifecycle.Weather, before []metav1.Condition, now time.Time) {
	s := &app.Status
	if weather == nil || m.Phase.Terminal() || m.Phase == lifecycle.Suspended {
		return
	}
	held := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, Reason: weather.Cause.Reason, Message: weather.Cause.Message,
		LastTransitionTime: metav1.NewTime(now), ObservedGeneration: app.Generation,
	}
	if m.Phase == lifecycle.Running {
		held.Type, held.Status = ConditionDegraded, metav1.ConditionTrue
	}
	if was := meta.FindStatusCondition(before, held.Type); was != nil && was.Reason == held.Reason {
		held.Message = was.Message
	}
	meta.SetStatusCondition(&s.Conditions, held)
}
