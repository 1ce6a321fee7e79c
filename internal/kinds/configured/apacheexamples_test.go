package configured_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	apachecluster "github.com/sparkoperator/spark-operator/internal/dialect/apache/cluster"
	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// TestApacheExamples checks each example: the API server accepts it and knows all its fields, and the operator can
// launch it.
func TestApacheExamples(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	files, err := filepath.Glob("../../../examples/apache-*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples, %v", len(files), err)
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, object); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}

		if name := strings.TrimSuffix(filepath.Base(file), ".yaml"); object.GetName() != name {
			t.Errorf("the object in %s has the name %s", file, object.GetName())
		}

		object.SetNamespace(w.Namespace)

		if err := w.API.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("%s: %v", file, err)
		}

		checkLaunch(t, file, object.GetKind(), text)
	}
}

// checkLaunch checks that this operator would launch an example: for an application it renders a driver, and for a
// cluster its objects.
func checkLaunch(t *testing.T, file, kind string, text []byte) {
	t.Helper()

	now := time.Unix(1_800_000_000, 0).UTC()
	if kind == "SparkCluster" {
		cluster := &sparkv1.SparkCluster{}
		if err := yaml.UnmarshalStrict(text, cluster); err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}

		cluster.UID = "5b7b3b9e-7a0e-4d7a-9b58-3f6c3a7c0001"
		clusters := apachecluster.Clusters{}
		clusters.Decide(cluster, lifecycle.Observed{}, now)

		if s := clusters.AuxiliaryObjects(cluster, lifecycle.Observed{}); len(s.Objects) < 5 {
			t.Errorf("%s leads to %d objects; %+v", file, len(s.Objects), cluster.Status)
		}
		return
	}

	app := &sparkv1.SparkApplication{}
	if err := yaml.UnmarshalStrict(text, app); err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}

	app.UID = "5b7b3b9e-7a0e-4d7a-9b58-3f6c3a7c0002"
	applications := configured.For(kinds.ApacheApplication).Build(config.Default, nil)

	plan := applications.Decide(app, lifecycle.Observed{}, now)
	for _, action := range plan.Actions {
		if action.Verb == lifecycle.Create {
			if made, err := applications.(apply.Launcher).Render(app, action, now); err != nil || made.Driver == nil {
				t.Errorf("%s: %v", file, err)
			}
			return
		}
	}

	t.Errorf("%s is not launched: %+v, %+v", file, plan.Actions, app.Status.CurrentState)
}
