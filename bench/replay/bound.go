package replay

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// patience is how long a pod may take to be bound. One that takes longer is waited for in vain, as the scheduler has nowhere to put it.
const patience = time.Minute

// bindings tells when pods are bound to a node. A nil one says that they are.
type bindings struct {
	mu   sync.Mutex
	pods map[string]chan struct{} // by namespace/name; closed when it is bound
	over chan struct{}            // closed when nobody looks any more
}

func newBindings() *bindings {
	return &bindings{pods: map[string]chan struct{}{}, over: make(chan struct{})}
}

// watchBindings follows the pods that are bound from now on, until stop.
func watchBindings(ctx context.Context, w *world.World) (b *bindings, stop func(), err error) {
	pods := w.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	now, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, nil, err
	}
	events, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!=", ResourceVersion: now.ResourceVersion})
	if err != nil {
		return nil, nil, err
	}
	b = newBindings()
	var running sync.WaitGroup
	running.Go(func() {
		defer close(b.over)
		for e := range events.ResultChan() {
			if pod, err := meta.Accessor(e.Object); err == nil && e.Type == watch.Added {
				b.bound(pod.GetNamespace() + "/" + pod.GetName())
			}
		}
	})
	return b, func() { events.Stop(); running.Wait() }, nil
}

func (b *bindings) of(pod string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pods[pod] == nil {
		b.pods[pod] = make(chan struct{})
	}
	return b.pods[pod]
}

// bound notes that a pod is bound. Another of the same name, later, is not told from it.
func (b *bindings) bound(pod string) {
	done := b.of(pod)
	select {
	case <-done:
	default:
		close(done)
	}
}

// wait returns when a pod is bound.
func (b *bindings) wait(ctx context.Context, pod string) error {
	if b == nil || pod == "" {
		return nil
	}
	select {
	case <-b.of(pod):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.over:
		return fmt.Errorf("pod %s: the watch that tells of bindings ended", pod)
	case <-time.After(patience):
		return fmt.Errorf("pod %s was not bound within %s", pod, patience)
	}
}

// tally is how many pods were created, and how many bound.
type tally struct{ created, bound int }

// countBound counts the pods of a log.
func countBound(log io.Reader, of audit.Scope) (seen tally, err error) {
	err = audit.Read(log, func(e *audit.Event) error {
		if e.Write() && e.OK() && of.Has(e) {
			switch e.Kind() {
			case "create pods":
				seen.created++
			case "create pods/binding":
				seen.bound++
			}
		}
		return nil
	})
	return seen, err
}

// share is that of the pods which were bound.
func (t tally) share() float64 { return float64(t.bound) / float64(max(1, t.created)) }
