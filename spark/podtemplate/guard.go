package podtemplate

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	yaml "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// The limits of a YAML or JSON text that a program reads on the word of somebody else, such as a manifest. A field or
// an item of a list takes at most a kilobyte while a text is parsed, so a text within the limits takes 64 MB at most.
const (
	// MaxYAMLBytes is the maximum size of a text, and of the same text as JSON with each alias written out. The API
	// server accepts no larger request.
	MaxYAMLBytes = 3 << 20
	// maxYAMLValues is the maximum number of fields, items and other values of a text. It also limits the values of a
	// document in which each alias is written out.
	maxYAMLValues = 50_000
)

// CheckYAML returns an error if a text is too large to be parsed as YAML. The text of the error continues a sentence
// that begins with the name of the text.
//
// The values are not counted exactly, because that takes a parser. Each value follows one of the indicators of YAML,
// and one indicator introduces at most two values, a key and its value. Texts that contain indicators count as well. A
// directive that shortens tags counts as a hundred, because a parser compares each with all others.
func CheckYAML(text []byte) error {
	if len(text) > MaxYAMLBytes {
		return fmt.Errorf("has more than %d MB; split it into smaller files", MaxYAMLBytes>>20)
	}

	marks := 100 * bytes.Count(text, []byte("%TAG"))
	for i, c := range text {
		switch c {
		case ',', ':', '[', '{', '?':
			marks++
		case '-':
			if i+1 == len(text) || text[i+1] <= ' ' {
				marks++
			}
		}
	}

	if marks > maxYAMLValues {
		return fmt.Errorf("has more than %d fields and list items; split it into smaller files", maxYAMLValues)
	}
	return nil
}

// ReadYAML parses the first document of a text, and converts it to JSON. Without a document, the JSON is null. ReadYAML
// returns an error if an object has a key twice, or if the text is too large, is nested too deeply, or would be too
// large if each alias were written out. The parsers that decode YAML write aliases out, so a few lines of aliases to
// aliases could fill the memory.
func ReadYAML(text []byte) (document *yaml.Node, asJSON []byte, err error) {
	return readYAML(text, sigsyaml.YAMLToJSONStrict)
}

// ReadManifest is ReadYAML for a text that users also pass to kubectl: if an object has a key twice, the last value
// counts.
func ReadManifest(text []byte) (document *yaml.Node, asJSON []byte, err error) {
	return readYAML(text, sigsyaml.YAMLToJSON)
}

func readYAML(text []byte, toJSON func([]byte) ([]byte, error)) (document *yaml.Node, asJSON []byte, err error) {
	if err := CheckYAML(text); err != nil {
		return nil, nil, err
	}

	document = &yaml.Node{}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(document); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}

	m := measure{sizes: map[*yaml.Node]extent{}}
	if _, err := m.of(document); err != nil {
		return nil, nil, err
	}

	asJSON, err = toJSON(text)
	return document, asJSON, err
}

// extent is the size of a YAML node in which all aliases are written out.
type extent struct{ values, bytes, depth int }

// measure computes extents. The map contains those of the nodes that have an anchor. The zero value marks a node that
// is being measured.
type measure struct{ sizes map[*yaml.Node]extent }

func (m measure) of(node *yaml.Node) (extent, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}

	if known, ok := m.sizes[node]; ok && known == (extent{}) {
		return known, fmt.Errorf("line %d: has an alias to a value that contains the alias; write out the value", node.Line)
	} else if ok {
		return known, nil
	}

	if node.Anchor != "" {
		m.sizes[node] = extent{}
	}

	size := extent{values: 1, bytes: len(node.Value) + escapes(node.Value)}
	for _, child := range node.Content {
		below, err := m.of(child)
		if err != nil {
			return size, err
		}

		size = extent{size.values + below.values, size.bytes + below.bytes, max(size.depth, below.depth+1)}
		switch {
		case size.values > maxYAMLValues || size.bytes > MaxYAMLBytes:
			return size, fmt.Errorf("line %d: has more than %d values or %d MB as JSON, in which aliases are written out; use fewer of them, or split the file",
				node.Line, maxYAMLValues, MaxYAMLBytes>>20)
		case size.depth > 2*bounds.MaxDepth:
			return size, fmt.Errorf("line %d: is nested more than %d lists and objects deep; use fewer levels", node.Line, 2*bounds.MaxDepth)
		}
	}

	if node.Anchor != "" {
		m.sizes[node] = size
	}
	return size, nil
}

// escapes returns the number of bytes by which an encoder of JSON lengthens a text, or a few more.
func escapes(text string) (n int) {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n', c == '\t', c == '\r', c == '"', c == '\\':
			n++
		case c < ' ', c == '<', c == '>', c == '&':
			n += len(`\u0000`) - 1
		}
	}
	return n
}
