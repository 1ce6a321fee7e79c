package controller

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/testkit/tiny"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestTargets: what each action deletes of two attempts.
func TestTargets(t *testing.T) {
	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: "u"}}
	app.Spec.Image = new("image")
	pod := func(name string, attempt int32, phase corev1.PodPhase, deleting bool) corev1.Pod {
		p := *tiny.Driver(app, attempt)
		p.Name, p.Status.Phase = name, phase
		switch name[0] {
		case 'e':
			p.Labels[identity.RoleLabel] = identity.RoleExecutor
		case 's':
			p.Labels[identity.RoleLabel] = identity.RoleSubmitter
		}
		if deleting {
			p.DeletionTimestamp = new(metav1.Now())
		}
		return p
	}
	other := func(name string, attempt int32) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: tiny.Meta(app, name, attempt)}
	}
	budget := func(name string, attempt int32) metav1.PartialObjectMetadata {
		object := other(name, attempt)
		object.Kind = dependents.KindBudget
		return object
	}
	p := &pass{
		children: dependents.Set{
			Drivers:    []corev1.Pod{pod("d1", 1, "Failed", false), pod("d2", 2, "Running", false), pod("d3", 2, "Running", true)},
			Executors:  []corev1.Pod{pod("e1", 1, "Running", false), pod("e2", 2, "Running", false), pod("e3", 2, "Succeeded", false), pod("e4", 2, "Failed", false)},
			Submitters: []corev1.Pod{pod("s1", 1, "Running", false), pod("s2", 2, "Running", false)},
			Others:     []metav1.PartialObjectMetadata{other("c1", 1), other("c2", 2), budget("b1", 1), budget("b2", 2)},
		},
	}
	made := other("made", 2)
	driver := pod("made-driver", 2, "", false)
	p.made = []client.Object{&made, &driver}
	for part, want := range map[lifecycle.Part][]string{
		lifecycle.Attempt:   {"d2", "e2", "e3", "e4", "made-driver", "pi-b2", "pi-c2", "pi-made", "s2"},
		lifecycle.Executors: {"e2"},
		lifecycle.DriverPod: {"d2", "made-driver", "pi-b2", "s2"},
	} {
		names := map[string]bool{}
		for _, target := range p.targets(lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: 2}) {
			names[target.GetName()] = true
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(names))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part, diff)
		}
	}
}

// TestDeleteTakesOnlyWhatWasSeen: another object that has the name by now is left alone.
func TestDeleteTakesOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := &Reconciler{dependents: dependents.Client{Client: w.API}}
	conf := func() *corev1.ConfigMap {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "conf"}}
		w.Create(object)
		return object
	}
	first := conf()
	if err := r.dependents.DeleteOne(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := conf()
	for range 2 {
		if err := r.dependents.DeleteOne(t.Context(), first); err != nil {
			t.Errorf("deleting what is gone: %v", err)
		}
	}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(second), second); err != nil {
		t.Errorf("the second was deleted: %v", err)
	}
}

func TestExpiryDeletesTheApplicationAsItWasRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := &Reconciler{kind: tiny.Kind(), dependents: dependents.Client{Client: w.API}}
	app := w.Application("pi")
	stale := &pass{stored: w.Get("pi")}
	if err := w.API.Patch(t.Context(), app, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"keep":"me"}}}`))); err != nil {
		t.Fatal(err)
	}
	if err := r.expire(t.Context(), stale); err == nil || stale.expired {
		t.Errorf("deleted although it was changed meanwhile (%v)", err)
	}
	now := &pass{stored: w.Get("pi")}
	if err := r.expire(t.Context(), now); err != nil || !now.expired {
		t.Errorf("not deleted: %v", err)
	}
	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(app), app); !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

func TestSettleGivesUp(t *testing.T) {
	rounds := 0
	kind := tiny.Kind()
	kind.Decide = typed.Decides(func(*v1beta2.SparkApplication, lifecycle.Observed, time.Time) lifecycle.Plan {
		rounds++
		return lifecycle.Plan{Do: []lifecycle.Action{{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: 1}}}
	})
	kind.Render = typed.Renders(func(*v1beta2.SparkApplication, lifecycle.Action, time.Time) (submit.Objects, error) {
		return submit.Objects{}, fmt.Errorf("never")
	})
	r := &Reconciler{kind: kind}
	err := r.settle(t.Context(), &pass{stored: &v1beta2.SparkApplication{}})
	if err == nil || rounds != maxRounds {
		t.Errorf("%d rounds, then %v", rounds, err)
	}
}
