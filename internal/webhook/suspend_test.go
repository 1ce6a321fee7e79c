package webhook_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/policy"
	"github.com/sparkoperator/spark-operator/internal/testkit/refusal"
)

// patch sends a merge patch of an object as the user.
func (h *hooked) patch(object *unstructured.Unstructured, text string) error {
	return h.user.Patch(h.T.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
}

// TestInvalidObjectCanBeStopped checks each custom resource of docs/validation.md that the webhook refuses. If such a
// custom resource is already stored, it can be suspended, if its kind supports suspensions, and deleted. An update that
// also changes something else, or that resumes the object, is refused.
func TestInvalidObjectCanBeStopped(t *testing.T) {
	t.Parallel()
	h := hook(t)
	for _, name := range refusals {
		file := refusal.Must(t, name)
		for i, r := range file.Refusals {
			if r.By == refusal.ByDefinition {
				continue
			}
			h.change(func(h *hooked) { h.served = false })
			object := h.object(file.Whole, r.Piece)
			object.SetName(fmt.Sprintf("x%d", i))
			if err := h.user.Create(t.Context(), object); err != nil {
				t.Fatalf("%s: %v", r.Piece, err)
			}
			h.change(func(h *hooked) { h.served = true })
			if _, suspends := suspendable[object.GroupVersionKind().String()]; suspends {
				h.stops(object, r.Piece)
			}
			if err := h.user.Delete(t.Context(), object); err != nil {
				t.Errorf("%s: the deletion: %v", r.Piece, err)
			}
		}
	}
}

// suspendable maps each kind that supports suspensions to an edit of its spec.
var suspendable = map[string]string{
	"sparkoperator.k8s.io/v1beta2, Kind=SparkApplication":          `"sparkVersion":"4.1.3"`,
	"sparkoperator.k8s.io/v1beta2, Kind=ScheduledSparkApplication": `"jitterSeconds":7`,
	"sparkoperator.k8s.io/v1alpha1, Kind=SparkConnect":             `"sparkVersion":"4.1.3"`,
}

// stops checks that a stored object with a refused spec can be suspended, but neither edited nor resumed.
func (h *hooked) stops(object *unstructured.Unstructured, what string) {
	h.T.Helper()
	edit := suspendable[object.GroupVersionKind().String()]
	for _, c := range []struct {
		spec    string
		refused bool
	}{
		{edit, true},
		{`"suspend":true,` + edit, true},
		{`"suspend":false`, false}, // the object is not suspended, so this starts nothing
		{`"suspend":true`, false},
		{`"suspend":false`, true},
		{`"suspend":null`, true},
		{`"suspend":null,` + edit, true},
		{edit, true},
	} {
		if err := h.patch(object, `{"spec":{`+c.spec+`}}`); byWebhook(err) != c.refused || err != nil && !c.refused {
			h.T.Errorf("%s %s: the update %s: %v, want it to be refused: %t", object.GetKind(), what, c.spec, err, c.refused)
		}
	}
}

// TestRulesOfThePlatformLetUsersStop checks an object that breaks a rule of the platform, because the rule became
// stricter after the object was created. The object can be suspended. It can be resumed when the rule allows it again.
func TestRulesOfThePlatformLetUsersStop(t *testing.T) {
	t.Parallel()
	h := hook(t)
	rules, err := policy.Parse(`{owner: data team, rules: [{name: all, images: {allowed: ["registry.example.com/*"]}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range refusals[:3] {
		h.change(func(h *hooked) { h.cfg = schedulersEnabled() })
		object := h.object(refusal.Must(t, name).Whole)
		if err := h.user.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		h.change(func(h *hooked) { h.cfg.Policy = rules })
		h.stops(object, "a rule about images")
		h.change(func(h *hooked) { h.cfg = schedulersEnabled() })
		if err := h.patch(object, `{"spec":{"suspend":false}}`); err != nil {
			t.Errorf("%s: it cannot be resumed: %v", object.GetKind(), err)
		}
	}
}
