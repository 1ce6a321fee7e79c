package conf

import (
	"slices"
	"testing"
)

func TestSplitJavaOptions(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \t\n": nil, "-Da=b": {"-Da=b"}, " -Da=b  -Dc ": {"-Da=b", "-Dc"}, `-Da="b c" -Dd`: {"-Da=b c", "-Dd"}, `-Da='b "c'`: {`-Da=b "c`},
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
