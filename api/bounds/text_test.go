package bounds

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/sparkoperator/spark-operator/test/kit/unprintable"
)

func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "é 漢字 🚀 \\x1b": "é 漢字 🚀 \\x1b", "a\x1b[2J": `a\x1b[2J`, "\u009b1m": `\u009b1m`,
		"\x9b1m": `\x9b1m`, "\u202e": `\u202e`,
		"a\nb\tc\rd": `a\nb\tc\rd`, "\x00\x7f": `\x00\u007f`, "\U000e0041": `\udb40\udc41`, "\ufffd": "\ufffd",
		"\xe2\x80": `\xe2\x80`, "\u00a0": `\u00a0`,
	} {
		if got := Line(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}

	if got := Text("a\nb\tc\rd\x1b"); got != "a\nb\tc\\rd\\x1b" {
		t.Errorf("%q", got)
	}
}

// FuzzEscapes checks that an escaped text is printable, is not changed again, and that JSON keeps its meaning.
func FuzzEscapes(f *testing.F) {
	f.Add(unprintable.Text)
	f.Add("\x80\xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		line := Line(text)
		if strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) || Line(line) != line ||
			Text(Text(text)) != Text(text) {
			t.Errorf("%q becomes %q", text, line)
		}

		if unprintable.First(Text(text)) != "" {
			t.Errorf("%q becomes %q", text, Text(text))
		}

		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}

		var before, after string
		if err := json.Unmarshal(encoded, &before); err != nil {
			t.Fatal(err)
		}

		if err := json.Unmarshal([]byte(Text(string(encoded))), &after); err != nil || before != after {
			t.Errorf("%s becomes %s: %v", strconv.Quote(before), strconv.Quote(after), err)
		}
	})
}
