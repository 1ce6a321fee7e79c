package replay

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/bench/audit"
)

func TestCountBound(t *testing.T) {
	pod := line(1, Agent, "create", "/api/v1/namespaces/a/pods", "", "pods", "x", `{}`)
	binding := line(1, "kube-scheduler/v1", "create", "/api/v1/namespaces/a/pods/x/binding", "", "pods/binding", "x", "")
	for namespace, want := range map[string]tally{"a": {created: 3, bound: 2}, "b": {}} {
		got, err := countBound(strings.NewReader(pod+binding+pod+binding+pod), audit.Scope{Namespace: func(name string) bool { return name == namespace }})
		if err != nil || got != want {
			t.Errorf("in %s: %+v, %v", namespace, got, err)
		}
	}
	for want, p := range map[float64]tally{0.75: {created: 4, bound: 3}, 0: {}} {
		if got := p.share(); got != want {
			t.Errorf("of %+v the share is %v", p, got)
		}
	}
}

func TestBindings(t *testing.T) {
	b := newBindings()
	b.bound("a/early")
	if err := b.wait(t.Context(), "a/early"); err != nil {
		t.Error(err)
	}
	done := make(chan error)
	go func() { done <- b.wait(t.Context(), "a/late") }()
	b.bound("a/late")
	b.bound("a/late") // told twice
	if err := <-done; err != nil {
		t.Error(err)
	}
	close(b.over)
	if err := b.wait(t.Context(), "a/never"); err == nil {
		t.Error("a binding is waited for that nobody tells of")
	}
	b = newBindings()
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if err := b.wait(ctx, "a/never"); !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
	// Nobody waits who need not.
	if err := (*bindings)(nil).wait(ctx, "a/never"); err != nil {
		t.Error(err)
	}
}
