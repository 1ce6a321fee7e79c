package operator

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/process/podlogs"
	"github.com/sparkoperator/spark-operator/internal/record/keep"
)

// recordsOf adds a recorder of finished runs to the manager, and returns it. It returns nil if no logs are kept.
func recordsOf(logs *podlogs.Logs, mgr manager.Manager, events *telemetry.Recorder, metrics *telemetry.Metrics) (*keep.Recorder, error) {
	if logs == nil {
		return nil, nil
	}

	recorder := keep.New(keep.Options{
		Place: logs.Place, Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Clock: time.Now, Written: metrics.RecordKept, Log: mgr.GetLogger().WithName("records"),
		Failed: func(object client.Object, message string) {
			about := corev1.ObjectReference{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}
			if gvk, err := apiutil.GVKForObject(object, mgr.GetScheme()); err == nil {
				about.APIVersion, about.Kind = gvk.ToAPIVersionAndKind()
			}

			events.Event("", about, time.Now(), corev1.EventTypeWarning, keep.EventNotKept, message)
		},
	})
	return recorder, mgr.Add(recorder)
}
