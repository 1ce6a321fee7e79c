package submit_test

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// expand changes text as the kubelet changes a container's arguments. It replaces "$(NAME)" by EXPANDED if NAME is the
// given variable name (the parameter `known`), and "$$" by a dollar sign. It garbles a character beyond ASCII that
// follows a dollar sign, because the kubelet reads such a character byte by byte.
func expand(text string, known string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}

		i++
		switch end := strings.IndexByte(text[i:], ')'); {
		case text[i] == '$':
			b.WriteByte('$')
		case text[i] == '(' && end >= 0 && text[i+1:i+end] == known:
			b.WriteString("EXPANDED")

			i += end
		case text[i] == '(' && end >= 0:
			b.WriteString("$" + text[i:i+end+1])
			i += end
		default:
			b.WriteString("$" + string(rune(text[i])))
		}
	}
	return b.String()
}

// FuzzEscapeArg checks that an argument reaches the application unchanged.
func FuzzEscapeArg(f *testing.F) {
	for _, arg := range []string{"", "$", "$$", "$(A)", "$$(A)", "$$$(A)", "a$(A)b$(B)$", "$é", "$(", "$((A))",
		"\xff$\xff"} {
		f.Add(arg)
	}

	f.Fuzz(func(t *testing.T, arg string) {
		if got := expand(submit.EscapeArg(arg), "A"); got != arg {
			t.Errorf("%q is escaped as %q and arrives as %q", arg, submit.EscapeArg(arg), got)
		}
	})
}
