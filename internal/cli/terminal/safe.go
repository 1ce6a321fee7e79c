package terminal

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// safe is an output whose text contains only printable characters, line breaks and tabs. All other characters are
// written as escapes, because much of what sparkctl prints was written by others: names, messages, logs. The only way
// to write a control sequence is Send. Each Write must be given whole characters.
type safe struct{ out io.Writer }

func (s safe) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.out, bounds.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Safe returns the streams with outputs that write the characters of a text as escapes, if a terminal would interpret
// them.
func (s Streams) Safe() Streams {
	for _, out := range []*io.Writer{&s.Out, &s.Err} {
		if _, already := (*out).(safe); !already {
			*out = safe{*out}
		}
	}
	return s
}

// Direct returns the output that an output of Safe writes to. It is for the outputs of other programs, and for facts
// about the output itself.
func Direct(out io.Writer) io.Writer {
	if s, ok := out.(safe); ok {
		return s.out
	}
	return out
}

// Control is a control sequence of this program. No text of others may become one.
type Control string

// These are the control sequences, beside those of the colours.
const (
	clearScreen Control = "\x1b[H\x1b[2J" // clears the terminal and moves the cursor to its beginning
	screenStart Control = "\x1b[H"        // moves the cursor to the beginning of the terminal
	clearLine   Control = "\x1b[K"        // clears the rest of the line
	clearBelow  Control = "\x1b[J"        // clears the rest of the terminal
	LineStart   Control = "\r"            // moves the cursor to the beginning of its line
)

// Send writes a control sequence to an output. Errors have no effect, because the next text has the same error.
func Send(out io.Writer, control Control) { _, _ = io.WriteString(Direct(out), string(control)) }

// colourSequences matches the sequences that set colours and other attributes of characters (SGR).
var colourSequences = regexp.MustCompile(`\x1b\[[0-9;:]{0,32}m`)

// Coloured returns an output that also writes the colours in a text of others. They end with each Write, so that they
// do not colour what this program prints. Other control sequences are written as escapes.
func Coloured(out io.Writer) io.Writer { return coloured{out} }

type coloured struct{ out io.Writer }

func (c coloured) Write(p []byte) (int, error) {
	end := bytes.HasSuffix(p, []byte("\n"))

	text, last := strings.TrimSuffix(string(p), "\n"), 0
	for _, at := range colourSequences.FindAllStringIndex(text, -1) {
		fmt.Fprint(c.out, text[last:at[0]])
		Send(c.out, Control(text[at[0]:at[1]]))
		last = at[1]
	}

	fmt.Fprint(c.out, text[last:])

	if last > 0 {
		Send(c.out, reset)
	}

	if end {
		fmt.Fprintln(c.out)
	}
	return len(p), nil
}

// controls are the characters that JSON may contain, and that a parser of YAML refuses.
var controls = regexp.MustCompile(`[\x{7f}-\x{9f}]`)

// YAML converts JSON to YAML that keeps its values if it is printed by an output of Safe: values that cannot be printed
// are put in double quotes, where the escapes of that output mean the same characters.
func YAML(json []byte) ([]byte, error) {
	text, err := sigsyaml.JSONToYAML(controls.ReplaceAllFunc(json, func(c []byte) []byte { return []byte(bounds.Line(string(c))) }))
	if err != nil || bounds.Text(string(text)) == string(text) {
		return text, err
	}

	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}

	QuoteYAML(&document)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err = encoder.Encode(&document)
	return out.Bytes(), err
}

// QuoteYAML puts all texts of a YAML tree that cannot be printed in double quotes.
func QuoteYAML(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && bounds.Text(node.Value) != node.Value {
		node.Style = yaml.DoubleQuotedStyle
	}

	for _, child := range node.Content {
		QuoteYAML(child)
	}
}
