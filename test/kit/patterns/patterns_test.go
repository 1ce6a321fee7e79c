package patterns

import (
	"strings"
	"testing"
)

func TestMatchesRemembersEachTextByItself(t *testing.T) {
	digits, mixed := strings.Repeat("1", 1000), strings.Repeat("1", 999)+"a"
	for range 2 { // first computed, then cached
		if !Matches("^[0-9]+$", digits) || Matches("^[0-9]+$", mixed) || !Matches("^[0-9a]+$", mixed) {
			t.Error("a remembered match is of another text or pattern")
		}
	}

	if !Matches("^a$", "a") || Matches("^a$", "b") {
		t.Error("a short text is matched wrongly")
	}
}

func TestLongestIsMatchedAndFillsTheSize(t *testing.T) {
	for _, pattern := range []string{"^[0-9]+$", "^([a-z]*|[0-9]+)(m|g)?$", `^\d{1,3}(\.\d{1,100})?$`, "^a|b{2,}$"} {
		text := Longest(pattern, 64)
		if text == "" || !Matches(pattern, text) || text != Longest(pattern, 64) {
			t.Errorf("the longest match of %s is %q", pattern, text)
		}
	}

	if text := Longest("^[0-9]+$", 4096); len(text) < 1024 || len(text) > 4096 {
		t.Errorf("the longest number has %d digits", len(text))
	}

	if text := Longest(`^a\bb$`, 64); text != "" {
		t.Errorf("a pattern that matches nothing has the longest match %q", text)
	}
}
