package lifecycle

import (
	"strings"
	"testing"
)

func TestRestartRequest(t *testing.T) {
	if got := RestartRequest(map[string]string{RestartAnnotation: ""}); got != "" {
		t.Errorf("an empty value requests %q", got)
	}

	short, long := RestartRequest(map[string]string{RestartAnnotation: "1"}),
		RestartRequest(map[string]string{RestartAnnotation: strings.Repeat("1", 200_000)})
	if len(short) != 24 || len(long) != 24 || short == long {
		t.Errorf("requests %q and %q", short, long)
	}

	for _, test := range []struct {
		done, wanted string
		want         bool
	}{{"", "", false}, {"", "a", true}, {"a", "a", false}, {"a", "b", true}, {"a", "", false}} {
		if got := RestartRequested(test.done, test.wanted); got != test.want {
			t.Errorf("after %q, %q is requested: %v", test.done, test.wanted, got)
		}
	}
}
