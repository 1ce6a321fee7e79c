package configured_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// waitNoServer waits until a SparkConnect has no pod and no ConfigMap.
func waitNoServer(w *world.World, sc *v1alpha1.SparkConnect) {
	w.T.Helper()
	kit.Wait(w.T, "the deletion of the server of "+sc.Name, func(ctx context.Context) error {
		for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.PodList{}} {
			if err := w.API.List(ctx, list, client.InNamespace(w.Namespace),
				client.MatchingLabels{identity.AppUIDLabel: string(sc.UID)}); err != nil {
				return err
			}

			if n := world.MetaLen(list); n != 0 {
				return fmt.Errorf("%d in %T", n, list)
			}
		}
		return nil
	})
}
