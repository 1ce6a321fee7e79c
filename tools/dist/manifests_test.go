package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// object is the part of an object of Kubernetes that the tests read.
type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
}

// objectsOf returns the objects in a file.
func objectsOf(t *testing.T, file string) (objects []object) {
	t.Helper()

	for document := range strings.SplitSeq(read(t, file), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		if o.Kind != "" {
			objects = append(objects, o)
		}
	}
	return objects
}

// TestManifests checks the files for kubectl. Install.yaml must create its namespace first, and must name the namespace
// of every object that has one, because `kubectl apply` would otherwise create the object in the user's namespace. It
// must contain nothing that only Helm can do, and no definition. A second build must be equal.
func TestManifests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Helm")
	}

	r, out, again := &release{version: "v1.2.3"}, t.TempDir(), t.TempDir()
	for _, dir := range []string{out, again} {
		chart, err := r.chart("../../charts/spark-operator", dir, map[string]string{"spark-operator": "sha256:abc"})
		if err != nil {
			t.Fatal(err)
		}

		// A setting of the user must have no effect.
		t.Setenv("HELM_NAMESPACE", filepath.Base(dir))

		if _, err := r.manifests(t.Context(), "../..", dir, chart); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{definitionsFile, installFile, exampleFile} {
		if read(t, filepath.Join(out, name)) != read(t, filepath.Join(again, name)) {
			t.Errorf("two builds of %s differ", name)
		}
	}

	cluster := regexp.MustCompile(`^(Namespace|ClusterRole(Binding)?|.*WebhookConfiguration|.*AdmissionPolicy(Binding)?)$`)

	installed := objectsOf(t, filepath.Join(out, installFile))
	for i, o := range installed {
		if (i == 0) != (o.Kind == "Namespace") || (o.Metadata.Namespace == "") != cluster.MatchString(o.Kind) ||
			o.Kind == "CustomResourceDefinition" {
			t.Errorf("object %d is %+v", i, o)
		}

		if o.Metadata.Annotations["helm.sh/hook"] != "" || o.Metadata.Labels["app.kubernetes.io/managed-by"] != "" {
			t.Errorf("object %d is for Helm: %+v", i, o)
		}
	}

	const image = `image: "docker.io/sparkoperator/spark-operator:v1.2.3@sha256:abc"`
	if text := read(t, filepath.Join(out, installFile)); !strings.Contains(text, image) {
		t.Errorf("install.yaml does not contain %s", image)
	}

	var definitions []string
	for _, o := range objectsOf(t, filepath.Join(out, definitionsFile)) {
		definitions = append(definitions, o.Metadata.Name+" "+o.Kind)
	}

	files, err := os.ReadDir("../../charts/spark-operator/files/crds")
	if err != nil || len(definitions) != len(files) ||
		!slices.Contains(definitions, "sparkapplications.sparkoperator.k8s.io CustomResourceDefinition") {
		t.Errorf("the definitions are %v: %v", definitions, err)
	}

	if example := objectsOf(t, filepath.Join(out, exampleFile)); len(example) != 1 || example[0].Metadata.Name != "spark-pi" {
		t.Errorf("the example is %+v", example)
	}
}
