package controller

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/testkit/tiny"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

func want[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func TestConfirmFindsWhatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.Application("pi")
	w.Create(tiny.Driver(app, 1))
	r := &Reconciler{kind: tiny.Kind(), dependents: dependents.Client{Live: w.API}}
	p := &pass{stored: app} // an empty cache

	// The first look finds it, whatever attempt is looked for; the second finds nothing that is not known.
	for _, found := range []bool{true, false} {
		fact, err := r.confirm(t.Context(), p, lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		var seen lifecycle.Observed
		fact(&seen)
		if (seen.Driver(1) != nil) != found || seen.Confirmed == found {
			t.Errorf("found should be %t: %+v", found, seen)
		}
	}
}

// everywhere is the scope of a reconciler that serves all namespaces.
type everywhere struct{}

func (everywhere) Serves(context.Context, string) (bool, error) { return true, nil }

func (everywhere) Watched() []string { return []string{metav1.NamespaceAll} }
