// Package redact hides secrets in objects that sparkctl and the console show.
package redact

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// Objects returns copies of the objects without secrets. It redacts the data of Secrets, and those values in the
// configuration of Spark and Hadoop and in environment variables that look like secrets, also in custom resources. It
// applies Spark's rule (spark.redaction.regex) to the name and the value.
func Objects(objects []client.Object) ([]client.Object, error) {
	var out []client.Object
	for _, object := range objects {
		tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}

		if !redactObject(tree) {
			out = append(out, object)
			continue
		}

		out = append(out, &unstructured.Unstructured{Object: tree})
	}
	return out, nil
}

// redactObject redacts an object in place and reports whether the object changed.
func redactObject(tree map[string]any) (changed bool) {
	switch tree["kind"] {
	case "Secret":
		for _, field := range []string{"data", "stringData"} {
			values, _ := tree[field].(map[string]any)
			for key := range values {
				values[key], changed = conf.Redacted, true
			}
		}
		return changed
	case "ConfigMap":
		data, _ := tree["data"].(map[string]any)
		for name, value := range data {
			text, _ := value.(string)
			if shown := File(name, text); shown != text {
				data[name], changed = shown, true
			}
		}
		return changed
	}
	return redactTree(tree)
}

// redactTree redacts a JSON tree, such as an application or a pod, and reports whether the tree changed. kubectl keeps
// the last manifest in an annotation, which would show the secrets again.
func redactTree(value any) (changed bool) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			changed = redactTree(item) || changed
		}
	case map[string]any:
		for key, child := range value {
			changed = redactField(key, child) || changed
			changed = redactTree(child) || changed
		}
	}
	return changed
}

// redactField redacts the value of a field whose name says that it may have secrets, and reports whether it changed.
func redactField(name string, value any) bool {
	entries, _ := value.(map[string]any)

	switch {
	case name == "env":
		return redactEnv(value)
	case strings.HasSuffix(name, "Conf"), name == "envVars", name == "secrets":
		return redactEntries(entries)
	case name == "annotations" && entries[corev1.LastAppliedConfigAnnotation] != nil:
		delete(entries, corev1.LastAppliedConfigAnnotation)
		return true
	}
	return false
}

// redactEnv redacts a list of environment variables and reports whether it changed.
func redactEnv(list any) (changed bool) {
	env, _ := list.([]any)
	for _, item := range env {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)

		text, isText := variable["value"].(string)
		if shown := conf.Redact(name, text); isText && shown != text {
			variable["value"], changed = shown, true
		}
	}
	return changed
}

// redactEntries redacts a map of texts, such as sparkConf, and reports whether it changed.
func redactEntries(entries map[string]any) (changed bool) {
	for name, value := range entries {
		text, isText := value.(string)
		if shown := conf.Redact(name, text); isText && shown != text {
			entries[name], changed = shown, true
		}
	}
	return changed
}

// File returns the redacted text of a file in a ConfigMap: Spark's properties, or a pod template.
func File(name, text string) string {
	if strings.HasSuffix(name, ".properties") || strings.HasSuffix(name, ".conf") {
		return redactProperties(text)
	}

	template := strings.HasPrefix(strings.TrimSpace(text), "{") || slices.Contains([]string{".yml", ".yaml", ".json"}, path.Ext(name))
	if !template {
		return text
	}
	var tree any

	_, asJSON, err := podtemplate.ReadYAML([]byte(text))
	if err != nil || utiljson.Unmarshal(asJSON, &tree) != nil {
		return conf.Redacted // nobody knows what it contains
	}

	if !redactTree(tree) {
		return text
	}

	shown, err := yaml.Marshal(tree)
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		shown, err = json.MarshalIndent(tree, "", "  ")
	}

	if err != nil {
		return conf.Redacted
	}
	return string(shown)
}

// redactProperties returns the text of a properties file with redacted values. The file must have one property on each
// line.
func redactProperties(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		properties, err := conf.UnmarshalProperties(line)
		if err != nil {
			properties = conf.New()
		}

		shown := line
		for key, value := range properties.All() {
			if conf.Redact(key, value) != value {
				name, _, _ := strings.Cut(line, "=")
				shown = name + "=" + conf.Redacted + line[len(strings.TrimRight(line, "\r\n")):]
			}
		}

		b.WriteString(shown)
	}
	return b.String()
}
