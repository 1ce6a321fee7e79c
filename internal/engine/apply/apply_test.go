package apply

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // for code without the operator's logger, such as an informer
	kit.MainShared(m)
}

// TestTargets checks which objects each deleting action selects if objects of two attempts exist.
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
	view := dependents.View{
		Set: dependents.Set{
			Drivers: []corev1.Pod{pod("d1", 1, "Failed", false), pod("d2", 2, "Running", false),
				pod("d3", 2, "Running", true)},
			Executors: []corev1.Pod{pod("e1", 1, "Running", false), pod("e2", 2, "Running", false),
				pod("e3", 2, "Succeeded", false), pod("e4", 2, "Failed", false)},
			Submitters: []corev1.Pod{pod("s1", 1, "Running", false), pod("s2", 2, "Running", false)},
			Others: []metav1.PartialObjectMetadata{other("c1", 1), other("c2", 2), budget("b1", 1),
				budget("b2", 2)},
		},
	}
	made := other("made", 2)
	driver := pod("made-driver", 2, "", false)

	view.Created = []client.Object{&made, &driver}
	for part, want := range map[lifecycle.Part][]string{
		lifecycle.Attempt:   {"d2", "e2", "e3", "e4", "made-driver", "pi-b2", "pi-c2", "pi-made", "s2"},
		lifecycle.Executors: {"e2"},
		lifecycle.DriverPod: {"d2", "made-driver", "pi-b2", "s2"},
	} {
		names := map[string]bool{}
		for _, target := range dependents.Targets(view.Deletable(),
			lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: 2}) {
			names[target.GetName()] = true
		}

		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(names))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part, diff)
		}
	}
}

// TestAuxiliaryObjectsAreNoRemains checks that no decision waits for the deletion of auxiliary objects, and that the
// end of an attempt does not delete them. The package auxiliary deletes them.
func TestAuxiliaryObjectsAreNoRemains(t *testing.T) {
	labels := map[string]string{identity.AppUIDLabel: "u", identity.AttemptLabel: "1", lifecycle.ContentLabel: "c"}

	view := dependents.View{Set: dependents.Set{Others: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: labels}}}}}
	if remains := view.Set.Facts().RemainingAttempts; len(remains) > 0 {
		t.Errorf("%v remain", remains)
	}

	if targets := dependents.Targets(view.Deletable(),
		lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: 1}); len(targets) > 0 {
		t.Errorf("%d are deleted", len(targets))
	}

	delete(labels, lifecycle.ContentLabel)

	if len(view.Set.Facts().RemainingAttempts) != 1 ||
		len(dependents.Targets(view.Deletable(),
			lifecycle.Action{Verb: lifecycle.Delete, Part: lifecycle.Attempt, Attempt: 1})) != 1 {
		t.Error("what belongs to the attempt does not count")
	}
}

// TestRejectedDeletion checks that a rejected deletion becomes a fact, unless an earlier rejection is already a fact.
func TestRejectedDeletion(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "pi", nil)

	var view dependents.View
	if outcome, err := reportRejection(view, errors.New("timeout")); outcome.Fact != nil || err == nil ||
		outcome.Rejected != nil {
		t.Errorf("transient error: %v, %v", err, outcome.Rejected)
	}

	outcome, err := reportRejection(view, fmt.Errorf("delete pi: %w", invalid))
	if outcome.Fact == nil || err != nil || outcome.Rejected.Reason != apianswer.ReasonInvalid {
		t.Fatalf("refused: %v, %v", err, outcome.Rejected)
	}

	if view = view.WithFact(outcome.Fact); view.Seen.Rejection == nil ||
		view.Seen.Rejection.Reason != apianswer.ReasonInvalid {
		t.Errorf("the fact is %+v", view.Seen.Rejection)
	}

	if again, err := reportRejection(view, invalid); again.Fact != nil || err != nil ||
		outcome.Add(again).Rejected != outcome.Rejected {
		t.Errorf("after a refusal: %v", err)
	}
}

// TestRejectedDeletionOfRun checks that the rejected deletion of a run is reported and repeated, and is no fact. A
// schedule took it for the rejection of the run that was due.
func TestRejectedDeletionOfRun(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "sparkapplications"}, "r", errors.New("runs are kept"))

	outcome, err := refusedDeletion(fmt.Errorf("delete r: %w", forbidden))
	if outcome.Fact != nil || err != nil || outcome.Rejected == nil || !strings.Contains(outcome.Rejected.Message, "runs are kept") || outcome.RequeueAfter <= 0 {
		t.Errorf("refused: %+v, %v", outcome, err)
	}

	if outcome, err := refusedDeletion(errors.New("timeout")); outcome.Rejected != nil || outcome.RequeueAfter != 0 || err == nil {
		t.Errorf("transient error: %+v, %v", outcome, err)
	}

	if outcome, err := refusedDeletion(nil); outcome.Rejected != nil || outcome.RequeueAfter != 0 || err != nil {
		t.Errorf("deleted: %+v, %v", outcome, err)
	}
}

// TestDeleteTakesOnlyWhatWasSeen checks that a deletion affects only the object that was read, and not a new object
// with the same name.
func TestDeleteTakesOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	c := dependents.Client{Client: w.API}
	conf := func() *corev1.ConfigMap {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "conf"}}
		w.Create(object)
		return object
	}

	first := conf()
	if err := c.DeleteOne(t.Context(), first); err != nil {
		t.Fatal(err)
	}

	second := conf()

	for range 2 {
		if err := c.DeleteOne(t.Context(), first); err != nil {
			t.Errorf("deleting what is gone: %v", err)
		}
	}

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(second), second); err != nil {
		t.Errorf("the second was deleted: %v", err)
	}
}

func TestExpiryDeletesTheApplicationAsItWasRead(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	a := Applier{Kind: tiny.Kind(), Dependents: dependents.Client{Client: w.API}}
	expire := lifecycle.Plan{Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Part: lifecycle.Application}}}
	app := w.Application("pi")

	stale := dependents.View{Owner: w.Get("pi")}
	if err := w.API.Patch(t.Context(), app,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"keep":"me"}}}`))); err != nil {
		t.Fatal(err)
	}

	if outcome, err := a.Apply(t.Context(), stale, Decision{Plan: expire}); err == nil || outcome.Expired {
		t.Errorf("deleted although it was changed meanwhile (%v)", err)
	}

	now := dependents.View{Owner: w.Get("pi")}
	if outcome, err := a.Apply(t.Context(), now, Decision{Plan: expire}); err != nil || !outcome.Expired {
		t.Errorf("not deleted: %v", err)
	}

	if err := w.API.Get(t.Context(), client.ObjectKeyFromObject(app), app); !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}
