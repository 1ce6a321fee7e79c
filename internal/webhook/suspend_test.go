package webhook_test

import (
	"fmt"
	"path"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/settings/policy"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
)

// patch sends a merge patch of an object as the user. First it waits until the API server's watch cache has the stored
// object. The API server applies a patch to the cached object. If that was out of date, it applies the patch again, and
// the webhook reviews it twice (GuaranteedUpdate of k8s.io/apiserver).
func (h *hooked) patch(object *unstructured.Unstructured, text string) error {
	h.T.Helper()

	stored := object.DeepCopy()
	if err := h.API.Get(h.T.Context(), client.ObjectKeyFromObject(object), stored); err != nil {
		h.T.Fatal(err)
	}

	cached := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: stored.GetResourceVersion()}}
	if err := h.API.Get(h.T.Context(), client.ObjectKeyFromObject(object), stored, cached); err != nil {
		h.T.Fatal(err)
	}

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
			if r.By != "" {
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
			h.T.Errorf("%s %s: the update %s: %v, want it to be refused: %t", object.GetKind(), what, c.spec, err,
				c.refused)
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

// TestRequiredLabelsStay checks updates of metadata for each kind. An update that takes a required label away is
// refused, with the message of a pass. Every other update is admitted, also if the object never had the label, and
// while it is being deleted.
func TestRequiredLabelsStay(t *testing.T) {
	t.Parallel()
	h := hook(t)

	rules, err := policy.Parse(`{owner: data team, rules: [{name: all, labels: {required: {team: "a*"}}}]}`)
	if err != nil {
		t.Fatal(err)
	}

	const missing = `metadata.labels: a custom resource without the label team is not allowed by the rule labels.required of the policy all (owner: data team); set it to a value that matches a*`
	for _, name := range refusals {
		labelled, other := h.object(refusal.Must(t, name).Whole), h.object(refusal.Must(t, name).Whole)
		labelled.SetLabels(map[string]string{"team": "a1", "spark.operator/name": "spark-kubernetes-operator"})
		labelled.SetFinalizers([]string{"example.com/hold"})
		other.SetName("other")
		h.change(func(h *hooked) { h.cfg = schedulersEnabled() })

		for _, object := range []*unstructured.Unstructured{labelled, other} {
			if err := h.user.Create(t.Context(), object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}

		h.change(func(h *hooked) { h.cfg.Policy = rules })

		for _, c := range []struct {
			object *unstructured.Unstructured
			patch  string
			want   string
		}{
			{labelled, `{"metadata":{"labels":{"team":null}}}`, missing},
			{labelled, `{"metadata":{"labels":null,"finalizers":null}}`, missing},
			{labelled, `{"metadata":{"labels":{"team":"b"}}}`,
				`metadata.labels[team]: the value "b" is not allowed by the rule labels.required of the policy all (owner: data team); set it to a value that matches a*`},
			{labelled, `{"metadata":{"labels":{"team":"a2","other":"x"}}}`, ""},
			{labelled, `{"metadata":{"annotations":{"x":"y"}}}`, ""},
			{labelled, `{"metadata":{"labels":{"spark.operator/sentinel":"true"}}}`, ""}, // probes are off
			{labelled, `{"metadata":{"labels":{"team":null}}}`, missing},
			{other, `{"metadata":{"labels":{"team":"b"}}}`, ""},
			{other, `{"metadata":{"labels":{"other":"x"},"finalizers":["example.com/x"]}}`, ""},
			{other, `{"metadata":{"finalizers":null}}`, ""},
		} {
			err := h.patch(c.object, c.patch)
			if c.want == "" && err != nil || c.want != "" && (!byWebhook(err) || refusalMessage(err) != c.want) {
				t.Errorf("%s: %s of %s: %v, want %q", name, c.patch, c.object.GetName(), err, c.want)
			}
		}

		if err := h.user.Delete(t.Context(), labelled); err != nil {
			t.Fatal(err)
		}

		if err := h.patch(labelled, `{"metadata":{"labels":null}}`); err != nil {
			t.Errorf("%s: an object that is being deleted: %v", name, err)
		}

		if err := h.patch(labelled, `{"metadata":{"finalizers":null}}`); err != nil {
			t.Errorf("%s: its finalizer: %v", name, err)
		}
	}
}

// TestObjectsThatBecomeServedAreReviewed checks that an update of labels after which the operator acts on an object is
// reviewed as a creation is. Otherwise an object could lose a required label while the operator does not select it, or
// be created without a review as a sentinel.
func TestObjectsThatBecomeServedAreReviewed(t *testing.T) {
	t.Parallel()
	h := hook(t)

	rules, err := policy.Parse(`{rules: [{name: all, labels: {required: {team: "a*"}}}]}`)
	if err != nil {
		t.Fatal(err)
	}

	h.change(func(h *hooked) {
		h.cfg = schedulersEnabled()
		h.cfg.Policy, h.cfg.Apache.LabelSelector = rules, "mine=true"
		h.cfg.Apache.Sentinels.Enabled, h.cfg.Apache.Sentinels.Namespace = true, h.Namespace
	})

	for _, name := range refusals[3:] {
		for _, label := range []string{"spark.operator/sentinel", "other"} {
			object := h.object(refusal.Must(t, name).Whole)
			object.SetName(path.Base(label))
			object.SetLabels(map[string]string{label: "true"})

			if err := h.user.Create(t.Context(), object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}

			if err := h.patch(object, fmt.Sprintf(`{"metadata":{"labels":{"mine":"true",%q:null}}}`,
				label)); !byWebhook(err) {
				t.Errorf("%s: an object with the label %s becomes an application: %v", name, label, err)
			}

			if err := h.patch(object, fmt.Sprintf(`{"metadata":{"labels":{"mine":"true","team":"a",%q:null}}}`,
				label)); err != nil {
				t.Errorf("%s: an object with the label %s becomes a valid application: %v", name, label, err)
			}
		}
	}
}
