package podproxy

import (
	"errors"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/ground/budget"
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

// TestAnswersCount checks that an answer is read only as far as the budget of the request allows.
func TestAnswersCount(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 20<<10)

	if got, err := readAll(t.Context(), strings.NewReader(text)); string(got) != text || err != nil {
		t.Errorf("without a budget: %d bytes, %v", len(got), err)
	}

	for name, test := range map[string]struct {
		left int64
		want error
	}{"enough": {1 << 20, nil}, "too little": {500 << 10, budget.ErrSpent}} {
		left := test.left
		ctx := budget.With(t.Context(), func(n int64) bool { left -= n; return left >= 0 })

		if got, err := readAll(ctx, strings.NewReader(text)); !errors.Is(err, test.want) || err == nil && string(got) != text {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}

	if got, err := readAll(t.Context(), strings.NewReader(strings.Repeat("a", maxAnswer+pieceSize+1))); err != nil || !tooLarge(got) || len(got) > maxAnswer+pieceSize {
		t.Errorf("an answer that is too large: %d bytes, %v", len(got), err)
	}
}
