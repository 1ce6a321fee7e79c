package charts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const page = "../docs/values.md"

const introduction = `# Values of the chart

A test writes this page (` + "`go test ./charts -update`" + `) from the comments of
[values.yaml](../charts/spark-operator/values.yaml). The JSON schema beside that file checks the types
([the chart](../charts/spark-operator/README.md)). A description also applies to the values below it that have none.

| value | default | description |
|---|---|---|
`

// row writes a row of a table. The default is empty for a value that contains other values.
func row(out *bytes.Buffer, name, value, description string) {
	if value != "" {
		value = "`" + value + "`"
	}

	escape := strings.NewReplacer("|", `\|`).Replace
	fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, escape(value), escape(description))
}

// pages matches names of pages.
var pages = regexp.MustCompile(`\bdocs/([a-z/-]+\.md(?:#[a-z0-9-]+)?)`)

// prose returns the text of a comment, and the YAML in it, which is indented.
func prose(comment string) (text, example string) {
	var words, lines []string

	for line := range strings.Lines(comment) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "#")
		if indented, found := strings.CutPrefix(line, "   "); found {
			lines = append(lines, indented)
			continue
		}

		words = append(words, strings.TrimSpace(line))
	}

	text = strings.ReplaceAll(strings.Join(words, " "), "<", "&lt;")
	return pages.ReplaceAllString(text, "[$1]($1)"), strings.Join(lines, "\n")
}

// rows writes the rows of the values in a map.
func rows(t *testing.T, out *bytes.Buffer, node *yaml.Node, known map[string]any, path string) {
	t.Helper()

	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		description, _ := prose(key.HeadComment)

		level, isLevel := known[key.Value].(map[string]any)
		if isLevel {
			if description != "" {
				row(out, path+key.Value, "", description)
			}

			rows(t, out, value, level, path+key.Value+".")
			continue
		}

		var set any
		if err := value.Decode(&set); err != nil {
			t.Fatal(err)
		}

		text, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}

		row(out, path+key.Value, string(text), description)
	}
}

// wrap breaks a text into lines of at most 120 columns.
func wrap(text string) string {
	var out strings.Builder

	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case column+len(word) >= 120:
			out.WriteString("\n")

			column = 0
		case i > 0:
			out.WriteString(" ")
		}

		out.WriteString(word)
		column += len(word) + 1
	}
	return out.String()
}

// valuesPage returns the page with all values.
func valuesPage(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile("spark-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}

	known := map[string]any{}
	if err := json.Unmarshal(KnownValues, &known); err != nil {
		t.Fatal(err)
	}

	var general, sections bytes.Buffer

	root := document.Content[0]
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		level, isLevel := known[key.Value].(map[string]any)
		text, example := prose(key.HeadComment)

		if !isLevel && example == "" {
			rows(t, &general, &yaml.Node{Content: root.Content[i : i+2]}, known, "")
			continue
		}

		fmt.Fprintf(&sections, "\n## %s\n\n", key.Value)

		if text != "" {
			fmt.Fprintf(&sections, "%s\n\n", wrap(text))
		}

		if example != "" {
			fmt.Fprintf(&sections, "```yaml\n%s\n```\n", example)
			continue
		}

		sections.WriteString("| value | default | description |\n|---|---|---|\n")
		rows(t, &sections, value, level, key.Value+".")
	}
	return introduction + general.String() + sections.String()
}

// TestValuesPage checks that docs/values.md lists the values, their defaults and their comments. With -update, it
// writes the page.
func TestValuesPage(t *testing.T) {
	want := valuesPage(t)

	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/values.md is old; run: go test ./charts -update (-want +got):\n%s", diff)
	}
}
