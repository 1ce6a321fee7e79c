package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// Send creates the applications, each at its moment, from a number of workers; what they cannot keep up with is sent late, never dropped. It returns with
// the first error, and how many were created.
func Send(ctx context.Context, client dynamic.Interface, s Spec, workers int) (sent int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	due := make(chan Application)
	var created atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for a := range due {
				if _, err := client.Resource(world.Applications).Namespace(a.Namespace).Create(ctx, a.Object, metav1.CreateOptions{}); err != nil {
					cancel(fmt.Errorf("create %s/%s: %w", a.Namespace, a.Name, err))
					continue
				}
				created.Add(1)
			}
		})
	}
	pace(ctx, s, due)
	close(due)
	running.Wait()
	return int(created.Load()), context.Cause(ctx)
}

// pace hands on each application when it is due, until the context ends.
func pace(ctx context.Context, s Spec, due chan<- Application) {
	start := time.Now()
	for a := range s.Applications() {
		if wait := a.At - time.Since(start); wait > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		select {
		case <-ctx.Done():
			return
		case due <- a:
		}
	}
}
