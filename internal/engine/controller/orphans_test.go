package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/engine/explain"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// In the tests of Sweep the application exists, so that Kubernetes' garbage collector does nothing. The operator only
// assumes that it is deleted.

// sweeper returns a reconciler with caches of SparkApplications, pods and the other kinds of dependents.
func sweeper(w *scene.World, wrap ...func(client.Client) client.Client) *Reconciler {
	w.T.Helper()
	rc, scheme := kit.Rest(w.T), w.API.Scheme()

	caches, err := cache.New(rc,
		cache.Options{Scheme: scheme, DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}})
	if err != nil {
		w.T.Fatal(err)
	}

	watched := []client.Object{&corev1.Pod{}}
	for _, kind := range dependents.Kinds {
		watched = append(watched, identity.MetadataOnly(kind))
	}

	for _, object := range watched {
		if err := caches.IndexField(w.T.Context(), object, identity.CacheIndex, identity.IndexKeys); err != nil {
			w.T.Fatal(err)
		}
	}

	if _, err := caches.GetInformer(w.T.Context(), &v1beta2.SparkApplication{},
		cache.BlockUntilSynced(false)); err != nil {
		w.T.Fatal(err)
	}
	go func() { _ = caches.Start(w.T.Context()) }()

	if !caches.WaitForCacheSync(w.T.Context()) {
		w.T.Fatal("the caches are not full")
	}

	cached, err := client.New(rc, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: caches}})
	if err != nil {
		w.T.Fatal(err)
	}

	cached = client.WithFieldOwner(cached, identity.FieldOwner)
	for _, over := range wrap {
		cached = over(cached)
	}

	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	return &Reconciler{
		kind: tiny.Kind(), clock: time.Now, scope: scene.Everywhere{}, explains: explain.New(w.API, cached, nil),
		dependents: dependents.Client{Client: cached, Live: w.API}, term: term{limit: time.Minute},
		reports: reports{traces: noTraces, metrics: metrics, events: telemetry.NewRecorder(w.API, w.API, w.Logger(), metrics)},
	}
}

// waitCached waits until a reconciler's caches contain n objects that have the labels of the custom resource with this
// UID.
func waitCached(w *scene.World, r *Reconciler, uid types.UID, n int) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("%d objects in the caches", n), func(ctx context.Context) error {
		options := []client.ListOption{client.InNamespace(w.Namespace),
			client.MatchingFields{identity.CacheIndex: string(uid)}}
		var pods corev1.PodList
		maps := metav1.PartialObjectMetadataList{}
		maps.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))

		if err := r.dependents.Client.List(ctx, &pods, options...); err != nil {
			return err
		}

		if err := r.dependents.Client.List(ctx, &maps, options...); err != nil {
			return err
		}
		return want(len(pods.Items)+len(maps.Items), n)
	})
}

// configMap creates a ConfigMap that has the labels of an application's dependents and the given owners.
func configMap(w *scene.World, app *v1beta2.SparkApplication, name string,
	owners ...metav1.OwnerReference) *corev1.ConfigMap {
	w.T.Helper()

	meta := tiny.Meta(app, name, 1)
	meta.OwnerReferences = owners
	object := &corev1.ConfigMap{ObjectMeta: meta}
	w.Create(object)
	return object
}

func appRef(app *v1beta2.SparkApplication) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: v1beta2.GroupVersion.String(), Kind: "SparkApplication", Name: app.Name,
		UID: app.UID}
}

