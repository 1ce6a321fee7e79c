package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// standingOf reads where a SparkApplication stands from its status.
func standingOf(app *v1beta2.SparkApplication) telemetry.Standing {
	s := &app.Status
	standing := telemetry.Standing{State: string(s.AppState.State), Waits: waitsFor(s)}
	if o := s.Operator; o != nil {
		standing.Phase, standing.Attempt = lifecycle.Phase(o.Phase), o.Attempt
		if o.Since != nil {
			standing.Since = o.Since.Time
		}
	}
	if e := s.Executors; e != nil {
		standing.ExecutorsRunning, standing.ExecutorsCompleted, standing.ExecutorsFailed = e.Running, e.Completed, e.Failed
	}
	return standing
}

// waitsFor is the reason that the conditions give for not being what was asked for, where that is still to come.
func waitsFor(s *v1beta2.SparkApplicationStatus) string {
	if degraded := meta.FindStatusCondition(s.Conditions, sparkoperator.ConditionDegraded); degraded != nil {
		return degraded.Reason
	}
	ready := meta.FindStatusCondition(s.Conditions, sparkoperator.ConditionReady)
	switch {
	case ready == nil && s.AppState.State == v1beta2.ApplicationStateNew:
		return "New"
	case ready == nil || ready.Status == "True":
		return ""
	case meta.IsStatusConditionTrue(s.Conditions, sparkoperator.ConditionStalled), meta.IsStatusConditionTrue(s.Conditions, sparkoperator.ConditionSuspended):
		return ""
	}
	return ready.Reason
}

// executorLabelsOf are the labels that an application gives its executors.
func executorLabelsOf(app *v1beta2.SparkApplication) map[string]string {
	return app.Spec.Executor.Labels
}
