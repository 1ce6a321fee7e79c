// Package manifest reads what users have: manifests of custom resources in files, directories and the standard input,
// and command lines of spark-submit (submission.go). A manifest may have several YAML documents. The package keeps the
// place of every field, so that messages can name file, line and column.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// standard is the file name that stands for the standard input.
const standard = "-"

// maxDocuments is the largest number of documents of a file. A parser takes some kilobytes for an empty document.
const maxDocuments = 1_000

// Place is a place in a file. Line and Column count from 1.
type Place struct {
	File         string
	Line, Column int
}

// String returns the place in the format of compiler messages.
func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// The rules that faults break.
const (
	RuleSyntax       = "syntax"
	RuleKind         = "unknown-kind"
	RuleForeign      = "unknown-group"
	RuleMissingField = "missing-field"
	RuleInvalid      = "invalid"
	RuleUnknownField = "unknown-field"
	RuleDuplicate    = "duplicate-key"
	RulePlaceholder  = "placeholder"
)

// Fault is an error at a place in a file, or a warning.
type Fault struct {
	Place
	Rule, Field, Message string
}

// Warning reports whether the API server accepts a manifest with the fault.
func (f *Fault) Warning() bool {
	return f.Rule == RuleUnknownField || f.Rule == RuleDuplicate || f.Rule == RulePlaceholder || f.Rule == RuleForeign
}

// Error returns the place, the field and the message.
func (f *Fault) Error() string {
	if f.Field == "" {
		return f.Place.String() + ": " + f.Message
	}
	return f.Place.String() + ": " + f.Field + ": " + f.Message
}

// Document is one YAML document of a file, or the content of a JSON file.
type Document struct {
	File string
	// JSON is the document as kubectl converts it.
	JSON []byte
	root *yamlv3.Node
	line int // of the document's first line, from 0
}

// Files returns the files that the given names stand for. A directory stands for all YAML and JSON files in it and in
// its subdirectories. The name "-" stands for the standard input.
func Files(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case name == standard:
			files = append(files, name)
			continue
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, name)
			continue
		}

		before := len(files)

		err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}

		if len(files) == before {
			return nil, fmt.Errorf("%s: the directory has no files that end with .yaml, .yml or .json", name)
		}
	}
	return files, nil
}

// Load reads a file, but not more of it than Read accepts.
func Load(file string, in io.Reader) ([]byte, error) {
	if file != standard {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()

		in = opened
	}
	return io.ReadAll(io.LimitReader(in, podtemplate.MaxYAMLBytes+1))
}

// Read splits a file into documents. For a document that cannot be read, Read returns a fault, and still returns the
// other documents. It leaves out documents without content. It reads nothing of a file that is too large to be parsed.
func Read(file string, data []byte) (documents []Document, faults []*Fault) {
	if err := podtemplate.CheckYAML(data); err != nil {
		return nil, []*Fault{{Place: Place{file, 1, 1}, Rule: RuleSyntax, Message: err.Error()}}
	}

	parts := split(data)
	if len(parts) > maxDocuments {
		return nil, []*Fault{{Place: Place{file, 1, 1}, Rule: RuleSyntax, Message: fmt.Sprintf("has more than %d documents; split it into smaller files", maxDocuments)}}
	}

	for _, part := range parts {
		document := Document{File: file, line: part.line}

		node, asJSON, err := podtemplate.ReadManifest(part.text)
		if err == nil && (len(node.Content) == 0 || node.Content[0].Tag == "!!null") {
			continue
		}

		if err == nil {
			document.root, document.JSON = node.Content[0], asJSON
		}

		if err == nil && document.root.Kind != yamlv3.MappingNode {
			err = errors.New("is not an object: a manifest begins with apiVersion and kind")
		}

		if err != nil {
			faults = append(faults, part.faults(file, err)...)
			continue
		}

		documents = append(documents, document.items()...)
	}
	return documents, faults
}

// items returns the objects of a list, such as one that kubectl get -o yaml prints, or else the document itself.
func (d *Document) items() (found []Document) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}

	_, node := Child(d.root, "items")
	if !strings.HasSuffix(d.Kind().Kind, "List") || node == nil || utiljson.Unmarshal(d.JSON, &list) != nil || len(list.Items) != len(node.Content) {
		return []Document{*d}
	}

	for i, item := range list.Items {
		found = append(found, Document{File: d.File, JSON: item, line: d.line, root: node.Content[i]})
	}
	return found
}

// part is the text of a document, and the number of lines in the file before that text.
type part struct {
	text []byte
	line int
}

var separator = regexp.MustCompile(`^---(\s|$)`)

// split splits a file at its document separators. A separator may be followed by content on the same line.
func split(data []byte) []part {
	parts := []part{{}}

	begin, end, i := 0, 0, 0
	for line := range bytes.Lines(data) {
		last := &parts[len(parts)-1]
		if separator.Match(line) && len(bytes.TrimSpace(last.text)) > 0 {
			parts = append(parts, part{line: i})
			last, begin = &parts[len(parts)-1], end
		}

		end, i = end+len(line), i+1
		last.text = data[begin:end]
	}
	return parts
}

// braces match an expression of a template that no tool has rendered yet.
var braces = regexp.MustCompile(`\{\{[^{}\n]*\}\}|\{%[^\n]*%\}`)

// lineInMessage matches the line number in an error of a YAML parser.
var lineInMessage = regexp.MustCompile(`^(?:yaml: |error converting YAML to JSON: |unmarshal errors:\s*)*line (\d+): (.*)$`)

// faults converts an error of a YAML parser into faults with places. One error can list several faults, such as
// duplicate keys.
func (p part) faults(file string, err error) (faults []*Fault) {
	if at := braces.FindIndex(p.text); at != nil {
		place := Place{file, p.line + 1 + bytes.Count(p.text[:at[0]], []byte("\n")), 1}
		return []*Fault{{Place: place, Rule: RuleSyntax, Message: "is a template of Helm, Jinja or the like that is not rendered yet: " + conf.Shorten(string(p.text[at[0]:at[1]])) +
			"; render it first, such as with helm template, and check the result"}}
	}

	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")

	text = strings.TrimPrefix(strings.TrimPrefix(text, "yaml: "), "unmarshal errors:")
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}

		at, message := 1, line
		if match := lineInMessage.FindStringSubmatch(line); match != nil {
			at, _ = strconv.Atoi(match[1])
			message = match[2]
		} else if found := controls.FindIndex(p.text); found != nil {
			at += bytes.Count(p.text[:found[0]], []byte("\n"))
		}

		faults = append(faults, &Fault{Place: Place{file, p.line + at, 1}, Rule: RuleSyntax, Message: inWords(strings.TrimPrefix(message, "yaml: "))})
	}
	return faults
}
