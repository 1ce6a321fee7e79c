package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCountBound(t *testing.T) {
	pod := line(1, Agent, "create", "/api/v1/namespaces/a/pods", "", "pods", "x", `{}`)
	binding := line(1, "kube-scheduler/v1", "create", "/api/v1/namespaces/a/pods/x/binding", "", "pods/binding", "x", "")
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(pod+binding+pod+binding+pod), 0o600); err != nil {
		t.Fatal(err)
	}
	first := int64(len(pod + binding))
	for _, tt := range []struct {
		from           int64
		namespace      string
		created, bound int
	}{
		{0, "a", 3, 2},
		{first, "a", 2, 1},
		{first + 1, "a", 1, 1}, // a line that was being written then is left out
		{0, "b", 0, 0},
		{first*2 + int64(len(pod)), "a", 0, 0},
	} {
		created, bound, err := countBound(file, tt.from, map[string]bool{tt.namespace: true})
		if err != nil || created != tt.created || bound != tt.bound {
			t.Errorf("from %d in %s: %d created, %d bound, %v", tt.from, tt.namespace, created, bound, err)
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
