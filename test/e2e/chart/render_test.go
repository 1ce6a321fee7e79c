// Package chart tests the objects that Helm's own engine renders from the chart. It needs no cluster.
package chart

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"
)

const chartDir = "../../../charts/spark-operator"

// rendered holds the objects and notes that the chart renders.
type rendered struct {
	objects []client.Object
	notes   string
}

// install holds the inputs of one `helm install`.
type install struct {
	release, namespace string
	values             string // YAML
	apis               []string
	// definitions is true if the custom resource definitions are rendered too. They take more time than all other
	// objects together, and few tests need them.
	definitions bool
	// users is true if the roles of users and the hooks of helm test are rendered too.
	users bool
	// defaults replace the chart's own, as values of an earlier version do.
	defaults map[string]any
	// annotations are those of the chart, as the package of a release has them.
	annotations map[string]string
}

// render renders the chart with the given inputs. It returns Helm's error unchanged.
func render(t *testing.T, in install) (rendered, error) {
	t.Helper()

	c := load(t)
	if !in.definitions {
		c.Templates = slices.DeleteFunc(c.Templates,
			func(f *common.File) bool { return f.Name == "templates/crds.yaml" })
	}

	if !in.users {
		c.Templates = slices.DeleteFunc(c.Templates, func(f *common.File) bool {
			return f.Name == "templates/userroles.yaml" || strings.HasPrefix(f.Name, "templates/tests/")
		})
	}

	c.Metadata.Annotations = in.annotations

	if in.defaults != nil {
		c.Values = in.defaults
	}

	values := map[string]any{}
	if err := kyaml.Unmarshal([]byte(in.values), &values); err != nil {
		t.Fatal(err)
	}

	caps := common.DefaultCapabilities.Copy()
	caps.APIVersions = append(caps.APIVersions, in.apis...)

	options := common.ReleaseOptions{Name: in.release, Namespace: in.namespace, IsInstall: true, Revision: 1}
	if options.Name == "" {
		options.Name, options.Namespace = "spark-operator", "spark-operator"
	}

	all, err := util.ToRenderValues(c, values, options, caps)
	if err != nil {
		return rendered{}, err
	}

	files, err := engine.Render(c, all)
	if err != nil {
		return rendered{}, err
	}

	var out rendered
	for _, path := range slices.Sorted(maps.Keys(files)) {
		switch {
		case strings.HasSuffix(path, "NOTES.txt"):
			out.notes = files[path]
		case strings.HasSuffix(path, ".yaml"):
			out.objects = append(out.objects, decode(t, path, files[path])...)
		}
	}
	return out, nil
}

// mustRender renders the chart with values that must be valid. It fails the test if Helm returns an error.
func mustRender(t *testing.T, in install) rendered {
	t.Helper()

	out, err := render(t, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// load loads the chart from its source.
func load(t *testing.T) *chart.Chart {
	t.Helper()

	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// decoder decodes the typed objects of the chart and rejects unknown fields.
var decoder = func() runtime.Decoder {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
}()

// decode decodes all documents of one file. An object whose kind is not in the scheme becomes an unstructured object.
func decode(t *testing.T, path, text string) []client.Object {
	t.Helper()
	var objects []client.Object

	docs := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}

		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}

		if len(bytes.TrimSpace(stripComments(doc))) == 0 {
			continue
		}

		obj, _, err := decoder.Decode(doc, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			obj, err = unstructuredOf(doc)
		}

		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, doc)
		}

		objects = append(objects, obj.(client.Object))
	}
}

func stripComments(doc []byte) []byte {
	var kept [][]byte
	for line := range bytes.Lines(doc) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) && !bytes.HasPrefix(line, []byte("---")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}

// objectsOf returns the objects of one type.
func objectsOf[T client.Object](r rendered) []T {
	var found []T
	for _, o := range r.objects {
		if typed, ok := o.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// objectOf returns the only object of a type. It fails the test if there is no such object, or more than one.
func objectOf[T client.Object](t *testing.T, r rendered) T {
	t.Helper()

	found := objectsOf[T](r)
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T, want 1", len(found), *new(T))
	}
	return found[0]
}

// readCRDs loads the generated custom resource definitions from disk. The keys of the result are their names.
func readCRDs(t *testing.T) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()

	paths, err := filepath.Glob(filepath.Join(chartDir, "files/crds/*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no definitions in files/crds: %v", err)
	}

	crds := map[string]*apiextensions.CustomResourceDefinition{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		for _, o := range decode(t, path, string(text)) {
			crds[o.GetName()] = o.(*apiextensions.CustomResourceDefinition)
		}
	}
	return crds
}
