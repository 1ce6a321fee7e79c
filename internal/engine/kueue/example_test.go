package kueue_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	queues "github.com/sparkoperator/spark-operator/test/kit/kueue"
)

// TestExampleOfAQueue applies the example of a queue to an API server, and checks that its parts name each other: the
// local queue leads to the cluster queue, and that to the flavor.
func TestExampleOfAQueue(t *testing.T) {
	t.Parallel()
	queues.Install(t)

	text, err := os.ReadFile("../../../examples/kueue-queue.yaml")
	if err != nil {
		t.Fatal(err)
	}

	api, of := kit.Client(t), map[string]*unstructured.Unstructured{}

	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text)); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}

		of[object.GetKind()] = object.DeepCopy()
		if err := api.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			t.Errorf("%s: %v", object.GetKind(), err)
		}
	}

	flavor, cluster, local := of["ResourceFlavor"], of["ClusterQueue"], of["LocalQueue"]
	if flavor == nil || cluster == nil || local == nil {
		t.Fatalf("the example has %d kinds", len(of))
	}

	if to, _, _ := unstructured.NestedString(local.Object, "spec", "clusterQueue"); to != cluster.GetName() {
		t.Errorf("the local queue leads to %q", to)
	}

	groups, _, _ := unstructured.NestedSlice(cluster.Object, "spec", "resourceGroups")
	for _, group := range groups {
		flavors, _, _ := unstructured.NestedSlice(group.(map[string]any), "flavors")
		if len(flavors) != 1 || flavors[0].(map[string]any)["name"] != flavor.GetName() {
			t.Errorf("the flavors of the cluster queue are %v", flavors)
		}
	}
}
