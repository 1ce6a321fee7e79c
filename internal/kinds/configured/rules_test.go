package configured_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/refusal"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestRulesDoNotBlockStoredObjects checks objects that were stored before the definitions had validation rules. It uses
// every spec of docs/validation.md that a definition refuses. Although such a spec is invalid, the object's labels,
// finalizers and status can be updated, and the object can be deleted. A new object with the same spec is refused. The
// test is not parallel, since it edits the definitions that all tests share.
func TestRulesDoNotBlockStoredObjects(t *testing.T) {
	w := world.New(t)
	var stored []*unstructured.Unstructured
	storedBefore(w, func() {
		for _, name := range []string{"sparkoperator/application", "sparkoperator/schedule", "sparkoperator/connect",
			"apache/application", "apache/cluster"} {
			file := refusal.Must(t, "../../dialect/"+name+"/testdata/refusals.yaml")
			for i, r := range file.Refusals {
				if r.By != refusal.ByDefinition {
					continue
				}

				object := parsedObject(w, string(file.JSON(t, r.Piece)), "")
				object.SetName(fmt.Sprintf("x%d", i))

				if r.Field == "metadata.name" {
					object.SetName("1x")
				}

				object.SetFinalizers([]string{"example.com/mine"})
				w.Create(object)
				stored = append(stored, object)
			}
		}
	})

	if len(stored) < 45 {
		t.Errorf("only %d objects are stored", len(stored))
	}

	for _, object := range stored {
		refusedAnew(w, object)

		for what, patch := range map[string]string{
			"a label":    `{"metadata":{"labels":{"a":"b"}}}`,
			"finalizers": `{"metadata":{"finalizers":["example.com/mine","example.com/other"]}}`,
		} {
			if err := w.API.Patch(t.Context(), object.DeepCopy(),
				client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				t.Errorf("%s of %s %s: %v", what, object.GetKind(), object.GetName(), err)
			}
		}

		status := `{"status":{"observedGeneration":1}}`
		if object.GetAPIVersion() == "sparkoperator.k8s.io/v1beta2" && object.GetKind() == "SparkApplication" {
			status = `{"status":{"driverInfo":{},"applicationState":{"state":"FAILED"}}}`
		}

		if err := w.API.Status().Patch(t.Context(), object.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(status))); err != nil && kit.SinceKubernetes(t, kit.StatusRatchets) {
			t.Errorf("the status of %s %s: %v", object.GetKind(), object.GetName(), err)
		}

		w.Remove(object)

		if err := w.API.Patch(t.Context(), object.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Errorf("the removal of the finalizers of %s %s: %v", object.GetKind(), object.GetName(), err)
		}

		w.WaitGone(object)
	}
}

// refusedAnew waits until the API server refuses to create another object with the content of a stored object. This may
// take a moment, because the API server does not use an edited definition at once.
func refusedAnew(w *world.World, stored *unstructured.Unstructured) {
	w.T.Helper()

	again := stored.DeepCopy()
	again.SetResourceVersion("")
	again.SetUID("")
	again.SetName(stored.GetName() + "2")
	kit.Wait(w.T, stored.GetKind()+" "+stored.GetName()+" to be refused", func(ctx context.Context) error {
		if err := w.API.Create(ctx, again.DeepCopy(), client.DryRunAll); !apierrors.IsInvalid(err) {
			return errors.Join(errors.New("the API server admits it"), err)
		}
		return nil
	})
}
