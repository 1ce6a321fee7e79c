package kueue

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/kueue"
	"github.com/sparkoperator/spark-operator/test/kit"
)

//go:embed definitions.yaml
var definitions []byte

// Definitions returns Kueue's CustomResourceDefinitions.
func Definitions() (all []*unstructured.Unstructured, _ error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(definitions), len(definitions))
	for {
		definition := &unstructured.Unstructured{}
		if err := decoder.Decode(&definition.Object); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}

		if len(definition.Object) > 0 {
			all = append(all, definition)
		}
	}
}

// Install installs Kueue's definitions on the API server of the tests, and waits until they are served.
func Install(t testing.TB) {
	t.Helper()
	install(t, kit.Client(t, kueue.AddToScheme))
}

func install(t testing.TB, api client.Client) {
	t.Helper()

	all, err := Definitions()
	if err != nil {
		t.Fatal(err)
	}

	for _, definition := range all {
		if err := api.Create(t.Context(), definition); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("install %s: %v", definition.GetName(), err)
		}
	}

	kit.Wait(t, "Kueue's definitions to be served", func(ctx context.Context) error {
		return errors.Join(api.List(ctx, &kueue.WorkloadList{}), client.IgnoreNotFound(api.Get(ctx, client.ObjectKey{Name: "x"}, &kueue.ResourceFlavor{})),
			client.IgnoreNotFound(api.Get(ctx, client.ObjectKey{Name: "x"}, &kueue.WorkloadPriorityClass{})))
	})
}

// Queues plays Kueue for the Workloads of a namespace.
type Queues struct {
	*Scheduler
	T         testing.TB
	API       client.Client
	Namespace string
}

// New returns Kueue for a namespace: one ClusterQueue with one flavor, whose quota is given, and the LocalQueue
// "research" for it. The flavor's name is the namespace's, because flavors belong to no namespace. Its nodes have the
// label flavor, whose value is the namespace.
func New(t testing.TB, namespace string, quota ...string) *Queues {
	t.Helper()
	return On(t, kit.Client(t, kueue.AddToScheme), namespace, quota...)
}

// On does what New does, on the API server of a client that knows Kueue's kinds.
func On(t testing.TB, api client.Client, namespace string, quota ...string) *Queues {
	t.Helper()
	install(t, api)

	q := &Queues{T: t, API: api, Namespace: namespace, Scheduler: &Scheduler{
		ClusterQueues: map[string]*ClusterQueue{"shared": {Flavors: []string{namespace}, Preempts: true}},
		LocalQueues:   map[string]string{namespace + "/research": "shared"}, Backoff: time.Minute,
	}}
	q.ClusterQueues["shared"].Quota = map[string]corev1.ResourceList{namespace: Quantities(quota...)}

	flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{"flavor": namespace}}}
	if err := q.API.Create(t.Context(), flavor); err != nil {
		t.Fatal(err)
	}
	return q
}

// Workload returns a Workload of the namespace, or nil if it does not exist.
func (q *Queues) Workload(name string) *kueue.Workload {
	q.T.Helper()

	w := &kueue.Workload{}
	switch err := q.API.Get(q.T.Context(), client.ObjectKey{Namespace: q.Namespace, Name: name}, w); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		q.T.Fatal(err)
	}
	return w
}

// Cycle runs the scheduler once over the Workloads of the namespace.
func (q *Queues) Cycle(ctx context.Context) error {
	return q.change(ctx, func(all []*kueue.Workload, now time.Time) { q.Scheduler.Cycle(all, now) })
}

// Change changes a Workload as Kueue or its administrator does, and retries after a conflict.
func (q *Queues) Change(name string, change func(*kueue.Workload)) {
	q.T.Helper()
	kit.Wait(q.T, "a change of Workload "+name, func(ctx context.Context) error {
		return q.change(ctx, func(all []*kueue.Workload, _ time.Time) {
			for _, w := range all {
				if w.Name == name {
					change(w)
				}
			}
		})
	})
}

// EvictNow evicts a Workload.
func (q *Queues) EvictNow(name, reason string) {
	q.T.Helper()
	q.Change(name, func(w *kueue.Workload) { q.Evict(w, reason, "by the test", time.Now()) })
}

func (q *Queues) change(ctx context.Context, decide func(all []*kueue.Workload, now time.Time)) error {
	var list kueue.WorkloadList
	if err := q.API.List(ctx, &list, client.InNamespace(q.Namespace)); err != nil {
		return err
	}

	var before, after []*kueue.Workload
	for i := range list.Items {
		before, after = append(before, list.Items[i].DeepCopy()), append(after, &list.Items[i])
	}

	decide(after, time.Now().Truncate(time.Second))

	for i, w := range after {
		wanted := w.DeepCopy()
		if err := patch(ctx, q.API, before[i], w, false); err != nil {
			return err
		}

		w.Status = wanted.Status
		if err := patch(ctx, q.API, before[i], w, true); err != nil {
			return err
		}
	}
	return nil
}

// patch sends what differs in the status, or elsewhere, if anything does.
func patch(ctx context.Context, api client.Client, before, after *kueue.Workload, status bool) error {
	base := before.DeepCopy()
	base.ResourceVersion = after.ResourceVersion

	wanted := after.DeepCopy()
	if status {
		base.Spec, base.ObjectMeta = wanted.Spec, wanted.ObjectMeta
	} else {
		base.Status = wanted.Status
	}

	diff := client.MergeFrom(base)
	if data, err := diff.Data(wanted); err != nil || string(data) == "{}" {
		return err
	}

	diff = client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})

	var err error
	if status {
		err = api.Status().Patch(ctx, wanted, diff)
	} else {
		err = api.Patch(ctx, wanted, diff)
	}

	after.ObjectMeta = wanted.ObjectMeta
	return client.IgnoreNotFound(err)
}

// Run runs the scheduler until the context ends, in short intervals.
func (q *Queues) Run(ctx context.Context, interval time.Duration) {
	for {
		if err := q.Cycle(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
			q.T.Logf("the queue: %v", err)
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}
