package configured

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Standing returns the state of a SparkApplication for the metrics, from the application's status.
func (*applications) Standing(object client.Object) lifecycle.Standing {
	s := &object.(*v1beta2.SparkApplication).Status
	standing := lifecycle.Standing{State: string(s.AppState.State), Waits: waitReason(s.Conditions, s.AppState.State == v1beta2.ApplicationStateNew)}
	addProgress(&standing, s.Operator)

	if e := s.Executors; e != nil {
		standing.ExecutorsRunning, standing.ExecutorsCompleted, standing.ExecutorsFailed = e.Running, e.Completed, e.Failed
	}
	return standing
}

// Standing reads the state of a SparkConnect from its status. It leaves out the counts of ended executors,
// because the server replaces ended executors.
func (*connects) Standing(object client.Object) lifecycle.Standing {
	s := &object.(*v1alpha1.SparkConnect).Status

	standing := lifecycle.Standing{
		State: string(s.State), Waits: waitReason(s.Conditions, s.State == v1alpha1.SparkConnectStateNew), ExecutorsRunning: int32(s.Executors["running"]),
	}
	if s.Operator != nil {
		addProgress(&standing, &s.Operator.OperatorStatus)
	}
	return standing
}

// addProgress copies the phase, the attempt and the start of the phase into a Standing. It reads them from the
// operator's own part of a status.
func addProgress(standing *lifecycle.Standing, o *statusv1.OperatorStatus) {
	if o == nil {
		return
	}

	standing.Phase, standing.Attempt = lifecycle.Phase(o.Phase), o.Attempt
	if o.Since != nil {
		standing.Since = o.Since.Time
	}
}

// waitReason returns why an object has not reached its wanted state, from the object's conditions. It returns "" if the
// object has reached that state, is suspended, or does not progress any more. The argument fresh is true for an object
// in the state New. Such an object has the reason New until it has conditions.
func waitReason(conditions []metav1.Condition, fresh bool) string {
	if degraded := meta.FindStatusCondition(conditions, dialect.ConditionDegraded); degraded != nil {
		return degraded.Reason
	}

	ready := meta.FindStatusCondition(conditions, dialect.ConditionReady)
	switch {
	case ready == nil && fresh:
		return "New"
	case ready == nil || ready.Status == metav1.ConditionTrue:
		return ""
	case dialect.Stands(conditions), meta.IsStatusConditionTrue(conditions, dialect.ConditionSuspended):
		return ""
	}
	return ready.Reason
}
