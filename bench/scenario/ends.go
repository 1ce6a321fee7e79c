package scenario

import (
	"context"
	"fmt"
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
	of        map[string]bool // the load's applications, likewise
	changed   chan struct{}
	stopWatch context.CancelFunc
	done      sync.WaitGroup
}

// watchEnds begins to note the ends of a load's applications, and of no others: in a namespace that is used again there are those of a load before.
func watchEnds(ctx context.Context, client dynamic.Interface, spec load.Spec) (*ends, error) {
	ctx, cancel := context.WithCancel(ctx)
	e := newEnds(spec)
	e.stopWatch = cancel
	// One for each namespace: a watch begins with all that there is, and of all namespaces that may be thousands that are none of the load's.
	for _, in := range spec.Namespaces() {
		open := func() (watch.Interface, error) {
			return client.Resource(world.Applications).Namespace(in).Watch(ctx, metav1.ListOptions{})
		}
		events, err := open()
		if err != nil {
			e.stop()
			return nil, err
		}
		e.done.Go(func() { e.follow(ctx, events, open) })
	}
	return e, nil
}

// reopenAfter is the pause before a watch that ended is opened again: one that ends at once is not hammered.
const reopenAfter = 100 * time.Millisecond

// following looks at the events of a watch, and of the next one when it ends: the API server ends those of a definition that it begins to serve anew. A watch begins
// with all that there is, so that nothing is missed in between. It returns nil once see has seen enough, or an error: of the context, or because there is no next watch.
func following(ctx context.Context, events watch.Interface, open func() (watch.Interface, error), see func(watch.Event) (enough bool)) error {
	for {
		for event := range events.ResultChan() {
			if see(event) {
				events.Stop()
				return nil
			}
		}
		if err := pause(ctx, reopenAfter); err != nil {
			return err
		}
		next, err := open()
		if err != nil {
			return fmt.Errorf("the watch ended, and there is no other: %w", err)
		}
		events = next
	}
}

// follow notes what watches see until the context ends.
func (e *ends) follow(ctx context.Context, events watch.Interface, open func() (watch.Interface, error)) {
	err := following(ctx, events, open, func(event watch.Event) bool { e.see(event); return false })
	if ctx.Err() == nil {
		e.note(func() { e.broken = fmt.Errorf("applications: %w", err) })
	}
}

// named are the applications of a load, by namespace and name.
func named(spec load.Spec) map[string]bool {
	of := map[string]bool{}
	for a := range spec.Applications() {
		of[a.Namespace+"/"+a.Name] = true
	}
	return of
}

func nameOf(app *unstructured.Unstructured) string { return app.GetNamespace() + "/" + app.GetName() }

// stateOf is the state that an application's status has.
func stateOf(app *unstructured.Unstructured) string {
	state, _, _ := unstructured.NestedString(app.Object, "status", "applicationState", "state")
	return state
}

func newEnds(spec load.Spec) *ends {
	return &ends{at: map[string]time.Time{}, of: named(spec), changed: make(chan struct{}, 1), stopWatch: func() {}}
}

// see looks at one event.
func (e *ends) see(event watch.Event) {
	app, ok := event.Object.(*unstructured.Unstructured)
	switch {
	case !ok || event.Type == watch.Error:
		e.note(func() { e.broken = fmt.Errorf("the watch on applications failed: %v", event.Object) })
		return
	case event.Type == watch.Deleted || !e.of[nameOf(app)]:
		return
	}
	state, key := stateOf(app), nameOf(app)
	if state != "COMPLETED" && state != "FAILED" {
		return
	}
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
		if n >= len(e.of) {
			return last, nil
		}
		if broken != nil {
			return last, broken
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("%d of %d applications have ended: %w", n, len(e.of), context.Cause(ctx))
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
