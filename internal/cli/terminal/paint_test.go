package terminal

import "testing"

// TestColoursOnlyOnATerminal checks that words are coloured only on a terminal that can show colours, and never with
// NO_COLOR.
func TestColoursOnlyOnATerminal(t *testing.T) {
	for _, test := range []struct {
		width          int
		noColour, kind string
		want           string
	}{
		{80, "", "xterm", "\x1b[31mfailed\x1b[0m"}, {0, "", "xterm", "failed"}, {80, "1", "xterm", "failed"}, {80, "", "dumb", "failed"},
	} {
		t.Setenv("NO_COLOR", test.noColour)
		t.Setenv("TERM", test.kind)
		if got := (Streams{Width: test.width}).Colours().Level("failed"); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
	if got := Paint(true).As("unknown", "text"); got != "text" {
		t.Errorf("a word without a colour: %q", got)
	}
}