// TestSweepDeletesOrphans checks that a sweep deletes the objects whose owners were all deleted, and no others.
func TestSweepDeletesOrphans(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	r := sweeper(w)
	app, other := w.Application("pi"), w.Application("other")
	driver := tiny.Driver(app, 1)
	w.Create(driver)
	byDriver := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID,
		Controller: new(true)}
	executor := func(name string, owners ...metav1.OwnerReference) {
		pod := tiny.Driver(app, 1)
		pod.Name, pod.Labels[identity.RoleLabel], pod.OwnerReferences = name, identity.RoleExecutor, owners
		w.Create(pod)
	}
	executor("exec-1", byDriver)
	executor("exec-2", byDriver, appRef(app))
	executor("exec-of-others", appRef(other))

	shared := tiny.Driver(app, 2)
	shared.Name, shared.OwnerReferences = "driver-of-two", append(shared.OwnerReferences, appRef(other))
	w.Create(shared)
	executor("exec-of-two", metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: shared.Name, UID: shared.UID,
		Controller: new(true)})
	configMap(w, app, "conf", appRef(app))
	configMap(w, app, "of-two", appRef(app), appRef(other))
	configMap(w, app, "of-nobody")
	configMap(w, app, "of-other", appRef(other))
	w.Create(tiny.Driver(other, 1))
	waitCached(w, r, app.UID, 10)

	r.deleted.Note(app)
	// Once the driver no longer exists, the garbage collector removes it from the owners of exec-2. If that happens
	// before the sweep deletes exec-2, another sweep is necessary.
	kit.Wait(t, "a sweep that leaves nothing to do", func(ctx context.Context) error {
		again, err := r.dependents.Sweep(ctx, &r.deleted, identity.Key(app))
		return errors.Join(err, want(again, false))
	})

	left := []string{"map pi-of-nobody", "map pi-of-other", "map pi-of-two", "pod driver-of-two", "pod exec-of-others",
		"pod exec-of-two", "pod other-driver"}
	if diff := cmp.Diff(left, w.Stays()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}

	if uids, known := r.deleted.Get(identity.Key(app)); known {
		t.Errorf("it is still remembered: %v", uids)
	}
}

// racing is a client that calls a function once, before its first deletion of an object.
type racing struct {
	client.Client
	before func(client.Object)
	pods   bool // also before the deletion of a pod
	once   sync.Once
}

func (c *racing) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if _, isPod := object.(*corev1.Pod); !isPod || c.pods {
		c.once.Do(func() { c.before(object) })
	}
	return c.Client.Delete(ctx, object, options...)
}

