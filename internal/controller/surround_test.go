package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/auxiliary"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestBesideFor: what stands beside the driver has as long as the rest of the pass took, within bounds, and leaves half of the time.
func TestBesideFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ spent, left, want time.Duration }{
		{0, passTimeout, auxiliary.Timeout},
		{auxiliary.Timeout, passTimeout, auxiliary.Timeout},
		{auxiliary.Timeout + time.Second, passTimeout, auxiliary.Timeout + time.Second},
		{passTimeout / 2, passTimeout / 2, auxiliary.MaxTimeout},
		{10 * time.Second, 12 * time.Second, 6 * time.Second},
		{0, 4 * time.Second, 2 * time.Second},
		{0, 0, 0},
	} {
		if got := besideFor(test.spent, test.left); got != test.want {
			t.Errorf("after %s with %s left: %s, want %s", test.spent, test.left, got, test.want)
		}
	}
}

// TestSurroundingsAreNoRemains: no decision waits for what stands beside a driver, and no attempt's end deletes it behind the back of what watches
// over it.
func TestSurroundingsAreNoRemains(t *testing.T) {
	labels := map[string]string{identity.AppUIDLabel: "u", identity.AttemptLabel: "1", lifecycle.ContentLabel: "c"}
	p := &pass{children: dependents.Set{Others: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: labels}}}}}
	if remains := p.children.Facts().Remains; len(remains) > 0 {
		t.Errorf("%v remain", remains)
	}
	if targets := p.targets(lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: 1}); len(targets) > 0 {
		t.Errorf("%d are deleted", len(targets))
	}
	delete(labels, lifecycle.ContentLabel)
	if len(p.children.Facts().Remains) != 1 || len(p.targets(lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: 1})) != 1 {
		t.Error("what belongs to the attempt does not count")
	}
}
