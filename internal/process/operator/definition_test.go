package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// TestDefinitionOfAnother checks what happens if another operator's definition drops the fields in which this operator
// stores its decisions. The operator waits for its own definition, reports what to do, and does not start without it.
func TestDefinitionOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	definitions := kit.Client(t, apiextensionsv1.AddToScheme)
	gvk := schema.GroupVersionKind{Group: w.Namespace + ".example.org", Version: "v1", Kind: "Job"}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}

	theirs := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "jobs." + gvk.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvk.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "jobs", Singular: "job", Kind: gvk.Kind, ListKind: "JobList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: gvk.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"state": text}},
					}}}}},
		},
	}
	if err := definitions.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = definitions.Delete(t.Context(), theirs) })

	waiting := func(limit time.Duration) *Operator {
		cfg := testConfig(w.Namespace)
		cfg.Controller.CacheSyncTimeout.Duration = limit

		op, err := newOperator(t.Context(), cfg, w.environment())
		if err != nil {
			t.Fatal(err)
		}
		return op
	}
	fields := []string{"status.state", "status.operator"}

	err := waiting(3*time.Second).waitServed(t.Context(), gvk, fields)
	if err == nil || !strings.Contains(err.Error(), "belongs to another operator: the API server would drop status.operator, ") || !strings.Contains(err.Error(), "crds.install") {
		t.Errorf("with another operator's definition: %v", err)
	}

	if !strings.Contains(w.Log.String(), "Waiting until the API server serves a kind") {
		t.Error("the operator did not log that it waits")
	}

	before := theirs.DeepCopy()

	theirs.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["operator"] = text
	if err := definitions.Patch(t.Context(), theirs, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	if err := waiting(time.Minute).waitServed(t.Context(), gvk, fields); err != nil {
		t.Errorf("with a corrected definition: %v", err)
	}
}

// TestDefinitionsKeepWhatIsRemembered checks that our own definition of SparkApplications keeps the fields in which the
// operator stores its decisions.
func TestDefinitionsKeepWhatIsRemembered(t *testing.T) {
	t.Parallel()

	kind := kinds.SparkApplications(config.Default, nil)

	op, err := newOperator(t.Context(), testConfig(kit.Namespace(t)), newWorld(t).environment())
	if err != nil {
		t.Fatal(err)
	}

	if why, err := op.unserved(v1beta2.GroupVersion.WithKind("SparkApplication"), kind.Definition.RequiredFields); why != nil || err != nil || len(kind.Definition.RequiredFields) == 0 {
		t.Errorf("%v, %v", why, err)
	}
}

func TestMissing(t *testing.T) {
	const document = `{"components": {"schemas": {
		"other": {"x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Other"}], "properties": {"status": {}}},
		"both": {"x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Job"}, {"group": "g", "version": "v2", "kind": "Job"}]},
		"job": {"x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Job"}], "properties": {
			"spec": {"x-kubernetes-preserve-unknown-fields": true},
			"status": {"properties": {"state": {"type": "string"}}}}}}}}`
	job := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Job"}

	got, err := missing([]byte(document), job, []string{"spec.any.thing", "status", "status.state", "status.operator", "status.state.deep", "other"})
	if diff := cmp.Diff([]string{"status.operator", "status.state.deep", "other"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	for name, c := range map[string]struct {
		text string
		kind schema.GroupVersionKind
		want string
	}{
		"an unknown kind":         {document, schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "None"}, "publishes no schema of None yet"},
		"a text that is not JSON": {"<html>", job, "decode the schema of g/v1"},
	} {
		if _, err := missing([]byte(c.text), c.kind, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
