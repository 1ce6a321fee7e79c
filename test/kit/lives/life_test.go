package lives

import (
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func TestTrail(t *testing.T) {
	allowed := func(from, to lifecycle.Phase) bool { return from != lifecycle.Done }

	step := func(from, to lifecycle.Phase) lifecycle.Transition { return lifecycle.Transition{From: from, To: to} }
	for name, test := range map[string]struct {
		to    lifecycle.Phase
		trail []lifecycle.Transition
		wrong string
	}{
		"none": {lifecycle.New, nil, ""},
		"whole": {lifecycle.Done,
			[]lifecycle.Transition{step(lifecycle.New, lifecycle.Ended), step(lifecycle.Ended, lifecycle.Done)}, ""},
		"elsewhere": {lifecycle.Done, []lifecycle.Transition{step(lifecycle.Ended, lifecycle.Done)}, "does not begin"},
		"a gap": {lifecycle.Done,
			[]lifecycle.Transition{step(lifecycle.New, lifecycle.Ended), step(lifecycle.New, lifecycle.Done)},
			"does not begin"},
		"forbidden": {lifecycle.New,
			[]lifecycle.Transition{step(lifecycle.New, lifecycle.Done), step(lifecycle.Done, lifecycle.New)},
			"is not in Transitions"},
		"short": {lifecycle.Done, []lifecycle.Transition{step(lifecycle.New, lifecycle.Ended)},
			"the trail ends at"},
	} {
		if wrong := Trail(lifecycle.New, test.to, test.trail, allowed); (wrong == "") != (test.wrong == "") ||
			!strings.Contains(wrong, test.wrong) {
			t.Errorf("%s: %q, want %q", name, wrong, test.wrong)
		}
	}
}

func TestLife(t *testing.T) {
	l := New(1, 2, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if crash := Caught(func() { l.Fail("rule %d", 1); CutShort("here"); l.Fail("never") }); crash == nil ||
		crash.Where != "here" {
		t.Errorf("crash %v", crash)
	}

	if l.Fail("rule 2"); l.Breach != "rule 1" || l.Story() != "00:00:00.0 BREACH rule 1" {
		t.Errorf("breach %q, story %q", l.Breach, l.Story())
	}

	if l.Wake(time.Second); !l.Waits() {
		t.Error("the operator wakes at once")
	}

	if l.Now = l.Now.Add(time.Second); l.Waits() {
		t.Error("the operator oversleeps")
	}
}
