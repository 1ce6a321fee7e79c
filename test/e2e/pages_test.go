package e2e

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/markdown"
)

// pages creates the objects of all tutorials and how-to pages as a dry run, which the definitions, the webhook and the
// API server review. The values of the chart in these pages are left out; the tests of sparkctl check them.
func (w *suite) pages(t *testing.T) {
	created := 0
	for _, block := range markdown.Tasks(t, root+"/docs", "yaml") {
		for document := range strings.SplitSeq(block.Text, "\n---\n") {
			object := objectOf(t, block.Page, document)
			if object == nil {
				continue
			}
			created++

			w.makeNamespace(t, object.GetNamespace())

			if err := w.Client.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Errorf("%s: %v in\n%s", block.Page, err, document)
			}
		}
	}

	if created < 20 {
		t.Errorf("the pages have only %d objects", created)
	}
}

// objectOf returns the object in a document of a page, or the application that a workflow of Argo creates. It returns
// nil for values of the chart.
func objectOf(t *testing.T, page, document string) *unstructured.Unstructured {
	t.Helper()

	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
		t.Fatalf("%s: %v in\n%s", page, err, document)
	}

	switch object.GetAPIVersion() {
	case "":
		return nil
	case "argoproj.io/v1alpha1":
		templates, _, _ := unstructured.NestedSlice(object.Object, "spec", "templates")

		manifest, _, err := unstructured.NestedString(templates[0].(map[string]any), "resource", "manifest")
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}

		inner := objectOf(t, page, manifest)
		inner.SetNamespace(metav1.NamespaceDefault)
		return inner
	}
	return &object
}

// makeNamespace creates a namespace that does not exist, until the end of the test.
func (w *suite) makeNamespace(t *testing.T, name string) {
	t.Helper()

	if name == "" {
		return
	}

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}

	err := w.Client.Create(t.Context(), namespace)
	if apierrors.IsAlreadyExists(err) {
		return
	}

	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := w.Client.Delete(context.WithoutCancel(t.Context()), namespace); err != nil {
			t.Error(err)
		}
	})
}
