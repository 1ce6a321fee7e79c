package operator

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// relabel sets a label of the test's namespace. An empty value removes the label.
func (w *world) relabel(key, value string) {
	w.T.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}

	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	if value == "" {
		patch = fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key)
	}

	if err := w.API.Patch(w.T.Context(), namespace, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.T.Fatal(err)
	}
}

// untouched fails the test unless the application is unchanged and its namespace has the given number of pods. If this
// number is 0, the application may have no Events either.
func (w *world) untouched(before *v1beta2.SparkApplication, pods int) {
	w.T.Helper()

	now := w.Get(before.Name)
	if diff := cmp.Diff(before, now); diff != "" {
		w.T.Errorf("%s was written (-before +now):\n%s", before.Name, diff)
	}

	var list corev1.PodList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Namespace)); err != nil || len(list.Items) != pods {
		w.T.Errorf("%d pods in its namespace, want %d; %v", len(list.Items), pods, err)
	}

	if pods == 0 && len(w.EventsOf(before)) > 0 {
		w.T.Errorf("events about it: %v", w.EventsOf(before))
	}
}

// TestNamespacesByLabel checks that a namespace is served while it has the selected labels or a configured name, and
// that a change of the labels takes effect at any time.
func TestNamespacesByLabel(t *testing.T) {
	t.Parallel()
	inside, outside, listed := newWorld(t), newWorld(t), newWorld(t)
	key := "scope-" + inside.Namespace // other tests share the API server
	inside.relabel(key, "yes")
	outside.relabel(key, "no")

	cfg := testConfig(listed.Namespace)
	cfg.Namespaces.Selector = key + "=yes"

	early := inside.Application("early", scene.WithDriver)
	not := outside.Get(outside.Application("not", scene.WithDriver).Name)

	op, err := NewOperator(t.Context(), cfg, inside.environment())
	if err != nil {
		t.Fatal(err)
	}

	inside.run(op)
	inside.driverOf(early, 1)

	named := listed.Application("named", scene.WithDriver)
	listed.driverOf(named, 1)
	outside.untouched(not, 0)

	// A namespace that becomes served is picked up, with all waiting applications in it.
	outside.relabel(key, "yes")
	driver := outside.driverOf(not, 1)
	outside.kubelet(driver.Name, corev1.PodRunning, running())
	running := outside.waitState("not", v1beta2.ApplicationStateRunning)

	// A namespace that is no longer served stays as it is, whatever happens in it.
	outside.relabel(key, "no")
	kit.Wait(t, "the operator to receive the label", func(ctx context.Context) error {
		s, err := newScope(cfg.Namespaces, op.GetClient())
		if err != nil {
			return err
		}

		served, err := s.Serves(ctx, outside.Namespace)
		return want(fmt.Sprint(served, err), "false <nil>")
	})

	running = outside.Get(running.Name)
	outside.kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	listed.execute(listed.driverOf(named, 1), scene.Exited(0, "")) // the later events are handled
	listed.waitState("named", v1beta2.ApplicationStateCompleted)
	outside.untouched(running, 1)

	// It is continued from its current state when it is served again.
	outside.relabel(key, "yes")
	outside.waitState("not", v1beta2.ApplicationStateCompleted)
}

// TestNewNamespaceIsServed checks that a namespace that is created with the selected labels is served. This holds
// whether the cache receives the namespace or its custom resources first.
func TestNewNamespaceIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := "scope-" + w.Namespace
	cfg := testConfig()
	cfg.Namespaces.Selector = key

	op, err := NewOperator(t.Context(), cfg, w.environment())
	if err != nil {
		t.Fatal(err)
	}

	w.run(op)

	later := newWorld(t)
	later.relabel(key, "yes")
	later.driverOf(later.Application("pi", scene.WithDriver), 1)
}

func TestScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.relabel("team", "a")

	for _, c := range []struct {
		namespaces config.Namespaces
		served     bool
	}{
		{config.Namespaces{}, true},
		{config.Namespaces{Names: []string{w.Namespace}}, true},
		{config.Namespaces{Names: []string{"another"}, Selector: "team=a"}, true},
		{config.Namespaces{Names: []string{w.Namespace}, Selector: "team=b"}, true},
		{config.Namespaces{Names: []string{"another"}, Selector: "team=b"}, false},
		{config.Namespaces{Selector: "team in (a, b), !closed"}, true},
		{config.Namespaces{Selector: "kubernetes.io/metadata.name=" + w.Namespace}, true},
		{config.Namespaces{Selector: "!team"}, false},
	} {
		s, err := newScope(c.namespaces, w.API)
		if err != nil {
			t.Fatal(err)
		}

		if served, err := s.Serves(t.Context(), w.Namespace); err != nil || served != c.served {
			t.Errorf("%+v: served %v, %v", c.namespaces, served, err)
		}
	}

	s, err := newScope(config.Namespaces{Selector: "team"}, w.API)
	if err != nil {
		t.Fatal(err)
	}

	if served, err := s.Serves(t.Context(), "there-is-none"); served || err != nil {
		t.Errorf("a namespace that the cache lacks: %v, %v", served, err)
	}

	if _, err := newScope(config.Namespaces{Selector: "a==b==c"}, w.API); err == nil {
		t.Error("an invalid selector was accepted")
	}
}

func TestRelabelled(t *testing.T) {
	namespace := func(labels map[string]string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}}
	}

	p := handlers.Relabelled()
	if !p.Create(event.CreateEvent{Object: namespace(nil)}) || p.Delete(event.DeleteEvent{Object: namespace(nil)}) {
		t.Error("the predicate must admit the creation of a namespace and drop its deletion")
	}

	if p.Update(event.UpdateEvent{ObjectOld: namespace(map[string]string{"a": "1"}), ObjectNew: namespace(map[string]string{"a": "1"})}) ||
		!p.Update(event.UpdateEvent{ObjectOld: namespace(map[string]string{"a": "1"}), ObjectNew: namespace(nil)}) {
		t.Error("the predicate must admit only updates that change the labels")
	}
}

// TestInNamespace checks that inNamespace returns the keys of all existing custom resources in a namespace.
func TestInNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Application("one")
	w.Application("two")
	got := inNamespace(w.API, w.API.Scheme(), v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))(t.Context(),
		&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})

	want := []reconcile.Request{{NamespacedName: namespaced(w.Namespace, "one")}, {NamespacedName: namespaced(w.Namespace, "two")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
