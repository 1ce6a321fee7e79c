package operator

import (
	"context"
	"fmt"
	"net/http"
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
	"github.com/sparkoperator/spark-operator/internal/engine/controller"
	"github.com/sparkoperator/spark-operator/internal/engine/kind"
	"github.com/sparkoperator/spark-operator/internal/engine/kind/typed"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
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
func (w *world) gadgets() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: w.Namespace + ".example.com", Version: "v1", Kind: "Gadget"}
}

// gadgetDefinition returns a definition of gadgets. In the status, this definition keeps only the given fields.
func gadgetDefinition(kind schema.GroupVersionKind, fields ...string) *unstructured.Unstructured {
	properties := map[string]any{}
	for _, field := range fields {
		properties[field] = map[string]any{"type": "string"}
	}

	crd := definition(kind)
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
func (w *world) runGadgets(user string) *Operator {
	w.T.Helper()
	cfg := testConfig(w.Namespace)
	cfg.Health.BindAddress = freeAddress(w.T.(*testing.T))

	env := w.environment()
	if user != "" {
		env.Rest.Impersonate.UserName = user
	}

	op, err := newOperator(w.T.Context(), cfg, env)
	if err != nil {
		w.T.Fatal(err)
	}

	version := w.gadgets().GroupVersion()
	op.GetScheme().AddKnownTypeWithName(w.gadgets(), &gadget{})
	op.GetScheme().AddKnownTypeWithName(version.WithKind("GadgetList"), &gadgetList{})
	metav1.AddToGroupVersion(op.GetScheme(), version)

	op.optional.Interval = 50 * time.Millisecond
	if err := Add(w.T.Context(), op, tiny.Kind(), time.Now); err != nil {
		w.T.Fatal(err)
	}

	kind := controller.Kind{
		Name: "gadget", New: func() client.Object { return &gadget{} }, Definition: kind.Definition{RequiredFields: []string{"status.state"}},
		Status: typed.Of(func(g *gadget) any { return &g.Status }),
		Decide: typed.Decides(func(g *gadget, _ lifecycle.Observed, _ time.Time) lifecycle.Plan {
			g.Status.State = "seen"
			return lifecycle.Plan{}
		}),
		Events: typed.With(func(*gadget, lifecycle.Plan) []dialect.Event { return nil }),
	}
	if err := AddWhenServed(w.T.Context(), op, kind, time.Now); err != nil {
		w.T.Fatal(err)
	}

	w.run(op)
	w.operatorReady(cfg.Health.BindAddress)
	return op
}

// operatorReady waits until /readyz of an operator passes.
func (w *world) operatorReady(address string) {
	w.T.Helper()
	kit.Wait(w.T, "the operator to be ready", func(ctx context.Context) error {
		status, _, err := fetch(ctx, "http://"+address+"/readyz")
		if err != nil {
			return err
		}
		return want(status, http.StatusOK)
	})
}

// seesGadget creates a gadget, and waits until the operator has handled it in a pass.
func (w *world) seesGadget(name string) {
	w.T.Helper()

	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.gadgets())
	object.SetNamespace(w.Namespace)
	object.SetName(name)
	kit.Wait(w.T, "gadgets to be served", func(ctx context.Context) error { return w.API.Create(ctx, object) })
	kit.Wait(w.T, "a pass over the gadget", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}

		state, _, _ := unstructured.NestedString(object.Object, "status", "state")
		return want(state, "seen")
	})
}

// waitLog waits until the operator has logged a text.
func (w *world) waitLog(text string) {
	w.T.Helper()
	kit.Wait(w.T, fmt.Sprintf("%q in the log", text), func(context.Context) error {
		if strings.Contains(w.Log.String(), text) {
			return nil
		}
		return fmt.Errorf("the log does not contain it")
	})
}

// TestServedLater checks a kind whose definition is missing at first and is another operator's afterwards. Other kinds
// are not affected, and a log record contains what to do. When the operator's own definition is installed, the operator
// begins to serve the kind without a restart. It also serves the kind after this definition was removed and installed
// again.
func TestServedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.runGadgets("")
	w.Application("first")
	w.waitState("first", v1beta2.ApplicationStateSubmitted)
	w.waitLog("install its CustomResourceDefinition")

	theirs := gadgetDefinition(w.gadgets(), "phase")
	w.Create(theirs)
	t.Cleanup(func() { _ = w.API.Delete(context.Background(), theirs) })
	w.waitLog("belongs to another operator: the API server would drop status.state")
	w.Application("second")
	w.waitState("second", v1beta2.ApplicationStateSubmitted)

	ours := gadgetDefinition(w.gadgets(), "phase", "state")
	ours.SetResourceVersion(theirs.GetResourceVersion())
	kit.Wait(t, "the definition to be replaced", func(ctx context.Context) error {
		if err := w.API.Get(ctx, client.ObjectKeyFromObject(theirs), theirs); err != nil {
			return err
		}

		ours.SetResourceVersion(theirs.GetResourceVersion())
		return w.API.Update(ctx, ours)
	})
	w.waitLog("Started to serve a kind")
	w.seesGadget("one")

	if n := strings.Count(w.Log.String(), "A kind is not served yet"); n > 4 {
		t.Errorf("the obstacle was logged %d times", n)
	}

	if err := w.API.Delete(t.Context(), ours); err != nil {
		t.Fatal(err)
	}

	w.WaitGone(ours)
	w.Create(gadgetDefinition(w.gadgets(), "phase", "state"))
	w.seesGadget("two")
}

// TestServedOnceAllowed checks an operator whose role lacks the rights for a kind. The log reports that. Other kinds
// and the readiness of the operator are not affected. When the role gets the rights, the operator serves the kind
// without a restart.
func TestServedOnceAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definition := gadgetDefinition(w.gadgets(), "state")
	w.Create(definition)
	t.Cleanup(func() { _ = w.API.Delete(context.Background(), definition) })

	account := "system:serviceaccount:" + w.Namespace + ":operator"
	w.grant("operator", account, rbacv1.PolicyRule{
		APIGroups: []string{"", "sparkoperator.k8s.io", "networking.k8s.io", "policy"}, Resources: []string{"*"}, Verbs: []string{"*"},
	})
	kit.Wait(t, "gadgets to be served", func(ctx context.Context) error {
		return w.API.List(ctx, listOf(w.gadgets()), client.InNamespace(w.Namespace))
	})
	w.runGadgets(account)
	w.waitLog("has no right to list Gadget")
	w.Application("pi")
	w.waitState("pi", v1beta2.ApplicationStateSubmitted)
	w.grant("gadgets", account, rbacv1.PolicyRule{APIGroups: []string{w.gadgets().Group}, Resources: []string{"*"}, Verbs: []string{"*"}})
	w.seesGadget("one")
}

// grant creates a role with the given rules in the test's namespace, and binds the user to it.
func (w *world) grant(name, user string, rules ...rbacv1.PolicyRule) {
	w.T.Helper()
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Rules: rules})
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
}
