package scenario

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// ends notes when the applications of a load reach their end, as a watch sees it.
type ends struct {
	mu        sync.Mutex
	at        map[string]time.Time // by namespace and name
	failed    int
	last      time.Time
	broken    error
	want      int
	in        []string // namespaces
	changed   chan struct{}
	stopWatch context.CancelFunc
	done      sync.WaitGroup
}

// watchEnds begins to note the ends of a load's applications.
func watchEnds(ctx context.Context, client dynamic.Interface, spec load.Spec) (*ends, error) {
	ctx, cancel := context.WithCancel(ctx)
	in := metav1.NamespaceAll
	if names := spec.Namespaces(); len(names) == 1 {
		in = names[0] // a watch begins with all that there is, and elsewhere there may be thousands
	}
	open := func() (watch.Interface, error) {
		return client.Resource(world.Applications).Namespace(in).Watch(ctx, metav1.ListOptions{})
	}
	events, err := open()
	if err != nil {
		cancel()
		return nil, err
	}
	e := newEnds(spec)
	e.stopWatch = cancel
	e.done.Go(func() { e.follow(ctx, events, open) })
	return e, nil
}

// follow looks at the events of a watch, and of the next one when it ends: the API server ends those of a definition that it begins to serve anew. A watch begins
// with all that there is, so that nothing is missed in between.
func (e *ends) follow(ctx context.Context, events watch.Interface, open func() (watch.Interface, error)) {
	for {
		for event := range events.ResultChan() {
			e.see(event)
		}
		if ctx.Err() != nil {
			return
		}
		next, err := open()
		if err != nil {
			e.note(func() { e.broken = fmt.Errorf("the watch on applications ended, and there is no other: %w", err) })
			return
		}
		events = next
	}
}

func newEnds(spec load.Spec) *ends {
	return &ends{at: map[string]time.Time{}, want: spec.Count(), in: spec.Namespaces(), changed: make(chan struct{}, 1), stopWatch: func() {}}
}

// see looks at one event.
func (e *ends) see(event watch.Event) {
	app, ok := event.Object.(*unstructured.Unstructured)
	switch {
	case !ok || event.Type == watch.Error:
		e.note(func() { e.broken = fmt.Errorf("the watch on applications failed: %v", event.Object) })
		return
	case event.Type == watch.Deleted || !slices.Contains(e.in, app.GetNamespace()):
		return
	}
	state, _, _ := unstructured.NestedString(app.Object, "status", "applicationState", "state")
	if state != "COMPLETED" && state != "FAILED" {
		return
	}
	key := app.GetNamespace() + "/" + app.GetName()
	e.note(func() {
		if _, before := e.at[key]; before {
			return
		}
		e.last = time.Now()
		e.at[key] = e.last
		if state == "FAILED" {
			e.failed++
		}
	})
}

func (e *ends) note(what func()) {
	e.mu.Lock()
	what()
	e.mu.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// wait returns when all applications have ended, with the moment at which the last did.
func (e *ends) wait(ctx context.Context) (time.Time, error) {
	for {
		e.mu.Lock()
		n, last, broken := len(e.at), e.last, e.broken
		e.mu.Unlock()
		if n >= e.want {
			return last, nil
		}
		if broken != nil {
			return last, broken
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("%d of %d applications have ended: %w", n, e.want, context.Cause(ctx))
		case <-e.changed:
		}
	}
}

// failures counts those that ended as FAILED.
func (e *ends) failures() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// stop ends the watch.
func (e *ends) stop() {
	e.stopWatch()
	e.done.Wait()
}

// held says whether as many applications failed as the load wants, and no more: an operator that fails the others would look fast.
func (e *ends) held(spec load.Spec) error {
	want := failing(spec)
	if got := e.failures(); got != want {
		return fmt.Errorf("%d applications FAILED; %d were meant to", got, want)
	}
	return nil
}

// failing counts the applications of a load whose drivers fail.
func failing(spec load.Spec) (n int) {
	for a := range spec.Applications() {
		args, _, _ := unstructured.NestedStringSlice(a.Object.Object, "spec", "arguments")
		if p, err := load.ReadProgram(args); err == nil && p.Exit != 0 {
			n++
		}
	}
	return n
}
