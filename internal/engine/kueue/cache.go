package kueue

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/sparkoperator/spark-operator/internal/intake/thirdparty"
)

// Content describes the cache of Workloads. It holds no pod sets, because no decision reads them.
func Content() thirdparty.Content {
	return thirdparty.Content{
		Kind:  WorkloadKind,
		Empty: func() client.Object { return &Workload{} },
		Transform: func(object any) (any, error) {
			if w, ok := object.(*Workload); ok {
				w.Spec.PodSets, w.ManagedFields = nil, nil
			}
			return object, nil
		},
		Changed: predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*Workload), e.ObjectNew.(*Workload)
			return differs(before, after)
		}},
	}
}
