package lifecycle

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestBoundedMessages checks that a message of up to 4,096 bytes stays as it is and that a longer one is cut, not
// inside a character. A message that was cut is not changed again, because a cause passes through several phases.
func TestBoundedMessages(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string][2]string{
		"no message":                {"", ""},
		"as long as allowed":        {x(4096), x(4096)},
		"one byte too long":         {x(4097), x(4096) + "..."},
		"much too long":             {x(100_000), x(4096) + "..."},
		"a character at the limit":  {x(4095) + "é" + x(10), x(4095) + "..."},
		"a character in the limit":  {x(4094) + "é" + x(10), x(4094) + "é..."},
		"a wide character":          {x(4094) + "漢" + x(10), x(4094) + "..."},
		"not UTF-8":                 {"\xff" + x(4096), `\xff` + x(4092) + "..."},
		"an escape sequence":        {"a\x1b[2Jb\n\tc\u202e", `a\x1b[2Jb` + "\n\tc" + `\u202e`},
		"cut in an escape":          {x(4094) + "\x1b" + x(10), x(4094) + `\x` + "..."},
		"cut before":                {x(4096) + "...", x(4096) + "..."},
		"cut before in a character": {x(4095) + "...", x(4095) + "..."},
	} {
		cause := Cause{Reason: "Reason", Message: c[0]}.Bounded()
		if cause.Reason != "Reason" || cause.Message != c[1] {
			t.Errorf("%s: %d bytes become %d bytes that end in %q, want %d", name, len(c[0]), len(cause.Message),
				cause.Message[max(0, len(cause.Message)-9):], len(c[1]))
		}

		if again := cause.Bounded(); again != cause {
			t.Errorf("%s: the second cut ends in %q", name, again.Message[len(again.Message)-9:])
		}
	}
}

// FuzzBounded checks that a message is never too long for a status, that it stays UTF-8, and that it is cut once.
func FuzzBounded(f *testing.F) {
	f.Add("é", 2048, "x")
	f.Add("x", 4095, "漢字")
	f.Add(".", 4097, "")
	f.Fuzz(func(t *testing.T, unit string, n int, end string) {
		text := strings.Repeat(unit, min(max(n, 0), 9000/max(len(unit), 1))) + end

		once := Cause{Reason: "R", Message: text}.Bounded()
		if len(once.Message) > MaxMessage+len("...") || once.Bounded() != once {
			t.Errorf("%d bytes become %d, and then %d", len(text), len(once.Message), len(once.Bounded().Message))
		}

		if utf8.ValidString(text) && !utf8.ValidString(once.Message) {
			t.Errorf("%q is not UTF-8", once.Message)
		}

		if len(text) <= MaxMessage && once.Message != text {
			t.Errorf("a message of %d bytes is changed", len(text))
		}
	})
}

// TestCutKeepsWholeCharacters checks texts at the limit, above the limit, and with characters that the limit divides.
func TestCutKeepsWholeCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"nothing":                          {"", 0, ""},
		"one byte less than the limit":     {"abc", 4, "abc"},
		"exactly the limit":                {"abcd", 4, "abcd"},
		"one byte more than the limit":     {"abcde", 4, "abcd..."},
		"a limit of 0":                     {"a", 0, "..."},
		"a limit between two characters":   {"aéé", 3, "aé..."},
		"a limit within a character":       {"aéé", 4, "aé..."},
		"a limit within the first one":     {"\U0001F600b", 3, "..."},
		"a limit within a character of 4":  {"ab\U0001F600", 5, "ab..."},
		"exactly the limit, of characters": {"éé", 4, "éé"},
		"bytes that are no characters":     {"a\xffb\xfec", 4, "ab..."},
		"a short text stays as it is":      {"a\xff", 4, "a\xff"},
	} {
		if got := Cut(c.text, c.limit); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// FuzzCut checks that a cut text has at most the limit and the mark, that it is a prefix of the text, and that it has
// no part of a character.
func FuzzCut(f *testing.F) {
	f.Add("abc", 2)
	f.Add("é\U0001F600", 3)
	f.Add("\xff\xff\xff", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(limit%4096, 0)

		got := Cut(text, limit)
		if len(text) <= limit {
			if got != text {
				t.Errorf("%q of %d bytes is changed to %q", text, len(text), got)
			}
			return
		}

		rest, marked := strings.CutSuffix(got, "...")
		if !marked || len(rest) > limit || !utf8.ValidString(got) {
			t.Errorf("%q is cut to %q", text, got)
		}

		if utf8.ValidString(text) && (!strings.HasPrefix(text, rest) || len(rest) < limit-utf8.UTFMax+1) {
			t.Errorf("%q is cut to %q, which drops more than a part of a character", text, got)
		}
	})
}

// TestGateGrace checks how long a wait for scheduling gates is not reported.
func TestGateGrace(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		reason string
		age    time.Duration
		want   time.Duration
	}{
		"a new pod":                   {ReasonSchedulingGated, 0, 5 * time.Second},
		"a pod of 2 s":                {ReasonSchedulingGated, 2 * time.Second, 3 * time.Second},
		"shortly before the end":      {ReasonSchedulingGated, 5*time.Second - 1, 1},
		"after 5 s":                   {ReasonSchedulingGated, 5 * time.Second, 0},
		"an old pod":                  {ReasonSchedulingGated, time.Hour, 0},
		"a pod of a clock that leads": {ReasonSchedulingGated, -time.Hour, 5 * time.Second},
		"another wait reason":         {"Unschedulable", 0, 0},
		"no wait reason":              {"", 0, 0},
	} {
		if got := GateGrace(Cause{Reason: c.reason}, now.Add(-c.age), now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
