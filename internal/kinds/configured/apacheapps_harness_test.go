package configured_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// history returns the states of a status, oldest first.
func history(all map[string]sparkv1.ApplicationState) (states []resources.ApacheState) {
	byNumber := func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	}
	for _, key := range slices.SortedFunc(maps.Keys(all), byNumber) {
		states = append(states, all[key].CurrentStateSummary)
	}
	return states
}

// apacheExecutor creates an executor of a driver, as Spark does.
func apacheExecutor(w *world.World, app client.Object, driver *corev1.Pod, id int) *corev1.Pod {
	w.T.Helper()
	pod := resources.ApacheExecutorPod(w, app, driver, id)
	w.Create(pod)
	return pod
}

// waitNothing waits until no pod, ConfigMap or Service of a custom resource exists, except the objects that the test
// wants to keep (the argument `kept`).
func waitNothing(w *world.World, owner client.Object, kept ...client.Object) {
	w.T.Helper()
	kit.Wait(w.T, "the deletion of all objects of "+owner.GetName(), func(ctx context.Context) error {
		lists := []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}}

		var errs []error
		for _, list := range lists {
			if err := w.API.List(ctx, list, client.InNamespace(w.Namespace),
				client.MatchingLabels{identity.AppUIDLabel: string(owner.GetUID())}); err != nil {
				return err
			}

			if n := world.MetaLen(list); n != 0 {
				errs = append(errs, fmt.Errorf("%d in %T", n, list))
			}
		}
		return errors.Join(errs...)
	})
}
