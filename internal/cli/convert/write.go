package convert

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// commentWidth is the number of columns of a comment, without its indentation.
const commentWidth = 100

// YAML returns the manifests of the objects, with the comments above their fields.
func (r *Result) YAML() ([]byte, error) {
	var out bytes.Buffer
	for i, object := range r.Objects {
		root, err := node(object)
		if err != nil {
			return nil, err
		}

		if i == len(r.Objects)-1 {
			for _, comment := range r.Comments {
				comment.write(root)
			}
		}

		if i > 0 {
			out.WriteString("---\n")
		}

		terminal.QuoteYAML(root)

		encoder := yamlv3.NewEncoder(&out)
		encoder.SetIndent(2)

		if err := encoder.Encode(root); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// Has reports whether the application has the field with the given path.
func (r *Result) Has(field string) bool {
	at, err := node(r.Application())
	for _, key := range manifest.Keys(field) {
		if err != nil || at == nil {
			return false
		}

		_, at = manifest.Child(at, key)
	}
	return at != nil
}

// node returns an object as a YAML tree, without its status.
func node(object client.Object) (*yamlv3.Node, error) {
	text, err := json.Marshal(object)
	if err == nil {
		text, err = terminal.YAML(text)
	}

	if err != nil {
		return nil, err
	}

	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return nil, err
	}

	root := document.Content[0]
	remove(root, "status")

	if _, meta := manifest.Child(root, "metadata"); meta != nil {
		remove(meta, "creationTimestamp")
	}
	return root, nil
}

// remove removes a key and its value from a mapping.
func remove(mapping *yamlv3.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// write adds the comment above its field, or above the nearest enclosing field.
func (c *Comment) write(root *yamlv3.Node) {
	shown, node := root, root
	for _, key := range manifest.Keys(c.Field) {
		below, value := manifest.Child(node, key)
		if value == nil {
			break
		}

		shown, node = below, value
	}

	lines := []string{}
	if shown.HeadComment != "" {
		lines = append(lines, shown.HeadComment)
	}

	shown.HeadComment = strings.Join(append(lines, wrapped(c.Text)...), "\n")
}

// wrapped returns a text as the lines of a YAML comment. A line break in the text becomes a space.
func wrapped(text string) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > commentWidth {
			lines = append(lines, line)
			line = ""
		}

		line = strings.TrimSpace(line + " " + word)
	}

	lines = append(lines, line)
	for i := range lines {
		lines[i] = "# " + strings.Repeat("  ", min(i, 1)) + lines[i]
	}
	return lines
}
