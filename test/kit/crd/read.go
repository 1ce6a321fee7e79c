// Package crd lets tests read custom resource definitions. It compares our definitions with those of another operator,
// and lists their rules and limits. It makes objects that a definition should accept, and objects that it should
// reject. Package admission checks such objects.
package crd

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/checkout"
)

// Root returns the root of the repository, as checkout.Root does. It ends the test if there is none.
func Root(t testing.TB) string {
	t.Helper()

	dir, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Ours reads one of our definitions by its file name in config/crd. tools/generate.sh writes these files.
func Ours(t testing.TB, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return mustRead(t, filepath.Join(Root(t), "config", "crd", file))
}

// Theirs reads a definition that another operator publishes. The argument file is the name without the ending .gz.
// These files are not part of the repository, so Theirs skips the test if the file is absent.
func Theirs(t testing.TB, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()

	path := filepath.Join(Root(t), "..", "shared", "data", "peer-crds", file+".gz")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the peers' definitions are not beside the repository (%s)", filepath.Join("..", "shared", "data", "peer-crds"))
	}
	return mustRead(t, path)
}

// read contains the definitions that have been read, by path. It takes long to decode one.
var read sync.Map

func mustRead(t testing.TB, path string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()

	found, ok := read.Load(path)
	if !ok {
		crd, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}

		found, _ = read.LoadOrStore(path, crd)
	}
	return found.(*apiextensionsv1.CustomResourceDefinition).DeepCopy()
}

// Read reads a definition from a YAML file, which may be compressed (.gz). It returns an error if the file contains
// unknown fields.
func Read(path string) (*apiextensionsv1.CustomResourceDefinition, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	if strings.HasSuffix(path, ".gz") {
		unzip, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}

		if raw, err = io.ReadAll(unzip); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}

	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &crd, nil
}

// CompactSize returns the size of the definition as compact JSON, in bytes. kubectl apply stores that form in an
// annotation, and all annotations of an object may have at most 256 KiB.
func CompactSize(crd *apiextensionsv1.CustomResourceDefinition) (int, error) {
	raw, err := json.Marshal(crd)
	return len(raw), err
}
