package apianswer

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestReplies checks that a reply is valid for a limited time, and only for the same object and attempt.
func TestReplies(t *testing.T) {
	var replies Replies
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	q := Question{Key: types.NamespacedName{Name: "n"}, Part: "part"}

	last := func(uid string, attempt int32, after time.Duration) bool {
		_, known := replies.Last(q, types.UID("u"+uid), attempt, noon.Add(after))
		return known
	}
	if last("", 1, 0) {
		t.Error("it knows what nobody said")
	}

	replies.Set(q, Reply{UID: "u", Attempt: 1, Until: noon.Add(time.Minute)})

	got := []bool{last("", 1, 0), last("", 1, 59*time.Second), last("", 1, time.Minute), last("", 2, 0),
		last("x", 1, 0)}
	if want := []bool{true, true, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("known: %v, want %v", got, want)
	}

	if rest := replies.RetryAfter(q, noon.Add(20*time.Second)); rest != 40*time.Second {
		t.Errorf("it is asked again after %s", rest)
	}

	replies.Forget(q)

	if last("", 1, 0) || replies.Len() > 0 {
		t.Error("it does not forget")
	}
}
