package operator_test

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestDefinitionOfAnother checks what happens if another operator's definition drops the fields in which this operator
// stores its decisions. The operator waits for its own definition, reports what to do, and does not start without it.
func TestDefinitionOfAnother(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	definitions := kit.Client(t, apiextensionsv1.AddToScheme)
	gvk := schema.GroupVersionKind{Group: w.Namespace + ".example.org", Version: "v1", Kind: "Job"}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}

	theirs := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "jobs." + gvk.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvk.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "jobs", Singular: "job", Kind: gvk.Kind,
				ListKind: "JobList"},
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

	waiting := func(limit time.Duration) *operator.Operator {
		cfg := world.Config(w.Namespace)
		cfg.Controller.CacheSyncTimeout.Duration = limit

		op, err := operator.NewEmpty(t.Context(), cfg, w.Environment())
		if err != nil {
			t.Fatal(err)
		}
		return op
	}
	fields := []string{"status.state", "status.operator"}

	err := waiting(3*time.Second).WaitServed(t.Context(), gvk, fields)
	if err == nil || !strings.Contains(err.Error(),
		"belongs to another operator: the API server would drop status.operator, ") ||
		!strings.Contains(err.Error(), "crds.install") {
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

	if err := waiting(time.Minute).WaitServed(t.Context(), gvk, fields); err != nil {
		t.Errorf("with a corrected definition: %v", err)
	}
}

// TestDefinitionsKeepWhatIsRemembered checks that our own definition of SparkApplications keeps the fields in which the
// operator stores its decisions.
func TestDefinitionsKeepWhatIsRemembered(t *testing.T) {
	t.Parallel()

	kind := configured.For(kinds.SparkApplication).Build(config.Default, nil)

	op, err := operator.NewEmpty(t.Context(), world.Config(kit.Namespace(t)), world.New(t).Environment())
	if err != nil {
		t.Fatal(err)
	}

	if why, err := op.Unserved(v1beta2.GroupVersion.WithKind("SparkApplication"),
		kind.Traits().RequiredFields); why != nil || err != nil || len(kind.Traits().RequiredFields) == 0 {
		t.Errorf("%v, %v", why, err)
	}
}
