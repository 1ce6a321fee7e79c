package configured_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit"
)

// TestAnAPIServerAcceptsAServersObjects checks that a real API server accepts the objects in the golden files of
// spark/connect.
func TestAnAPIServerAcceptsAServersObjects(t *testing.T) {
	files, err := filepath.Glob("../../../spark/connect/testdata/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("there are %d golden files: %v", len(files), err)
	}

	api, namespace := kit.Client(t), kit.Namespace(t)

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "spark", Namespace: namespace}}
	if err := api.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			accepted := 0
			for document := range bytes.SplitSeq(text, []byte("---\n")) {
				object := &unstructured.Unstructured{}
				if err := yaml.Unmarshal(document, &object.Object); err != nil || len(object.Object) == 0 {
					continue // the warnings, which are a list
				}

				object.SetNamespace(namespace)

				if err := api.Create(t.Context(), object, client.DryRunAll); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
				accepted++
			}

			if accepted != 3 {
				t.Errorf("there are %d objects, want ConfigMap, pod and Service", accepted)
			}
		})
	}
}
