package conf

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestMarshalProperties(t *testing.T) {
	c := pairs(
		"spark.plain", "value",
		"spark.empty", "",
		"spark.url", "k8s://https://h:1",
		"a b", "c d",
		"spark.blanks", "  x  ",
		"spark.marks", "=#!:\\",
		"spark.lines", "a\tb\nc\rd\fe",
		"spark.umlaut", "Äé漢😀",
		"#key!", "1",
	)

	want := strings.Join([]string{
		"#one", "#two", "#three",
		"spark.plain=value",
		"spark.empty=",
		`spark.url=k8s\://https\://h\:1`,
		`a\ b=c d`,
		`spark.blanks=\  x  `,
		`spark.marks=\=\#\!\:\\`,
		`spark.lines=a\tb\nc\rd\fe`,
		"spark.umlaut=Äé漢😀",
		`\#key\!=1`, "",
	}, "\n")
	if diff := cmp.Diff(want, MarshalProperties(c, "one", "two\r\nthree")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestUnmarshalProperties compares UnmarshalProperties with results of java.util.Properties.load.
func TestUnmarshalProperties(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"empty": {"", map[string]string{}},
		"separators": {"a=1\nb:2\nc 3\nd\t4\ne = 5\nf : 6\ng   =   7",
			map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6", "g": "7"}},
		"only the first separator": {"a==1\nb=:2\nc : =3", map[string]string{"a": "=1", "b": ":2", "c": "=3"}},
		"key alone":                {"a\nb=\nc ", map[string]string{"a": "", "b": "", "c": ""}},
		"empty key":                {"=x", map[string]string{"": "x"}},
		"comments": {"# a=1\n! b=2\n  # c=3\nd=4 # not a comment",
			map[string]string{"d": "4 # not a comment"}},
		"comment is not continued":      {"# a \\\nb=1", map[string]string{"b": "1"}},
		"blank lines":                   {"\n \t\n\f\na=1\n\n", map[string]string{"a": "1"}},
		"line ends":                     {"a=1\r\nb=2\rc=3\n", map[string]string{"a": "1", "b": "2", "c": "3"}},
		"leading blanks":                {"  \t a=1", map[string]string{"a": "1"}},
		"trailing blanks stay":          {"a=1  ", map[string]string{"a": "1  "}},
		"continued":                     {"a=1,\\\n   2,\\\r\n\t3", map[string]string{"a": "1,2,3"}},
		"continued with a mark":         {"a=1\\\n#2", map[string]string{"a": "1#2"}},
		"even backslashes end a line":   {"a=1\\\\\nb=2", map[string]string{"a": `1\`, "b": "2"}},
		"continued key":                 {"a\\\n  b=1", map[string]string{"ab": "1"}},
		"backslash at the end":          {"a=1\\", map[string]string{"a": "1"}},
		"escapes":                       {`a\=b\:c\ d=\t\n\r\f\\\q\#`, map[string]string{"a=b:c d": "\t\n\r\f\\q#"}},
		"unicode":                       {`a=\u00C4\u6f22\uD83D\uDE00`, map[string]string{"a": "Ä漢😀"}},
		"half a pair":                   {`a=\uD83Dx`, map[string]string{"a": "\uFFFDx"}},
		"half a pair and another":       {`a=\uD83D\u0041`, map[string]string{"a": "\uFFFDA"}},
		"the last of a key counts":      {"a=1\na=2", map[string]string{"a": "2"}},
		"raw text that is not ASCII":    {"schlüssel=wért", map[string]string{"schlüssel": "wért"}},
		"value begins with escaped gap": {`a=\ x`, map[string]string{"a": " x"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := UnmarshalProperties(c.text)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(c.want, got.Map()); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestUnmarshalBrokenEscape(t *testing.T) {
	for _, text := range []string{`a=\u12`, `a=\u12G4`, `\uzzzz=1`, `a=\u`} {
		if c, err := UnmarshalProperties(text); err == nil || !strings.Contains(err.Error(), "hexadecimal") {
			t.Errorf("UnmarshalProperties(%q) = %v, %v", text, c.Map(), err)
		}
	}

	_, err := UnmarshalProperties(`spark.k=\u12`)
	if wrong, ok := errors.AsType[*Error](err); !ok || wrong.Key != "spark.k" {
		t.Errorf("%v does not name the key", err)
	}
}

// FuzzProperties checks that every text is the same after it is written as a property and read again.
func FuzzProperties(f *testing.F) {
	f.Add("spark.a", "b", "c d", " = #!\\\n\t\r\f:")
	f.Add("", "", "\\", "\\u0041")
	f.Add("#k", "!v\u2028", "k\\", "é😀")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		c := pairs(k1, v1, k2, v2)
		text := MarshalProperties(c, v1)

		back, err := UnmarshalProperties(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}

		if diff := cmp.Diff(c.Map(), back.Map()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}

		if diff := cmp.Diff(c.Keys(), back.Keys()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// FuzzUnmarshalProperties checks that no text makes the parser panic, and that parsed properties do not change if they
// are written and parsed again.
func FuzzUnmarshalProperties(f *testing.F) {
	for _, text := range []string{"a=b", "a\\\n b", "\\", "\\\n", "\\\n\\\n", "\\u00", "=\\", " \\\r\n=",
		"a=\\\n\n b=c"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		c, err := UnmarshalProperties(text)
		if err != nil {
			return
		}

		again, err := UnmarshalProperties(MarshalProperties(c))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}

		if diff := cmp.Diff(c.Map(), again.Map()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}

		if utf8.ValidString(text) {
			for key, value := range c.All() {
				if !utf8.ValidString(key) || !utf8.ValidString(value) {
					t.Errorf("%q gave text that is not UTF-8: %q=%q", text, key, value)
				}
			}
		}
	})
}

// TestCommentsStayComments checks that no line of a comment becomes a property, whatever ends its lines.
func TestCommentsStayComments(t *testing.T) {
	for comment, want := range map[string]string{
		"": "#\n", "a": "#a\n", "a\nb=1": "#a\n#b=1\n", "a\rb=1": "#a\n#b=1\n", "a\r\nb=1": "#a\n#b=1\n",
		"a\n\rb": "#a\n#\n#b\n", "a\n": "#a\n#\n", `a\`: "#a\\\n",
	} {
		text := MarshalProperties(pairs("k", "v"), comment)
		if text != want+"k=v\n" {
			t.Errorf("the comment %q becomes %q", comment, text)
		}

		if c, err := UnmarshalProperties(text); err != nil || !c.Equal(pairs("k", "v")) {
			t.Errorf("the comment %q is read as %v, %v", comment, c.Map(), err)
		}
	}

	if got := MarshalProperties(nil); got != "" {
		t.Errorf("no configuration is %q", got)
	}
}

// TestBrokenEscapesAreNamed checks the message about a broken escape, which quotes only the escape and not the rest of
// the value. A broken escape in a key has no key to name.
func TestBrokenEscapesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`a=\u12G4secret`:    `a: broken escape "\\u12G4": \u needs four hexadecimal digits`,
		`a=\u+123`:          `a: broken escape "\\u+123": \u needs four hexadecimal digits`,
		`a=\u12`:            `a: broken escape "\\u12": \u needs four hexadecimal digits`,
		`b=1` + "\n" + `\u`: `broken escape "\\u": \u needs four hexadecimal digits`,
		`a=\uD83D\u12`:      `a: broken escape "\\u12": \u needs four hexadecimal digits`,
	} {
		if c, err := UnmarshalProperties(text); err == nil || c != nil || err.Error() != want {
			t.Errorf("%s is %v, %v, want %s", text, c.Map(), err, want)
		}
	}
}

// TestContinuedLines checks continuations that begin or end in unusual places, as java.util.Properties.load reads them.
func TestContinuedLines(t *testing.T) {
	for text, want := range map[string]*Conf{
		"\\\n#a=1":        pairs("#a", "1"),
		"\\\n\\\n  a=1":   pairs("a", "1"),
		"a=1\\\n\nb=2":    pairs("a", "1", "b", "2"),
		"a=1\\\n  \nb=2":  pairs("a", "1", "b", "2"),
		"a=1\\\\\\\n2":    pairs("a", `1\2`),
		"a=1\\\r\n\r\nb":  pairs("a", "1", "b", ""),
		"a \\\n = \\\n b": pairs("a", "b"),
		"a=\\\n\\ b":      pairs("a", " b"),
		"\\":              New(),
		"a=1\\\n":         pairs("a", "1"),
		"a=1\n\\\n":       pairs("a", "1"),
	} {
		if got, err := UnmarshalProperties(text); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v, want %v", text, got.Map(), err, want.Map())
		}
	}
}
