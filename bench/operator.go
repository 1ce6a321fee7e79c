package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// The operator's configuration file (internal/config).
const (
	configAPIVersion = "config.sparkoperator.dev/v1alpha1"
	configKind       = "Configuration"
)

// result is one way of carrying the same applications.
type result struct {
	took   time.Duration // until all applications are at their end
	tail   time.Duration // from there until the operator's last write, its events included
	idle   usage         // of the operator before the load
	loaded usage         // of the operator after the load
	writes writes
}

func (r result) rate(apps int) float64 { return float64(apps) / r.took.Seconds() }

// throughOperator creates the applications at once, plays their drivers, and waits until all are COMPLETED.
func (w *world) throughOperator(ctx context.Context) (r result, err error) {
	op, err := w.startOperator(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, op.stop()) }()
	if r.idle, err = op.read(); err != nil {
		return r, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopDrivers, err := w.playDrivers(ctx, cancel)
	if err != nil {
		return r, err
	}
	defer stopDrivers()
	finished, err := w.watchFinished(ctx)
	if err != nil {
		return r, err
	}
	start := time.Now()
	err = forEach(ctx, w.o.clients, w.o.apps, func(ctx context.Context, i int) error {
		_, err := w.dyn.Resource(applications).Namespace(namespace).Create(ctx, application(fmt.Sprintf("app-%d", i)), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return r, err
	}
	if err := finished(w.o.apps); err != nil {
		return r, err
	}
	r.took = time.Since(start)
	if r.writes, r.tail, err = w.quiet(ctx, start); err != nil {
		return r, err
	}
	r.loaded, err = op.read() // with its events, which are part of the price
	return r, err
}

// quiet counts the operator's writes since start, once it has made none for a second: its events may come after the status.
func (w *world) quiet(ctx context.Context, start time.Time) (last writes, tail time.Duration, err error) {
	ended := time.Now()
	changed := ended
	err = until(ctx, "the operator's last event", func() (bool, error) {
		now, err := w.audited(start, func(agent string) bool { return strings.HasPrefix(agent, "spark-operator/") }, namespace)
		if err != nil {
			return false, err
		}
		if now.total() != last.total() {
			last, changed = now, time.Now()
		}
		return time.Since(changed) > time.Second, nil
	})
	return last, changed.Sub(ended), err
}

// application is a driver-only SparkApplication.
func application(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec": map[string]any{
			"type": "Scala", "mode": "cluster", "sparkVersion": "4.1.4", "image": "docker.io/apache/spark:4.1.4",
			"mainClass": "org.apache.spark.examples.SparkPi", "mainApplicationFile": "local:///opt/spark/examples/jars/spark-examples.jar",
			"driver":   map[string]any{"cores": int64(1), "memory": "512m", "serviceAccount": "default"},
			"executor": map[string]any{"instances": int64(1), "cores": int64(1), "memory": "512m"},
		},
	}}
}

// playDrivers does for driver pods what a kubelet would: Running, and after the run time Succeeded. What it cannot do ends the run.
func (w *world) playDrivers(ctx context.Context, fail context.CancelCauseFunc) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	pods := w.core.CoreV1().Pods(namespace)
	events, err := pods.Watch(ctx, metav1.ListOptions{LabelSelector: "spark-role=driver"})
	if err != nil {
		cancel()
		return nil, err
	}
	var drivers sync.WaitGroup
	drivers.Go(func() {
		for e := range events.ResultChan() {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok || e.Type != watch.Added {
				continue
			}
			drivers.Go(func() {
				container := pod.Spec.Containers[len(pod.Spec.Containers)-1].Name
				play := func(patch string) {
					if err := w.patchPod(ctx, pod.Namespace, pod.Name, patch); err != nil && ctx.Err() == nil {
						fail(fmt.Errorf("play driver %s: %w", pod.Name, err))
					}
				}
				play(running(container))
				select {
				case <-ctx.Done():
				case <-time.After(w.o.runtime):
					play(succeeded(container))
				}
			})
		}
	})
	return func() { events.Stop(); cancel(); drivers.Wait() }, nil
}

func (w *world) patchPod(ctx context.Context, namespace, name, patch string) error {
	_, err := w.core.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

func running(container string) string {
	return fmt.Sprintf(`{"status":{"phase":"Running","podIP":"192.0.2.1","conditions":[{"type":"Ready","status":"True"}],`+
		`"containerStatuses":[{"name":%q,"ready":true,"started":true,"image":"i","imageID":"i","restartCount":0,`+
		`"state":{"running":{"startedAt":%q}}}]}}`, container, time.Now().UTC().Format(time.RFC3339))
}

func succeeded(container string) string {
	now := time.Now().UTC().Format(time.RFC3339)
	return fmt.Sprintf(`{"status":{"phase":"Succeeded","conditions":[{"type":"Ready","status":"False","reason":"PodCompleted"}],`+
		`"containerStatuses":[{"name":%q,"ready":false,"started":false,"image":"i","imageID":"i","restartCount":0,`+
		`"state":{"running":null,"terminated":{"exitCode":0,"reason":"Completed","startedAt":%q,"finishedAt":%q}}}]}}`, container, now, now)
}

// watchFinished counts the applications that reach COMPLETED. One that fails ends the run.
func (w *world) watchFinished(ctx context.Context) (wait func(n int) error, err error) {
	events, err := w.dyn.Resource(applications).Namespace(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return func(n int) error {
		defer events.Stop()
		done := map[string]bool{}
		for len(done) < n {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%d of %d applications are COMPLETED: %w", len(done), n, context.Cause(ctx))
			case e, ok := <-events.ResultChan():
				app, isApp := e.Object.(*unstructured.Unstructured)
				if !ok || !isApp {
					return fmt.Errorf("the watch on applications ended: %v", e.Object)
				}
				state, _, _ := unstructured.NestedString(app.Object, "status", "applicationState", "state")
				switch state {
				case "COMPLETED":
					done[app.GetName()] = true
				case "FAILED":
					message, _, _ := unstructured.NestedString(app.Object, "status", "applicationState", "errorMessage")
					return fmt.Errorf("%s is FAILED: %s", app.GetName(), message)
				}
			}
		}
		return nil
	}, nil
}

// forEach calls f for 0 to n-1 from a number of workers, and stops at the first error.
func forEach(ctx context.Context, workers, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				if ctx.Err() != nil {
					continue
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	return context.Cause(ctx)
}

func healthy(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
