package terminal

import (
	"strings"
	"testing"
)

// TestColoursOnlyOnATerminal checks that words are coloured only on a terminal that can show colours, and never with
// NO_COLOR.
func TestColoursOnlyOnATerminal(t *testing.T) {
	for _, test := range []struct {
		width          int
		noColour, kind string
		want           string
	}{
		{80, "", "xterm", "\x1b[31mfailed\x1b[0m"}, {0, "", "xterm", "failed"}, {80, "1", "xterm", "failed"},
		{80, "", "dumb", "failed"},
	} {
		t.Setenv("NO_COLOR", test.noColour)
		t.Setenv("TERM", test.kind)
		var out strings.Builder
		streams := Streams{Out: &out, Width: test.width}.Safe()
		streams.Paint("it failed, failed\n", "failed", "failed")
		streams.Paint("it failed\n", "failed", "a word without a colour")

		if want := "it " + test.want + ", failed\nit failed\n"; out.String() != want {
			t.Errorf("%+v: %q", test, out.String())
		}
	}
}
