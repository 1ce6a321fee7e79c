package podtemplate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// parseYAML parses a YAML text. At most one document of the text may have content. If no document has content,
// parseYAML returns nil.
//
// It gives a value the type that Spark gives it. Spark's Kubernetes client parses YAML with SnakeYAML Engine and the
// JSON schema of YAML 1.2 (io.fabric8.kubernetes.client.utils.KubernetesSerialization), so words such as yes, on, 010,
// 0x1f, True and ~ are text. Numbers are of type json.Number.
//
// Merge keys and tags of types that JSON does not have are errors. Duplicate keys and a second document are errors too,
// because a reader would not notice that one of the two is ignored. Aliases are written out, within the limits of
// ReadYAML. The text of an error continues a sentence that begins with the name of the text's source.
func parseYAML(data []byte) (any, error) {
	if err := CheckYAML(data); err != nil {
		return nil, err
	}

	if err := checkCharacters(data); err != nil {
		return nil, err
	}

	data, slash := withoutSlashes(withoutVersion(data))
	decoder := yaml.NewDecoder(bytes.NewReader(data))

	var found any
	for {
		var document yaml.Node

		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return found, nil
		}

		if err != nil {
			return nil, fmt.Errorf("is neither JSON nor YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}

		restore(&document, slash)

		if _, err := (measure{sizes: map[*yaml.Node]extent{}}).of(&document); err != nil {
			return nil, fmt.Errorf("cannot be read: %w", err)
		}

		for _, root := range document.Content {
			value, err := valueOf(root, 0)
			switch {
			case err != nil:
				return nil, err
			case value == nil:
			case found != nil:
				return nil, fmt.Errorf("has a second YAML document at line %d, but only one is allowed; remove the others", root.Line)
			default:
				found = value
			}
		}
	}
}

// keyBefore matches the first key of a line, which must be followed by a value.
var keyBefore = regexp.MustCompile(`^[\s\-{\[]*["']?([\w./-]+)["']?:\s`)

// checkCharacters returns an error if a YAML text contains a control character, or a line break that Spark's parser
// takes for a letter: a field behind it could be a comment for one of the parsers.
func checkCharacters(data []byte) error {
	at := bytes.IndexFunc(data, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) || r == '\u2028' || r == '\u2029'
	})
	if at < 0 {
		return nil
	}

	place := fmt.Sprintf("at line %d", bytes.Count(data[:at], []byte("\n"))+1)
	if key := keyBefore.FindSubmatch(data[bytes.LastIndexByte(data[:at], '\n')+1 : at]); key != nil {
		place += ", behind the key " + conf.Shorten(string(key[1]))
	}

	r, _ := utf8.DecodeRune(data[at:])
	return fmt.Errorf(`has the character %s %s; put the value in double quotation marks, and write the character as %[1]s`, bounds.Line(string(r)), place)
}

// slashes are escapes of a slash that the parser can read.
var slashes = []string{`\x2F`, `\x2f`, `\u002F`, `\u002f`, `\U0000002F`, `\U0000002f`}

// withoutSlashes replaces the escape \/, which the parser does not know, by another escape of a slash. It returns that
// escape, which nothing else in the text contains. The escape also replaces \/ where a backslash is an ordinary
// character; restore reverses this.
func withoutSlashes(data []byte) (text []byte, slash string) {
	for _, slash := range slashes {
		if !bytes.Contains(data, []byte(slash)) {
			return []byte(strings.NewReplacer(`\\`, `\\`, `\/`, slash).Replace(string(data))), slash
		}
	}
	return data, ""
}

// restore writes \/ again instead of the given escape into the scalars in which a backslash is an ordinary character.
func restore(node *yaml.Node, slash string) {
	if node.Kind == yaml.ScalarNode && node.Style&yaml.DoubleQuotedStyle == 0 && slash != "" {
		node.Value = strings.ReplaceAll(node.Value, slash, `\/`)
	}

	for _, child := range node.Content {
		restore(child, slash)
	}
}

// version matches the directive that declares the version of YAML, such as %YAML 1.2. The parser rejects every version
// except 1.1, although it can parse the syntax of YAML 1.2 too.
var version = regexp.MustCompile(`^%(YAML[ \t]+1\.[0-9]+)[ \t]*(#.*)?$`)

// withoutVersion turns the directive for the version of YAML, which precedes the document, into a comment.
func withoutVersion(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines {
		switch text := bytes.TrimRight(line, " \t\r\n"); {
		case version.Match(text):
			lines[i] = append([]byte("#"), line[1:]...)
			return bytes.Join(lines, nil)
		case len(text) > 0 && text[0] != '#' && text[0] != '%':
			return data
		}
	}
	return data
}

