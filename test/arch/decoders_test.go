package arch

import (
	"slices"
	"testing"
)

// insensitive lists decoders that do not distinguish upper and lower case in the names of fields.
var insensitive = map[string][]string{
	"encoding/json":    {"Unmarshal", "NewDecoder", "Decoder"},
	"sigs.k8s.io/yaml": {"Unmarshal", "UnmarshalStrict"},
	// They decode JSON with encoding/json, or YAML with sigs.k8s.io/yaml.
	"k8s.io/apimachinery/pkg/util/yaml": {"Unmarshal", "UnmarshalStrict", "NewYAMLOrJSONDecoder",
		"NewYAMLToJSONDecoder"},
}

// mayDecode lists the files that may still use one of these decoders.
var mayDecode = []string{
	"spark/podtemplate/file.go", // decodes into maps, where no names of fields are compared, and keeps the text of numbers
	// It reads entries of Spark's log, which lead to no object. internal/lifecycle may not import another decoder.
	"internal/lifecycle/cause/structured.go",
}

// TestDecodersDistinguishCase checks that users' text is decoded as Spark and the API server decode it. A decoder that
// takes hostpid for hostPID gives the rules of the platform another pod than the pod that Spark creates. The check
// applies to all text, because hardly any text has no user's text in it.
func TestDecodersDistinguishCase(t *testing.T) {
	exempt := func(f file) bool { return slices.Contains(mayDecode, f.path) }
	forbid(t, insensitive, exempt,
		"use Unmarshal of k8s.io/apimachinery/pkg/util/json, which distinguishes upper and lower case")
}

// forbid checks that no file uses the given functions of the given packages, except tests, the programs of developers
// and the exempt files. The argument instead is the advice of the error.
func forbid(t *testing.T, functions map[string][]string, exempt func(file) bool, instead string) {
	t.Helper()

	for _, f := range parse(t) {
		programs := isBelow(f.folder, "bench") || isBelow(f.folder, "test") || isBelow(f.folder, "tools") ||
			isBelowAny(f.folder, testOnly)
		if f.test || programs || exempt(f) {
			continue
		}

		for imported, names := range functions {
			for _, use := range usesOf(f, imported, names...) {
				t.Errorf("%s: %s: %s", f.path, use, instead)
			}
		}
	}
}

// unlimited lists parsers of YAML that write out aliases without a limit, or take any size. The packages
// of mayParse may use them. Package terminal and package convert parse only what they have written.
var unlimited = map[string][]string{"sigs.k8s.io/yaml": {"YAMLToJSON", "YAMLToJSONStrict"},
	"go.yaml.in/yaml/v3": {"Unmarshal", "NewDecoder"}}

var mayParse = []string{"spark/podtemplate", "internal/cli/terminal", "internal/cli/convert"}

// TestYAMLIsReadByOneReader checks that no YAML of others is parsed without limits. 340 KB of aliases can take
// gigabytes. Much of what looks like a file of this project is written by others: any user may create a ConfigMap in
// which sparkctl doctor looks for the configuration of an operator.
func TestYAMLIsReadByOneReader(t *testing.T) {
	exempt := func(f file) bool { return slices.Contains(mayParse, f.folder) }
	forbid(t, unlimited, exempt, "use podtemplate.ReadYAML, which has limits")
}
