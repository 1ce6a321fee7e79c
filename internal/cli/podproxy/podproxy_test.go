package podproxy

import (
	"strings"
	"testing"
)

// TestAnswersAreBounded checks that answers are refused whose values would take many times the memory of the text.
func TestAnswersAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"Spark's stages": {"[" + strings.Repeat(`{"status":"COMPLETE","stageId":1,"tags":["a","b"]},`, 5000) + "{}]", false},
		"objects":        {"[" + strings.Repeat("{},", maxObjects) + "{}]", true},
		"texts":          {`[{"jobTags":[` + strings.Repeat(`"",`, maxValues+1) + `""]}]`, true},
		"bytes":          {`"` + strings.Repeat("a", maxAnswer) + `"`, true},
	} {
		if got := tooLarge([]byte(test.text)); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
