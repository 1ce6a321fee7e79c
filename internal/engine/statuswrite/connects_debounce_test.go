package statuswrite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestFailedExecutorsOfAServerAreStoredTogether checks a server whose executors crash one after the other. Spark
// deletes each crashed pod at once. The crashes cause about one status write every two seconds. Events report the first
// crash and some of the others, although these pods no longer exist. In the end the status counts only executors that
// exist.
func TestFailedExecutorsOfAServerAreStoredTogether(t *testing.T) {
	t.Parallel()
	const many = 40 // within a few seconds
	w, clock := world.New(t), &world.Later{}
	resources.RunServers(w, world.Config(w.Namespace), clock.Now)
	sc := resources.Server(w, "x")
	pod := resources.ReadyServer(w, sc, 1)
	before, began := w.Metric("sparkoperator_status_writes_total"), time.Now()
	writes := func() (made, most float64) {
		return w.Metric("sparkoperator_status_writes_total") - before,
			2 + time.Since(began).Seconds()/world.Quiet.Seconds()
	}

	var kept *corev1.Pod
	for id := 2; id < 2+many; id++ {
		executor := resources.ServerExecutor(w, pod, id)
		w.Create(executor)
		w.Kubelet(executor.Name, corev1.PodFailed, scene.Exited(1, fmt.Sprintf("crash %d", id)))

		if kept = executor; id < 1+many {
			w.Remove(executor)
		}
	}

	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady,
		resources.Holds("Ready", metav1.ConditionTrue, "Running"), func(sc *v1alpha1.SparkConnect) error {
			return errors.Join(world.Want(sc.Status.Executors["failed"], 1),
				world.Want(sc.Status.Executors["running"], 1))
		})
	kit.Wait(t, "the first failure and others to be reported", func(context.Context) error {
		reported := w.EventsOf(sc)["SparkExecutorFailed"] + "\n" // in any order
		if !strings.Contains(reported, "crash 2\n") || strings.Count(reported, "crash") <= 5 {
			return fmt.Errorf("reported are:\n%s", reported)
		}
		return nil
	})

	if made, most := writes(); made > most {
		t.Errorf("%v writes for %d executors that failed, want at most %v", made, many, most)
	}

	w.Remove(kept)
	resources.WaitServer(w, "x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(world.Want(len(sc.Status.Executors), 1),
			world.Want(sc.Status.Operator.Executors == nil, true))
	})

	if made, most := writes(); made > most {
		t.Errorf("%v writes until the status counts no failed executor, want at most %v", made, most)
	}
}
