package dependents_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/engine/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestSecretOfAnEditedClusterStays checks that an edit that does not change secret values keeps the Secret that the
// pods mount.
func TestSecretOfAnEditedClusterStays(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), time.Now)
	sc := resources.CreateCluster(w, "c",
		func(sc *resources.SparkCluster) { sc.Spec.SparkConf["spark.authenticate.secret"] = "hush" })
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy)

	secret := func() *corev1.Secret {
		all := w.SecretsOf(sc)
		if len(all) != 1 {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(len(all), " of them")}}
		}
		return &all[0]
	}
	before := secret()

	resources.PatchCluster(w, "c",
		`{"spec":{"runtimeVersions":{"sparkVersion":"4.1.5"},"sparkConf":{"spark.kubernetes.container.image":null}}}`)
	kit.Wait(t, "all pods to match the edit", func(context.Context) error {
		pods := resources.Members(w, "c")
		for i := range pods {
			if pods[i].Spec.Containers[0].Image != "apache/spark:4.1.5" {
				return fmt.Errorf("%s runs %s", pods[i].Name, pods[i].Spec.Containers[0].Image)
			}
		}
		return world.Want(len(pods), 2)
	})
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy,
		resources.ClusterHolds("Progressing", metav1.ConditionFalse))
	// The operator writes this condition after it has deleted unused Secrets.
	if now := secret(); now.UID != before.UID {
		t.Errorf("Secret %s of %s is now %s of %s", before.Name, before.UID, now.Name, now.UID)
	}

	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.authenticate.secret":"hush-hush"}}}`)
	kit.Wait(t, "exactly one Secret, which is new", func(context.Context) error {
		now := secret()
		return world.Want(now.UID != before.UID && now.UID != "" && now.Name != before.Name, true)
	})
}

// TestSecretThatIsWantedAgain checks an edit that is reverted within a minute. The cluster then needs the Secret that
// the operator deleted after the edit. The operator creates this Secret again at once, since pods that mount it cannot
// start without it.
func TestSecretThatIsWantedAgain(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)

	began := time.Now()
	// This clock is slow, so that a minute on it is longer than the test waits. The operator does not wait for that
	// minute if it retries after a transient error.
	slow := func() time.Time { return began.Add(time.Since(began) / 4) }
	resources.RunClusters(w, world.Config(w.Namespace), slow)
	sc := resources.CreateCluster(w, "c",
		func(sc *resources.SparkCluster) { sc.Spec.SparkConf["spark.authenticate.secret"] = "hush" })
	alone := func(what string, not types.UID) (secret corev1.Secret) {
		kit.Wait(t, what, func(ctx context.Context) error {
			var list corev1.SecretList
			if err := w.API.List(ctx, &list, client.InNamespace(w.Namespace),
				client.MatchingLabels{identity.AppUIDLabel: string(sc.UID)}); err != nil {
				return err
			}

			if len(list.Items) != 1 || list.Items[0].UID == not {
				return fmt.Errorf("there are %d Secrets", len(list.Items))
			}

			secret = list.Items[0]
			return nil
		})
		return secret
	}

	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy)

	first := alone("a Secret", "")

	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.authenticate.secret":"hush-hush"}}}`)

	second := alone("exactly one Secret, which is new", first.UID)

	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.authenticate.secret":"hush"}}}`)

	if again := alone("the first Secret again, and no other", second.UID); again.Name != first.Name {
		t.Errorf("Secret %s, not %s", again.Name, first.Name)
	}
}

// TestSecretOfStraysStays checks that workers whose StatefulSet cannot be created again keep their Secret, even when
// all other pods use another Secret. The Secret is deleted when these workers are replaced.
func TestSecretOfStraysStays(t *testing.T) {
	t.Parallel()
	w, clock := world.New(t), &world.Later{}
	stop := resources.Kubelets(w)
	resources.RunClusters(w, world.Config(w.Namespace), clock.Now)
	sc := resources.CreateCluster(w, "c",
		func(sc *resources.SparkCluster) { sc.Spec.SparkConf["spark.authenticate.secret"] = "hush" })
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))

	secrets := func() []string { return resources.SecretNames(w, sc) }
	first := secrets()

	stop()

	master, set := resources.UIDOf(w, "c-master-0"), resources.Set(w, "c-worker")

	quota := refuseSets(w)
	if err := orphan(t.Context(), w, set); err != nil {
		t.Fatal(err)
	}

	resources.PatchCluster(w, "c", `{"spec":{"sparkConf":{"spark.authenticate.secret":"hush-hush"}}}`)
	kit.Wait(t, "a new master", func(context.Context) error {
		return world.Want(resources.UIDOf(w,
			"c-master-0") != master, true)
	})

	masters := func(n int32) func(*resources.SparkCluster) error {
		return func(sc *resources.SparkCluster) error {
			return world.Want(sc.Status.Masters != nil && sc.Status.Masters.Ready == n, true)
		}
	}
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, masters(0))
	w.Ready("c-master-0")
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, masters(1),
		resources.ClusterHolds("Degraded", metav1.ConditionTrue, "exceeded quota"))
	// The operator writes the ready master into the status after it has deleted unused Secrets.
	if now := secrets(); len(now) != 2 || !slices.Contains(now, first[0]) {
		t.Errorf("the workers' Secret is %s, and there are %v", first[0], now)
	}

	w.Remove(quota)
	resources.Kubelets(w)
	clock.Advance(auxiliary.MaxInterval)
	resources.PatchCluster(w, "c", `{"metadata":{"annotations":{"poked":"yes"}}}`)
	kit.Wait(t, "only the new Secret", func(context.Context) error {
		now := secrets()
		return world.Want(len(now) == 1 && now[0] != first[0], true)
	})
}
