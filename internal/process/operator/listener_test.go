package operator_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// eventRecorder is a handler that records its events.
type eventRecorder struct {
	mu     sync.Mutex
	events []string
}

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (h *eventRecorder) note(what string, object client.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()

	h.events = append(h.events, what+" "+object.GetName())
}

func (h *eventRecorder) handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ requestQueue) { h.note("came", e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ requestQueue) { h.note("changed", e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ requestQueue) { h.note("went", e.Object) },
	}
}

// all returns the recorded events, sorted, since events of different objects may arrive in any order.
func (h *eventRecorder) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.events))
}

// wait waits until at least n events are recorded, and returns all recorded events.
func (h *eventRecorder) wait(t *testing.T, n int) []string {
	t.Helper()

	for end := time.Now().Add(20 * time.Second); len(h.all()) < n && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	return h.all()
}

// TestListener checks that a controller that starts after the operator receives the same events as a controller that
// starts with the operator.
func TestListener(t *testing.T) {
	w := world.New(t)
	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}

	children, err := cache.New(kit.Rest(t), cache.Options{DefaultNamespaces: map[string]cache.Config{w.Namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(func() { end(); running.Wait() })
	running.Go(func() { _ = children.Start(ctx) })

	old := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "old"}}
	must(w.API.Create(ctx, old))

	l := handlers.NewListener(identity.MetadataOnly(corev1.SchemeGroupVersion.WithKind("Secret")), children)
	var first, second, late eventRecorder
	noChanges := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	sources := []*handlers.Source{l.Source(true, first.handler()), l.Source(true, second.handler(), noChanges)}

	must(sources[0].Start(ctx, nil))
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()

	if err := sources[0].WaitForSync(short); err == nil {
		t.Error("a source did not wait for the other source of the same listener, which has not started")
	}

	must(sources[1].Start(ctx, nil))

	for _, e := range sources {
		must(e.WaitForSync(ctx))
	}

	later := l.Source(false, late.handler())
	must(later.Start(ctx, nil))
	must(later.WaitForSync(ctx))

	old.Labels = map[string]string{"a": "b"}
	must(w.API.Update(ctx, old))
	must(w.API.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "new"}}))
	must(w.API.Delete(ctx, old))

	all := []string{"came new", "came old", "changed old", "went old"}
	for name, h := range map[string]*eventRecorder{"the controller that starts first": &first, "the controller that starts late": &late} {
		if diff := cmp.Diff(all, h.wait(t, len(all))); diff != "" {
			t.Errorf("%s received (-want +got):\n%s", name, diff)
		}
	}

	some := []string{"came new", "came old", "went old"}
	if diff := cmp.Diff(some, second.wait(t, len(some))); diff != "" {
		t.Errorf("the controller that ignores updates received (-want +got):\n%s", diff)
	}
}
