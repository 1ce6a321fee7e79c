package operator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// gadget is a custom resource of a kind whose definition the test creates and deletes.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		State string `json:"state,omitempty"`
	} `json:"status,omitzero"`
}

func (g *gadget) DeepCopyObject() runtime.Object {
	out := *g
	out.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &out
}

type gadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []gadget `json:"items"`
}

func (l *gadgetList) DeepCopyObject() runtime.Object {
	out := &gadgetList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*gadget))
	}
	return out
}

// gadgets returns the kind Gadget, in an API group that only this test uses.
func gadgets(w *world.World) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: w.Namespace + ".example.com", Version: "v1", Kind: "Gadget"}
}

// gadgetDefinition returns a definition of gadgets. In the status, this definition keeps only the given fields.
func gadgetDefinition(kind schema.GroupVersionKind, fields ...string) *unstructured.Unstructured {
	properties := map[string]any{}
	for _, field := range fields {
		properties[field] = map[string]any{"type": "string"}
	}

	crd := world.Definition(kind)
	crd.SetName("gadgets." + kind.Group)
	names := map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": "gadgets", "singular": "gadget"}
	_ = unstructured.SetNestedMap(crd.Object, names, "spec", "names")
	version := map[string]any{
		"name": kind.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
		"schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{"status": map[string]any{"type": "object", "properties": properties}},
		}},
	}
	_ = unstructured.SetNestedSlice(crd.Object, []any{version}, "spec", "versions")
	return crd
}

// runGadgets starts an operator that serves SparkApplications at once, and gadgets as soon as they can be served. The
// argument user is the user as which the operator acts; "" stands for the test's own user.
func runGadgets(w *world.World, user string) *operator.Operator {
	w.T.Helper()
	cfg := world.Config(w.Namespace)
	cfg.Health.BindAddress = kit.FreeAddress(w.T.(*testing.T))

	env := w.Environment()
	if user != "" {
		env.Rest.Impersonate.UserName = user
	}

	op, err := operator.NewEmpty(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}

	version := gadgets(w).GroupVersion()
	op.GetScheme().AddKnownTypeWithName(gadgets(w), &gadget{})
	op.GetScheme().AddKnownTypeWithName(version.WithKind("GadgetList"), &gadgetList{})
	metav1.AddToGroupVersion(op.GetScheme(), version)

	op.Optional.Interval = 50 * time.Millisecond
	if err := operator.Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		w.T.Fatal(err)
	}

	if err := operator.AddWhenServed(w.T.Context(), op, gadgetKind{}, time.Now); err != nil {
		w.T.Fatal(err)
	}

	w.Run(op)
	w.OperatorReady(cfg.Health.BindAddress)
	return op
}

// seesGadget creates a gadget, and waits until the operator has handled it in a pass.
func seesGadget(w *world.World, name string) {
	w.T.Helper()

	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gadgets(w))
	object.SetNamespace(w.Namespace)
	object.SetName(name)
	kit.Wait(w.T, "gadgets to be served", func(ctx context.Context) error { return w.API.Create(ctx, object) })
	kit.Wait(w.T, "a pass over the gadget", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}

		state, _, _ := unstructured.NestedString(object.Object, "status", "state")
		return world.Want(state, "seen")
	})
}

// TestServedLater checks a kind whose definition is missing at first and is another operator's afterwards. Other kinds
// are not affected, and a log record contains what to do. When the operator's own definition is installed, the operator
// begins to serve the kind without a restart. It also serves the kind after this definition was removed and installed
// again.
func TestServedLater(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	runGadgets(w, "")
	w.Application("first")
	w.WaitState("first", v1beta2.ApplicationStateSubmitted)
	w.WaitLog("install its CustomResourceDefinition")

	theirs := gadgetDefinition(gadgets(w), "phase")
	w.Create(theirs)
	t.Cleanup(func() { _ = w.API.Delete(context.Background(), theirs) })
	w.WaitLog("belongs to another operator: the API server would drop status.state")
	w.Application("second")
	w.WaitState("second", v1beta2.ApplicationStateSubmitted)

	ours := gadgetDefinition(gadgets(w), "phase", "state")
	ours.SetResourceVersion(theirs.GetResourceVersion())
	kit.Wait(t, "the definition to be replaced", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(theirs), theirs); err != nil {
			return err
		}

		ours.SetResourceVersion(theirs.GetResourceVersion())
		return w.API.Update(ctx, ours)
	})
	w.WaitLog("Started to serve a kind")
	seesGadget(w, "one")

	if n := strings.Count(w.Log.String(), "A kind is not served yet"); n > 4 {
		t.Errorf("the obstacle was logged %d times", n)
	}

	if err := w.API.Delete(t.Context(), ours); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(ours)
	w.Create(gadgetDefinition(gadgets(w), "phase", "state"))
	seesGadget(w, "two")
}

// TestServedOnceAllowed checks an operator whose role lacks the rights for a kind. The log reports that. Other kinds
// and the readiness of the operator are not affected. When the role gets the rights, the operator serves the kind
// without a restart.
func TestServedOnceAllowed(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	definition := gadgetDefinition(gadgets(w), "state")
	w.Create(definition)
	t.Cleanup(func() { _ = w.API.Delete(context.Background(), definition) })

	account := "system:serviceaccount:" + w.Namespace + ":operator"
	w.Grant("operator", account, rbacv1.PolicyRule{
		APIGroups: []string{"", "sparkoperator.k8s.io", "networking.k8s.io", "policy"}, Resources: []string{"*"}, Verbs: []string{"*"},
	})
	kit.Wait(t, "gadgets to be served", func(ctx context.Context) error {
		return w.API.List(ctx, world.ListOf(gadgets(w)), client.InNamespace(w.Namespace))
	})
	runGadgets(w, account)
	w.WaitLog("has no right to list Gadget")
	w.Application("pi")
	w.WaitState("pi", v1beta2.ApplicationStateSubmitted)
	w.Grant("gadgets", account, rbacv1.PolicyRule{APIGroups: []string{gadgets(w).Group}, Resources: []string{"*"}, Verbs: []string{"*"}})
	seesGadget(w, "one")
}

// gadgetKind is the kind of gadgets. Its decision writes a state.
type gadgetKind struct{}

func (gadgetKind) Traits() *contract.Traits {
	return &contract.Traits{Name: "gadget", RequiredFields: []string{"status.state"}}
}

func (gadgetKind) New() client.Object { return &gadget{} }

func (gadgetKind) Status(object client.Object) any { return &object.(*gadget).Status }

func (gadgetKind) ObservedGeneration(object client.Object) int64 { return object.GetGeneration() }

func (gadgetKind) Standing(client.Object) lifecycle.Standing { return lifecycle.Standing{} }

func (gadgetKind) Decide(object client.Object, _ lifecycle.Observed, _ time.Time) lifecycle.Plan {
	object.(*gadget).Status.State = "seen"
	return lifecycle.Plan{}
}

func (gadgetKind) Events(client.Object, lifecycle.Plan) []dialect.Event { return nil }
