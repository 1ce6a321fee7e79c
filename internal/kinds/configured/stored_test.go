package configured_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// TestFullObjectsAreStored checks that no field of our API is unknown to a real API server or changed by it. For each
// of our definitions the test creates several objects that have every property. Together they use every value of every
// enumeration. The API server must accept these objects and store them unchanged. If another operator's definition of
// the kind is available, the test also creates objects that have every property of that definition.
func TestFullObjectsAreStored(t *testing.T) {
	api, namespace := kit.Client(t), kit.Namespace(t)

	sent := 0
	for _, kind := range []struct{ file, peers, version string }{
		{"sparkoperator.k8s.io_sparkapplications.yaml", "sparkoperator.k8s.io_sparkapplications.yaml", "v1beta2"},
		{"sparkoperator.k8s.io_scheduledsparkapplications.yaml", "sparkoperator.k8s.io_scheduledsparkapplications.yaml",
			"v1beta2"},
		{"spark.apache.org_sparkapplications.yaml", "sparkapplications.spark.apache.org-v1-1.1.yaml", "v1"},
		{"spark.apache.org_sparkclusters.yaml", "sparkclusters.spark.apache.org-v1-1.1.yaml", "v1"},
	} {
		file, version := kind.file, kind.version

		definitions := map[string]string{"ours": filepath.Join(crd.Root(t), "config", "crd", file)}
		if theirs := filepath.Join(crd.Root(t), "..", "shared", "data", "peer-crds", kind.peers+".gz"); exists(theirs) {
			definitions["theirs"] = theirs
		}

		for name, path := range definitions {
			definition, err := crd.Read(path)
			if err != nil {
				t.Fatal(err)
			}

			for variant := range crd.Variants(definition, version) {
				obj := &unstructured.Unstructured{Object: crd.Full(definition, version, variant, crd.Sizes)}
				obj.SetNamespace(namespace)
				obj.SetName("")
				obj.SetGenerateName("full-")

				want := obj.DeepCopy()
				if err := api.Create(t.Context(), obj, client.FieldValidation("Strict")); err != nil {
					t.Errorf("%s %s, variant %d: %v", name, file, variant, err)
					continue
				}

				obj.Object["status"] = want.DeepCopy().Object["status"]
				if err := api.Status().Update(t.Context(), obj); err != nil {
					t.Errorf("%s %s, the status of variant %d: %v", name, file, variant, err)
				}

				if err := api.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
					t.Fatal(err)
				}

				for _, part := range []string{"spec", "status"} {
					if diff := cmp.Diff(want.Object[part], obj.Object[part]); diff != "" {
						t.Errorf("%s %s, %s of variant %d (-sent +stored):\n%s", name, file, part, variant, diff)
					}
				}
				sent++
			}
		}
	}

	t.Logf("%d objects with everything were stored whole", sent)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
