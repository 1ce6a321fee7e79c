package podlog

import (
	"bytes"
	"strings"
	"testing"
)

// TestTailIsBounded checks that the last lines of a log are bounded in size too, and that the last one stays.
func TestTailIsBounded(t *testing.T) {
	line := strings.Repeat("x", 1<<20) + "\n"

	var out bytes.Buffer
	if err := CopyLines(strings.NewReader(strings.Repeat(line, 40)+"the end\n"), 20_000, MaxTail, "", &out); err != nil {
		t.Fatal(err)
	}

	if out.Len() > MaxTail || out.Len() < MaxTail/2 || !strings.HasSuffix(out.String(), "\nthe end\n") {
		t.Errorf("%d bytes, at most %d wanted", out.Len(), MaxTail)
	}
}
