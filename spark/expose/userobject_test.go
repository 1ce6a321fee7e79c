package expose

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestGiven checks that the object has the user's spec, and the caller's labels and owner.
func TestGiven(t *testing.T) {
	spec := map[string]any{"future": int64(1), "rules": []any{map[string]any{"host": "a"}}}
	object := UserObject{
		Kind: IngressKind, Namespace: "ns", Name: "door", Labels: map[string]string{"own": "1"},
		Extra:       map[string]string{"own": "theirs", "team": "a"},
		Annotations: map[string]string{"note": "b"},
		Owner:       metav1.OwnerReference{APIVersion: "x/v1", Kind: "X", Name: "x", UID: "u"}, Spec: spec,
	}.Object()

	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	const want = `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"annotations":{"note":"b"},"labels":{"own":"1","team":"a"},"name":"door","namespace":"ns",` +
		`"ownerReferences":[{"apiVersion":"x/v1","kind":"X","name":"x","uid":"u"}]},"spec":{"future":1,"rules":[{"host":"a"}]}}` + "\n"
	if diff := cmp.Diff(want, string(text)+"\n"); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	object.Object["spec"].(map[string]any)["future"] = int64(2)

	if spec["future"] != int64(1) {
		t.Error("the object shares what its author wrote")
	}

	if bare := (UserObject{Kind: GRPCRouteKind, Name: "r",
		Namespace: "ns"}).Object(); len(bare.GetOwnerReferences()) > 0 || len(bare.GetLabels()) > 0 ||
		bare.GroupVersionKind() != (schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1",
			Kind: "GRPCRoute"}) {
		t.Errorf("%v", bare)
	}
}

func TestWithRule(t *testing.T) {
	rule := map[string]any{"to": "x"}
	for name, c := range map[string]struct{ spec, want map[string]any }{
		"none": {nil, map[string]any{"rules": []any{rule}}},
		"an empty list": {map[string]any{"rules": []any{}, "a": "b"},
			map[string]any{"rules": []any{rule}, "a": "b"}},
		"rules of its own": {map[string]any{"rules": []any{"y"}}, map[string]any{"rules": []any{"y"}}},
	} {
		before := len(c.spec)
		if diff := cmp.Diff(c.want, WithRule(c.spec, rule)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		if len(c.spec) != before {
			t.Errorf("%s: the spec was changed", name)
		}
	}
}
