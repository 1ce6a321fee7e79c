package statuswrite_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/fence"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/resources"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestNextLeaderCatchesUp checks that a new leader does not revert an edit that the previous leader carried out,
// although the new leader's cache does not show the edit yet.
func TestNextLeaderCatchesUp(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	resources.Kubelets(w)
	cfg := world.Config(w.Namespace)
	election := &cfg.LeaderElection
	election.Enabled, election.Namespace, election.RetryPeriod.Duration = new(true), w.Namespace, 200*time.Millisecond
	cfg.Controller.Workers = 1 // so that the passes run one after the other
	stop := resources.RunClusters(w, cfg, time.Now)
	resources.CreateCluster(w, "c", resources.Workers(1, 1, 1))
	resources.CreateCluster(w, "d")
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))
	resources.WaitCluster(w, "d", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(1))

	hears := &world.LaggingWatch{Resource: "sparkclusters"}
	env := w.Environment()
	env.Rest.Wrap(hears.Over)

	next, err := operator.NewEmpty(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}

	next.Optional.Interval = 100 * time.Millisecond
	if err := operator.AddWhenServed(t.Context(), next, configured.For(kinds.SparkCluster).Build(next.Settings, nil),
		time.Now); err != nil {
		t.Fatal(err)
	}

	w.Run(next)
	kit.Wait(t, "the next leader's cache to contain both clusters", func(ctx context.Context) error {
		for _, name := range []string{"c", "d"} {
			if err := next.GetClient().Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name},
				&resources.SparkCluster{}); err != nil {
				return err
			}
		}
		return nil
	})

	end := hears.Begin()
	defer end()

	resources.PatchCluster(w, "c",
		`{"spec":{"clusterTolerations":{"instanceConfig":{"initWorkers":3,"minWorkers":3,"maxWorkers":3}}}}`)
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3))
	set, before := resources.Set(w, "c-worker"), resources.MemberUIDs(w, "c")
	kit.Wait(t, "the next leader's cache to contain the current StatefulSet", func(ctx context.Context) error {
		known := identity.MetadataOnly(dependents.StatefulSet)
		kinds, caches := next.Optional.Full()

		at := slices.Index(kinds, dependents.StatefulSet)
		if at < 0 {
			return errors.New("its cache of sets is not full yet")
		}

		if err := caches[at].Get(ctx, client.ObjectKeyFromObject(set), known); err != nil {
			return err
		}
		return world.Want(known.Generation, set.Generation)
	})
	stop()
	<-next.Elected()
	// The new leader has one worker and makes passes over both clusters in turn. When it has restored a deleted Service
	// of d twice, it has also made a pass over c.
	for _, service := range []string{"d-master-svc", "d-worker-svc"} {
		deleted := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: service}}
		w.Remove(deleted)
		kit.Wait(t, service+" to be put back",
			func(ctx context.Context) error { return w.API.Get(ctx, client.ObjectKeyFromObject(deleted), deleted) })
	}

	end()
	resources.WaitCluster(w, "c", sparkv1.ClusterRunningHealthy, resources.ReadyWorkers(3))

	if now := resources.Set(w, "c-worker"); now.Generation != set.Generation {
		t.Errorf("the set has %d pods: it is at generation %d, and was at %d", *now.Spec.Replicas, now.Generation,
			set.Generation)
	}

	if diff := cmp.Diff(before, resources.MemberUIDs(w, "c")); diff != "" {
		t.Errorf("pods were replaced:\n%s", diff)
	}
}

// lateCache is a client whose cache shows an old state of one application and no pods.
type lateCache struct {
	client.Client
	app *v1beta2.SparkApplication
}

func (l *lateCache) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	options ...client.GetOption) error {
	if app, ok := object.(*v1beta2.SparkApplication); ok {
		l.app.DeepCopyInto(app)
		return nil
	}
	return l.Client.Get(ctx, key, object, options...)
}

func (l *lateCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		return nil
	}
	return l.Client.List(ctx, list, options...)
}

// TestStaleEndDeletesNothingNew checks a new leader whose cache still shows that an application has ended, although the
// previous leader has restarted it. The new leader keeps the auxiliary objects of the new driver. If an application has
// really ended, the new leader deletes its auxiliary objects.
func TestStaleEndDeletesNothingNew(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	stop := w.RunReal()
	app := w.Application("pi", scene.WithDriver)
	w.RunningDriver(app, 1)
	w.Execute(w.DriverOf(app, 1), scene.Exited(0, ""))
	over := w.WaitState("pi", v1beta2.ApplicationStateCompleted)
	w.Patch("pi", `{"spec":{"arguments":["100"]}}`)
	w.RunningDriver(app, 2)
	service := w.UIService("pi", func(s *corev1.Service) error { return world.Want(identity.Attempt(s), 2) })

	stop()

	op, lead := w.RunIdle(), &fence.Leadership{}
	lead.Extend(time.Now().Add(time.Hour))

	next := &lateCache{op.GetClient(), over}
	r := w.Reconciler(op, func(o *controller.Options) { o.Lead, o.Client = lead, next })

	kit.Wait(t, "the caches to show the new run", func(ctx context.Context) error {
		known := identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("Service"))
		if err := next.Get(ctx, client.ObjectKeyFromObject(service), known); err != nil {
			return err
		}
		return world.Want(identity.Attempt(known), 2)
	})

	look := func() reconcile.Result {
		t.Helper()

		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: identity.Key(app)})
		if err != nil {
			t.Error(err)
		}
		return result
	}
	for pass := range 2 {
		if result := look(); result.RequeueAfter != time.Second {
			t.Errorf("pass %d requeues after %s", pass, result.RequeueAfter)
		}

		if now := w.UIService("pi"); now.UID != service.UID || now.DeletionTimestamp != nil {
			t.Fatalf("the new run's Service was deleted: %+v", now.ObjectMeta)
		}
	}

	over.ResourceVersion = w.Get("pi").ResourceVersion // as if it had not been restarted

	look()
	w.WaitGone(service)
}