// valueOf returns the value of a YAML node as decoded JSON. The argument depth is its nesting depth.
func valueOf(node *yaml.Node, depth int) (any, error) {
	switch {
	case node.Kind == yaml.AliasNode:
		return valueOf(node.Alias, depth)
	case node.Kind == yaml.ScalarNode:
		return scalarOf(node)
	case depth == maxDepth:
		return nil, fmt.Errorf("is nested more than %d lists and objects deep; use fewer levels", maxDepth)
	case node.Kind == yaml.SequenceNode:
		if err := checkTag(node, "!!seq"); err != nil {
			return nil, err
		}

		list := make([]any, 0, len(node.Content))
		for _, element := range node.Content {
			value, err := valueOf(element, depth+1)
			if err != nil {
				return nil, err
			}

			list = append(list, value)
		}
		return list, nil
	}

	if err := checkTag(node, "!!map"); err != nil {
		return nil, err
	}

	fields := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, err := keyOf(node.Content[i])
		if err != nil {
			return nil, err
		}

		if _, twice := fields[key]; twice {
			return nil, fmt.Errorf("has the key %s twice in one object, the second time at line %d; keep one of them", conf.Shorten(key), node.Content[i].Line)
		}

		if fields[key], err = valueOf(node.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// keyOf returns the text of a key. If the key is a number or a boolean, keyOf returns its text.
func keyOf(node *yaml.Node) (string, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}

	if node.Kind == yaml.ScalarNode && node.Value == "<<" && isPlain(node) {
		return "", fmt.Errorf("has the merge key << at line %d: merge keys are not supported, and Spark does not merge either; write out the fields", node.Line)
	}

	if node.Kind == yaml.ScalarNode {
		value, err := scalarOf(node)
		if err != nil {
			return "", err
		}

		if text, ok := asText(value).(string); ok {
			return text, nil
		}
	}
	return "", fmt.Errorf("has a key at line %d that is not text; put quotation marks around it", node.Line)
}

// isPlain reports whether a scalar has neither quotation marks nor a tag, and is not a block scalar (| or >).
func isPlain(node *yaml.Node) bool { return node.Style&^yaml.FlowStyle == 0 }

// checkTag returns an error if a node has an explicit tag that is not one of the wanted tags.
func checkTag(node *yaml.Node, wanted ...string) error {
	if node.Style&yaml.TaggedStyle == 0 {
		return nil
	}

	for _, tag := range wanted {
		if node.ShortTag() == tag {
			return nil
		}
	}
	return fmt.Errorf("has the tag %s at line %d, which means nothing in a pod; remove the tag", conf.Shorten(node.ShortTag()), node.Line)
}

// The patterns of numbers in the JSON schema of YAML 1.2 (org.snakeyaml.engine.v2.resolver.JsonScalarResolver).
var (
	wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	otherNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
)

// scalarOf returns the value of a scalar: text, a json.Number, a boolean or nil.
func scalarOf(node *yaml.Node) (any, error) {
	switch {
	case isPlain(node):
		return plainValue(node.Value), nil
	case node.Style&yaml.TaggedStyle == 0:
		return node.Value, nil
	}

	if err := checkTag(node, "!!str", "!!int", "!!float", "!!bool", "!!null"); err != nil {
		return nil, err
	}

	tag, value := node.ShortTag(), plainValue(node.Value)
	number, isNumber := value.(json.Number)

	_, isBool := value.(bool)
	switch {
	case tag == "!!str":
		return node.Value, nil
	case tag == "!!null":
		return nil, nil
	case tag == "!!int" && isNumber && wholeNumber.MatchString(number.String()), tag == "!!float" && isNumber, tag == "!!bool" && isBool:
		return value, nil
	}
	return nil, fmt.Errorf("has at line %d the tag %s before %q, but this value has another type; remove the tag", node.Line, tag, conf.Shorten(node.Value))
}

// plainValue returns the value of a scalar that has neither quotation marks nor a tag. If a number has a fraction or an
// exponent, plainValue formats it as java.lang.Double does, because a field of type string gets this text.
func plainValue(text string) any {
	switch text {
	case "", "null":
		return nil
	case "-0":
		return json.Number("0")
	case "true", "false":
		return text == "true"
	case ".inf":
		return "Infinity"
	case "-.inf":
		return "-Infinity"
	case ".nan":
		return "NaN"
	}

	switch {
	case wholeNumber.MatchString(text):
		return json.Number(text)
	case otherNumber.MatchString(text):
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return conf.FormatDouble(f) // f is infinite, because the number is too large
		}
		return json.Number(conf.FormatDouble(f))
	}
	return text
}
