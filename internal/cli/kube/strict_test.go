package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// TestWritesAreStrict checks that each write of an object of any kind requests strict validation, so that the API
// server refuses a field that the installed definition would drop.
func TestWritesAreStrict(t *testing.T) {
	var strictly, all int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if all++; r.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict {
			strictly++
		} else {
			t.Errorf("%s %s", r.Method, r.URL)
		}

		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()

	c, err := New(&rest.Config{Host: server.URL}, "default")
	if err != nil {
		t.Fatal(err)
	}

	objects := []client.Object{&corev1.ConfigMap{}}
	for _, k := range kinds.All {
		objects = append(objects, k.New())
	}

	for _, object := range objects {
		object.SetNamespace("default")
		object.SetName("n")
		_ = c.Create(t.Context(), object)
		_ = c.Create(t.Context(), object, client.DryRunAll)
		_ = c.Update(t.Context(), object)
		_ = c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte("{}")))
	}

	if want := 4 * len(objects); all != want || strictly != want {
		t.Errorf("%d of %d requests are strict, want %d", strictly, all, want)
	}
}
