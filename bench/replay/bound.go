package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// end is where a file ends by now.
func end(file string) (int64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// countBound counts the pods that were created and bound in namespaces, in a log from about an offset on.
func countBound(file string, from int64, namespaces map[string]bool) (created, bound int, err error) {
	log, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer log.Close()
	if _, err := log.Seek(max(0, from-1), io.SeekStart); err != nil {
		return 0, 0, err
	}
	lines := bufio.NewReader(log)
	if from > 0 { // the rest of the line in which the offset may be
		if _, err := lines.ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
	}
	err = audit.Read(lines, func(e *audit.Event) error {
		if e.Write() && e.OK() && namespaces[e.Object.Namespace] {
			switch e.Kind() {
			case "create pods":
				created++
			case "create pods/binding":
				bound++
			}
		}
		return nil
	})
	return created, bound, err
}