// TestSweepKeepsReleasedObjects checks that a sweep keeps an object that lost its owner after the sweep had read it.
// Objects lose their owner if an application is deleted with --cascade=orphan. An object that changed in any other way
// is deleted by the next sweep.
func TestSweepKeepsReleasedObjects(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name  string
		patch string
		left  []string
	}{
		{"removed owner", `{"metadata":{"ownerReferences":null}}`, []string{"map pi-conf"}},
		{"changed", `{"data":{"a":"b"}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := scene.New(t)
			race := &racing{before: func(object client.Object) {
				changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(),
					Name: object.GetName()}}
				if err := w.API.Patch(context.Background(), changed,
					client.RawPatch(types.MergePatchType, []byte(c.patch))); err != nil {
					t.Error(err)
				}
			}}
			r := sweeper(w, func(c client.Client) client.Client { race.Client = c; return race })
			app := w.Application("pi")
			w.Create(tiny.Driver(app, 1))
			configMap(w, app, "conf", appRef(app))
			waitCached(w, r, app.UID, 2)
			r.deleted.Note(app)

			if again, err := r.dependents.Sweep(t.Context(), &r.deleted, identity.Key(app)); err != nil || !again {
				t.Errorf("sweep = %v, %v, want another look", again, err)
			}

			if diff := cmp.Diff([]string{"map pi-conf"}, w.Stays()); diff != "" {
				t.Errorf("what is left at first (-want +got):\n%s", diff)
			}

			kit.Wait(t, "no further pass to be needed", func(ctx context.Context) error {
				again, err := r.dependents.Sweep(ctx, &r.deleted, identity.Key(app))
				if err != nil {
					return err
				}
				return want(again, false)
			})

			if diff := cmp.Diff(c.left, w.Stays()); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSweepOfAChangedExecutor checks an executor that changes after the sweep has read it. The executor's only owner is
// its driver. The sweep must delete the executor if it still has this owner, and keep it otherwise.
func TestSweepOfAChangedExecutor(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name  string
		patch string
		left  []string
	}{
		{"changed annotation", `{"metadata":{"annotations":{"a":"b"}}}`, []string{"pod pi-driver"}},
		{"removed owner", `{"metadata":{"ownerReferences":null}}`, []string{"pod exec-1", "pod pi-driver"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := scene.New(t)
			race := &racing{pods: true, before: func(client.Object) {
				changed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "exec-1"}}
				if err := w.API.Patch(context.Background(), changed,
					client.RawPatch(types.MergePatchType, []byte(c.patch))); err != nil {
					t.Error(err)
				}
			}}
			r := sweeper(w, func(c client.Client) client.Client { race.Client = c; return race })
			app := w.Application("pi")
			driver := tiny.Driver(app, 1)
			// While the deleted driver exists, the garbage collector leaves the executor to the operator.
			driver.Finalizers = []string{"example.com/kept"}
			w.Create(driver)
			t.Cleanup(func() {
				release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
				if err := w.API.Patch(context.Background(), driver, release); err != nil {
					t.Error(err)
				}
			})

			executor := tiny.Driver(app, 1)
			executor.Name, executor.Labels[identity.RoleLabel] = "exec-1", identity.RoleExecutor
			executor.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name,
				UID: driver.UID, Controller: new(true)}}
			w.Create(executor)
			waitCached(w, r, app.UID, 2)
			r.deleted.Note(app)

			released := c.name == "removed owner"
			if again, err := r.dependents.Sweep(t.Context(), &r.deleted, identity.Key(app)); err != nil ||
				again != released {
				t.Errorf("sweep = %v, %v", again, err)
			}

			if diff := cmp.Diff(c.left, w.Stays()); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSweepKeepsObjectsOfANamesake checks that the sweep after a deletion keeps the objects of a new custom resource
// with the same name.
func TestSweepKeepsObjectsOfANamesake(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	r := sweeper(w)
	app := w.Application("pi")
	before := app.DeepCopy()
	before.UID = "before"

	w.Create(tiny.Driver(app, 1))
	waitCached(w, r, app.UID, 1)
	r.deleted.Note(before)

	if again, err := r.dependents.Sweep(t.Context(), &r.deleted, identity.Key(app)); err != nil || again {
		t.Errorf("sweep = %v, %v", again, err)
	}

	if diff := cmp.Diff([]string{"pod pi-driver"}, w.Stays()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// webhookless is a client for a cluster whose admission webhook does not answer: as long as its flag `fails` is true,
// every deletion fails.
type webhookless struct {
	client.Client
	fails atomic.Bool
}

func (c *webhookless) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if c.fails.Load() {
		return apierrors.NewInternalError(errors.New("failed calling webhook"))
	}
	return c.Client.Delete(ctx, object, options...)
}

// TestFailedSweepDoesNotStopThePass checks that an orphan that cannot be deleted does not stop the passes over another
// custom resource with the same name. The deletion is retried until it succeeds.
func TestFailedSweepDoesNotStopThePass(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	keeps := &webhookless{}
	r := sweeper(w, func(c client.Client) client.Client { keeps.Client = c; return keeps })
	other, app := w.Application("other"), w.Application("pi")
	// The note below makes this ConfigMap an orphan of a deleted application "pi". The garbage collector keeps it,
	// since its owner exists.
	configMap(w, other, "conf", appRef(other))
	waitCached(w, r, other.UID, 1)
	kit.Wait(t, "the application in the cache", func(ctx context.Context) error {
		return r.dependents.Client.Get(ctx, identity.Key(app), &v1beta2.SparkApplication{})
	})
	keeps.fails.Store(true)

	keys := []types.NamespacedName{identity.Key(app), {Namespace: w.Namespace, Name: "gone"}}
	for _, key := range keys {
		r.deleted.Update(key, func([]types.UID, bool) ([]types.UID, bool) { return []types.UID{other.UID}, true })
	}

	if result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keys[0]}); err != nil ||
		result.RequeueAfter == 0 || result.RequeueAfter > requeueSoon {
		t.Errorf("the pass over the other one ended with %v, %v", result, err)
	}

	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted {
		t.Errorf("its state is %q", state)
	}

	served := r.kind

	r.kind = unselected{served}
	if result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keys[0]}); err != nil ||
		result.RequeueAfter == 0 {
		t.Errorf("the pass over an application that this operator does not select ended with %v, %v", result, err)
	}

	r.kind = served
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: keys[1]}); err == nil {
		t.Error("without a namesake the failure is not reported")
	}

	if diff := cmp.Diff([]string{"map other-conf", "map pi-conf", "pod pi-driver"}, w.Stays()); diff != "" {
		t.Errorf("what is left at first (-want +got):\n%s", diff)
	}

	keeps.fails.Store(false)

	for _, key := range keys {
		if _, known := r.deleted.Get(key); !known {
			t.Errorf("what %s has left is forgotten", key)
		}

		kit.Wait(t, "the sweep", func(ctx context.Context) error {
			if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key}); err != nil {
				return err
			}

			_, known := r.deleted.Get(key)
			return want(known, false)
		})
	}

	if diff := cmp.Diff([]string{"map pi-conf", "pod pi-driver"}, w.Stays()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// TestDeletionsAreNoted checks which deleted custom resources are noted for a sweep of their orphans.
func TestDeletionsAreNoted(t *testing.T) {
	t.Parallel()

	named := func(uid types.UID, finalizers ...string) *v1beta2.SparkApplication {
		return &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: uid,
			Finalizers: finalizers}}
	}
	leads, standsBy := make(chan struct{}), make(chan struct{})
	close(leads)

	for _, c := range []struct {
		name string
		kind contract.Kind
		gone []*v1beta2.SparkApplication
		want []types.UID
	}{
		{"one application", tiny.Kind(), []*v1beta2.SparkApplication{named("a")}, []types.UID{"a"}},
		{"several applications", tiny.Kind(), []*v1beta2.SparkApplication{named("a"), named("b"), named("a")},
			[]types.UID{"a", "b"}},
		{"foreground deletion", tiny.Kind(), []*v1beta2.SparkApplication{named("a", metav1.FinalizerDeleteDependents)},
			[]types.UID{"a"}},
		{"orphaned dependents", tiny.Kind(),
			[]*v1beta2.SparkApplication{named("a", metav1.FinalizerOrphanDependents)}, nil},
		{"application of another operator", unselected{tiny.Kind()},
			[]*v1beta2.SparkApplication{named("a")}, nil},
		{"kind with runs", tiny.Schedules(),
			[]*v1beta2.SparkApplication{named("a")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			r := &Reconciler{kind: c.kind}
			for _, app := range c.gone {
				if !r.Deletions(leads).Delete(event.DeleteEvent{Object: app}) {
					t.Error("the deletion wakes nobody")
				}
			}

			got, _ := r.deleted.Get(types.NamespacedName{Namespace: "ns", Name: "pi"})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}

			reconciler := &Reconciler{kind: c.kind}
			for _, app := range c.gone {
				reconciler.Deletions(standsBy).Delete(event.DeleteEvent{Object: app})
				reconciler.Deletions(leads).Delete(event.DeleteEvent{Object: app, DeleteStateUnknown: true})
			}

			if got, known := reconciler.deleted.Get(types.NamespacedName{Namespace: "ns", Name: "pi"}); known {
				t.Errorf("one that stands by, or has seen no deletion, remembers %v", got)
			}
		})
	}
}

// unselected is a kind of which the operator selects no object.
type unselected struct{ contract.Kind }

func (unselected) Selects(client.Object) bool { return false }
