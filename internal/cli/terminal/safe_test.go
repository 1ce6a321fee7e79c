package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/unprintable"
)

// TestOnlyOwnControlsPass checks that no text reaches a terminal with characters that it interprets, also not a text
// that equals one of this program's own control sequences, and that the control sequences themselves pass.
func TestOnlyOwnControlsPass(t *testing.T) {
	var out strings.Builder
	s := Streams{Out: &out, Err: io.Discard, Width: 80}.Safe().Safe()
	fmt.Fprint(s.Out, string(red)+string(clearScreen)+string(LineStart)+unprintable.Text)

	if found := unprintable.First(out.String()); found != "" {
		t.Errorf("%q", found)
	}

	out.Reset()
	Send(s.Out, clearScreen)
	fmt.Fprintln(s.Out, "a\tb")

	if out.String() != "\x1b[H\x1b[2Ja\tb\n" {
		t.Errorf("%q", out.String())
	}

	if Direct(s.Out) != io.Writer(&out) || Direct(&out) != io.Writer(&out) {
		t.Error("the outputs of other programs are not direct")
	}
}

// TestColouredPassesOnlyColours checks that the colours of a log end with its line, and that nothing else passes.
func TestColouredPassesOnlyColours(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[31mred\n": "\x1b[31mred\x1b[0m\n",
		"\x1b[1;38;5;9mred\x1b[0m \x1b[2J\x1b]52;c;aGk=\x07\n": "\x1b[1;38;5;9mred\x1b[0m \\x1b[2J\\x1b]52;c;aGk=\\x07\x1b[0m\n",
		"plain\tline\r\n":                        "plain\tline\\r\n",
		"\u009b31m \x1b[31":                      "\\u009b31m \\x1b[31",
		"\x1b[?25l\x1b[6n\x1b]8;;http://x\x1b\\": "\\x1b[?25l\\x1b[6n\\x1b]8;;http://x\\x1b\\",
	} {
		var out strings.Builder
		fmt.Fprint(Coloured(Streams{Out: &out}.Safe().Out), text)

		if out.String() != want {
			t.Errorf("%q becomes %q, want %q", text, out.String(), want)
		}
	}
}

// TestCellsAndLinesArePrintable checks that the cells of a table and wrapped texts have no line breaks of others, which
// could forge rows, and that their escapes count as columns.
func TestCellsAndLinesArePrintable(t *testing.T) {
	table := Table{Columns: []Column{{Header: "NAME"}, {Header: "STATE"}},
		Rows: [][]string{{"a\nforged   RUNNING", unprintable.Text}}}
	for _, width := range []int{0, 60} {
		texts := []string{table.String(width), Wrap("why: ", "a\nb "+unprintable.Text, width),
			table.Layout(width).Line([]string{"a\nb", unprintable.Text})}
		for _, text := range texts {
			if found := unprintable.First(text); found != "" || strings.Contains(text, "\nforged") ||
				strings.Contains(text, "\nb") {
				t.Errorf("width %d: %q", width, text)
			}
		}
	}
}

// TestQuotedWordsAreOneWord checks with a shell that a quoted word is the word itself.
func TestQuotedWordsAreOneWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}

	for _, word := range []string{"plain", "", "a b", "x; rm -rf /", "$(id)", "`id`", "it's", "a\nb", "\x1b[31m'\\",
		"--flag=*", "~", "\u202e", "a\\nb"} {
		if got := Quote(word); unprintable.First(got) != "" || strings.Contains(got, "\n") {
			t.Errorf("%q is quoted as %q", word, got)
		}

		printed, err := exec.Command(bash, "-c",
			"LC_ALL=C.UTF-8; "+string(Commandf("printf %s %s", "%s", word))).Output()
		if err != nil || string(printed) != word {
			t.Errorf("%q is quoted as %s and printed as %q: %v", word, Quote(word), printed, err)
		}
	}
}

// TestPrintedYAMLHasTheSameValues checks that YAML with values that cannot be printed is valid after it was printed,
// and has the same keys and values.
func TestPrintedYAMLHasTheSameValues(t *testing.T) {
	for _, value := range []any{
		map[string]any{"a": unprintable.Text, "b": []any{"x\u202ey", "two\nlines\u2028", "plain", ""},
			unprintable.Text: "c", "d": map[string]any{"\u009b": "\x7f"}},
		map[string]any{"a": "plain", "b": "two\nlines\n"},
	} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}

		shown, err := YAML(text)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		fmt.Fprint(Streams{Out: &out}.Safe().Out, string(shown))

		if found := unprintable.First(out.String()); found != "" {
			t.Errorf("%q", found)
		}

		var again any
		if err := yaml.Unmarshal([]byte(out.String()), &again); err != nil {
			t.Fatalf("%v:\n%s", err, out.String())
		}

		after, err := json.Marshal(again)
		if err != nil || string(after) != string(text) {
			t.Errorf("%v: %q becomes %q", err, text, after)
		}
	}
}
