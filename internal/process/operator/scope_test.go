package operator_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestNamespacesByLabel checks that a namespace is served while it has the selected labels or a configured name, and
// that a change of the labels takes effect at any time.
func TestNamespacesByLabel(t *testing.T) {
	t.Parallel()
	inside, outside, listed := world.New(t), world.New(t), world.New(t)
	key := "scope-" + inside.Namespace // other tests share the API server
	inside.Relabel(key, "yes")
	outside.Relabel(key, "no")

	cfg := world.Config(listed.Namespace)
	cfg.Namespaces.Selector = key + "=yes"

	early := inside.Application("early", scene.WithDriver)
	not := outside.Get(outside.Application("not", scene.WithDriver).Name)

	op, err := operator.NewOperator(t.Context(), cfg, inside.Environment())
	if err != nil {
		t.Fatal(err)
	}

	inside.Run(op)
	inside.DriverOf(early, 1)

	named := listed.Application("named", scene.WithDriver)
	listed.DriverOf(named, 1)
	outside.Untouched(not, 0)

	// A namespace that becomes served is picked up, with all waiting applications in it.
	outside.Relabel(key, "yes")
	driver := outside.DriverOf(not, 1)
	outside.Kubelet(driver.Name, corev1.PodRunning, world.Running())
	running := outside.WaitState("not", v1beta2.ApplicationStateRunning)

	// A namespace that is no longer served stays as it is, whatever happens in it.
	outside.Relabel(key, "no")
	kit.Wait(t, "the operator to receive the label", func(ctx context.Context) error {
		s, err := operator.NewScope(cfg.Namespaces, op.GetClient())
		if err != nil {
			return err
		}

		served, err := s.Serves(ctx, outside.Namespace)
		return world.Want(fmt.Sprint(served, err), "false <nil>")
	})

	running = outside.Get(running.Name)
	outside.Kubelet(driver.Name, corev1.PodSucceeded, scene.Exited(0, ""))
	listed.Execute(listed.DriverOf(named, 1), scene.Exited(0, "")) // the later events are handled
	listed.WaitState("named", v1beta2.ApplicationStateCompleted)
	outside.Untouched(running, 1)

	// It is continued from its current state when it is served again.
	outside.Relabel(key, "yes")
	outside.WaitState("not", v1beta2.ApplicationStateCompleted)
}

// TestNewNamespaceIsServed checks that a namespace that is created with the selected labels is served. This holds
// whether the cache receives the namespace or its custom resources first.
func TestNewNamespaceIsServed(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	key := "scope-" + w.Namespace
	cfg := world.Config()
	cfg.Namespaces.Selector = key

	op, err := operator.NewOperator(t.Context(), cfg, w.Environment())
	if err != nil {
		t.Fatal(err)
	}

	w.Run(op)

	later := world.New(t)
	later.Relabel(key, "yes")
	later.DriverOf(later.Application("pi", scene.WithDriver), 1)
}

func TestScope(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Relabel("team", "a")

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
		s, err := operator.NewScope(c.namespaces, w.API)
		if err != nil {
			t.Fatal(err)
		}

		if served, err := s.Serves(t.Context(), w.Namespace); err != nil || served != c.served {
			t.Errorf("%+v: served %v, %v", c.namespaces, served, err)
		}
	}

	s, err := operator.NewScope(config.Namespaces{Selector: "team"}, w.API)
	if err != nil {
		t.Fatal(err)
	}

	if served, err := s.Serves(t.Context(), "there-is-none"); served || err != nil {
		t.Errorf("a namespace that the cache lacks: %v, %v", served, err)
	}

	if _, err := operator.NewScope(config.Namespaces{Selector: "a==b==c"}, w.API); err == nil {
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
	w := world.New(t)
	w.Application("one")
	w.Application("two")
	got := operator.InNamespace(w.API, w.API.Scheme(), v1beta2.SchemeGroupVersion.WithKind("SparkApplication"))(t.Context(),
		&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})

	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: w.Namespace, Name: "one"}}, {NamespacedName: types.NamespacedName{Namespace: w.Namespace, Name: "two"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
