package application

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// wanted returns what the application's spec requests, without validating it. Decide validates the spec when it is
// about to launch an attempt.
func (a *attempt) wanted() lifecycle.App {
	app, spec := a.app, &a.app.Spec

	out := lifecycle.App{
		UID:              string(app.UID),
		SpecHash:         a.hash(),
		RestartRequest:   lifecycle.RestartRequest(app.Annotations),
		Edited:           app.Generation > 1,
		Deleting:         app.DeletionTimestamp != nil,
		Orphan:           slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents),
		Suspend:          dialect.Suspended(spec.Suspend),
		Restart:          specification.Restart(&spec.RestartPolicy),
		Deadlines:        specification.Deadlines(spec.Timeouts, a.Limits),
		InitialExecutors: specification.InitialExecutors(spec),
		MinExecutors:     specification.MinExecutors(spec),
		Budget:           budgeted(spec),
		MissingGrace:     a.MissingGrace,
	}
	switch {
	case spec.TimeToLiveSeconds != nil:
		out.TTL = new(sparkoperator.Seconds(spec.TimeToLiveSeconds, 0))
	case a.DefaultTTL > 0:
		out.TTL = new(a.DefaultTTL)
	}
	return out
}
