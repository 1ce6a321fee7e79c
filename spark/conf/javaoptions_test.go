package conf

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSplitJavaOptions(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \t\n": nil, "-Da=b": {"-Da=b"}, " -Da=b  -Dc ": {"-Da=b", "-Dc"},
		`-Da="b c" -Dd`: {"-Da=b c", "-Dd"}, `-Da='b "c'`: {`-Da=b "c`},
		`"" ''`: {"", ""}, `a\ b`: {"a b"}, `"a\"b"`: {`a"b`}, `'a\' b`: {`a\`, "b"}, `\\`: {`\`},
	} {
		if got, ok := SplitJavaOptions(text); !ok || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %t, want %q", text, got, ok, want)
		}
	}

	for _, text := range []string{`"`, `'`, `\`, `"a'`, `a "b\"`} {
		if got, ok := SplitJavaOptions(text); ok {
			t.Errorf("%q is %q, want none", text, got)
		}
	}
}

// TestWhitespaceOfJavaOptions checks which characters separate words: those for which java.lang.Character.isWhitespace
// is true. Blanks that do not break a line, such as U+00A0, are a part of a word.
func TestWhitespaceOfJavaOptions(t *testing.T) {
	for _, r := range []rune{' ', '\t', '\n', '\v', '\f', '\r', 0x1c, 0x1d, 0x1e, 0x1f, 0x1680, 0x2000, 0x2006, 0x2008,
		0x200a, 0x2028, 0x2029, 0x205f, 0x3000} {
		if got, ok := SplitJavaOptions("a" + string(r) + "b"); !ok || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%U does not separate words: %q, %t", r, got, ok)
		}
	}

	for _, r := range []rune{0x00, 0x08, 0x0e, 0x1b, 0x7f, 0x85, 0xa0, 0x2007, 0x202f, 0x200b, 0xfeff, 'é'} {
		text := "a" + string(r) + "b"
		if got, ok := SplitJavaOptions(text); !ok || !slices.Equal(got, []string{text}) {
			t.Errorf("%U separates words: %q, %t", r, got, ok)
		}
	}
}

// TestSplitExecutorOptions checks the words into which a driver splits the options of its executors, where they differ
// from the words of SplitJavaOptions and where they do not.
func TestSplitExecutorOptions(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \t\r\n": nil, " -Da=b\t-Dc\r\n-Dd ": {"-Da=b", "-Dc", "-Dd"},
		`-Da="b c"'d e' -Df`: {"-Da=b cd e", "-Df"}, `"" ''`: {"", ""},
		`a\ b`: {`a\`, "b"}, `\\`: {`\\`}, `-Da=C:\tmp`: {`-Da=C:\tmp`}, `\"a b\"`: {`\a b"`}, `\'a b`: {`\a b`},
		`\`:          {`\`},
		`"a\"b\\\c"`: {`a"b\c`}, `'a\' b`: {`a\`, "b"}, `"a\`: {"a"}, `"a b`: {"a b"}, `a 'b c`: {"a", "b c"},
		`"`:                   {""},
		"a\vb\fc\x1cd\u2003e": {"a\vb\fc\x1cd\u2003e"}, "a\u0085b\u00a0c": {"a\u0085b\u00a0c"},
	} {
		if got := SplitExecutorOptions(text); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// FuzzSplitJavaOptions checks that words are the same after they are quoted, in three ways, and split again. Words in
// quotes are the same for executors.
func FuzzSplitJavaOptions(f *testing.F) {
	f.Add("-Da=b c", `'"\`)
	f.Add("", "\u00a0é")
	f.Add("a\nb", "\x1c")

	escaped := func(text string) string { return `\` + strings.Join(strings.Split(text, ""), `\`) }
	double := func(text string) string { return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text) + `"` }
	single := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	f.Fuzz(func(t *testing.T, first, second string) {
		if !utf8.ValidString(first) || !utf8.ValidString(second) {
			return
		}

		for name, quote := range map[string]func(string) string{"escaped": escaped, "double": double,
			"single": single} {
			if name == "escaped" && (first == "" || second == "") {
				continue
			}

			text := " " + quote(first) + "\t" + quote(second) + "\n"
			if got, ok := SplitJavaOptions(text); !ok || !slices.Equal(got, []string{first, second}) {
				t.Errorf("%s: %q is %q, %t", name, text, got, ok)
			}

			if got := SplitExecutorOptions(text); name == "double" && !slices.Equal(got, []string{first, second}) {
				t.Errorf("%s: %q is %q for executors", name, text, got)
			}
		}
	})
}
