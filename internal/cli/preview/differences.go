package preview

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// Difference is a value that differs between two objects. The values are JSON, or "(absent)". Values that look like
// secrets are hidden.
type Difference struct{ Path, Before, After string }

// Differences returns the fields of the spec and the labels that differ between two objects, by their paths.
func Differences(before, after client.Object) ([]Difference, error) {
	return DifferencesOf(specAndLabels(before), specAndLabels(after))
}

func specAndLabels(object client.Object) map[string]any {
	return map[string]any{"spec": manifest.SpecOf(object), "metadata": map[string]any{"labels": object.GetLabels()}}
}

// DifferencesOf returns the fields that differ between two values, as JSON has them.
func DifferencesOf(before, after any) (found []Difference, _ error) {
	var trees [2]any
	for i, value := range []any{before, after} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}

		if err := utiljson.Unmarshal(text, &trees[i]); err != nil {
			return nil, err
		}
	}

	differ("", trees[0], trees[1], &found)
	return found, nil
}

// differ appends the differences between two JSON values.
func differ(path string, before, after any, found *[]Difference) {
	from, isObject := before.(map[string]any)

	to, isAlso := after.(map[string]any)
	if isObject && (isAlso || after == nil) || isAlso && before == nil {
		keys := map[string]any{}
		maps.Copy(keys, from)
		maps.Copy(keys, to)

		for _, key := range slices.Sorted(maps.Keys(keys)) {
			differ(childPath(path, key), from[key], to[key], found)
		}
		return
	}

	if string(rawOf(before)) != string(rawOf(after)) {
		*found = append(*found, Difference{path, shown(path, before), shown(path, after)})
	}
}

// childPath returns the path of a field, made from the path of the enclosing object and the name of the field. A name
// that contains dots or slashes is a key of a map, so it is written in brackets.
func childPath(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	}
	return path + "." + key
}

func rawOf(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}

// shown returns a value as text, and redacts the value if it looks like a secret.
func shown(path string, value any) string {
	if value == nil {
		return "(absent)"
	}
	return conf.Redact(path, string(rawOf(value)))
}
