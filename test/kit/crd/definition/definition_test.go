package definition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// TestOurDefinitions checks that an API server accepts all our definitions.
func TestOurDefinitions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(crd.Root(t), "config", "crd", "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}

	for _, file := range files {
		if err := Check(crd.Ours(t, filepath.Base(file))); err != nil {
			t.Error(err)
		}
	}
}

func TestBadDefinitions(t *testing.T) {
	text, err := os.ReadFile("../testdata/thing.yaml")
	if err != nil {
		t.Fatal(err)
	}

	plain := string(text)
	for name, text := range map[string]string{
		"not structural":    strings.Replace(plain, "size: {type: integer,", "size: {", 1),
		"rule that is none": strings.Replace(plain, "maxLength: 10", "x-kubernetes-validations: [{rule: 'self ='}]", 1),
		"rule too costly": strings.Replace(plain, "additionalProperties: {type: string}",
			"additionalProperties: {type: string, x-kubernetes-validations: [{rule: \"self.matches('(a|b)*c')\"}]}", 1),
		"no approval": strings.ReplaceAll(plain, "example.com", "example.k8s.io"),
	} {
		var bad apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict([]byte(text), &bad); err != nil {
			t.Fatal(err)
		}

		if err := Check(&bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
