package eventlimit

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var (
	noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pi   = types.NamespacedName{Namespace: "jobs", Name: "pi"}
)

// TestAdmits checks which Events are written: by their reasons, and by the time since the last Event of the same object
// with the same reason and message.
func TestAdmits(t *testing.T) {
	usual := Settings{Interval: 5 * time.Minute, Excluded: []*regexp.Regexp{regexp.MustCompile(`\A(?:Driver.*)\z`)}}
	off, all := usual, usual
	off.Off, all.Interval = true, 0

	type event struct {
		after           time.Duration // since noon
		settings        Settings
		uid             types.UID
		reason, message string
		want            bool
	}

	for name, events := range map[string][]event{
		"a repeat":        {{0, usual, "1", "A", "a", true}, {299 * time.Second, usual, "1", "A", "a", false}, {300 * time.Second, usual, "1", "A", "a", true}, {599 * time.Second, usual, "1", "A", "a", false}},
		"other message":   {{0, usual, "1", "A", "a", true}, {0, usual, "1", "A", "b", true}, {1, usual, "1", "A", "a", false}},
		"other reason":    {{0, usual, "1", "A", "a", true}, {0, usual, "1", "B", "a", true}},
		"reason, message": {{0, usual, "1", "A", "Ba", true}, {0, usual, "1", "AB", "a", true}},
		"other object":    {{0, usual, "1", "A", "a", true}, {1, usual, "2", "A", "a", true}, {2, usual, "2", "A", "a", false}},
		"excluded":        {{0, usual, "1", "DriverReady", "a", false}, {0, usual, "1", "ADriver", "a", true}},
		"switched off":    {{0, off, "1", "A", "a", false}, {1, usual, "1", "A", "a", true}},
		"no interval":     {{0, all, "1", "A", "a", true}, {0, all, "1", "A", "a", true}, {0, all, "1", "DriverReady", "a", false}},
		"a shorter interval": {{0, usual, "1", "A", "a", true},
			{time.Minute, Settings{Interval: time.Minute}, "1", "A", "a", true}},
		"no settings": {{0, Settings{}, "1", "A", "a", true}, {0, Settings{}, "1", "A", "a", true}},
	} {
		var m Memory
		for i, e := range events {
			if got := m.Admits(e.settings, pi, e.uid, noon.Add(e.after), e.reason, e.message); got != e.want {
				t.Errorf("%s: event %d is written: %t", name, i, got)
			}
		}
	}
}

// TestMemoryIsBounded checks that a Memory keeps few Events of an object, drops expired ones, and keeps none of an
// object that is forgotten or whose name a new object has.
func TestMemoryIsBounded(t *testing.T) {
	var m Memory

	day := Settings{Interval: 24 * time.Hour}
	for i := range 10 * maxRemembered {
		now := noon.Add(time.Duration(i) * time.Second)
		if !m.Admits(day, pi, "1", now, "A", fmt.Sprint(i)) || m.Admits(day, pi, "1", now, "A", fmt.Sprint(i)) {
			t.Fatalf("event %d is not written once", i)
		}

		if o, _ := m.Get(pi); len(o.last) > maxRemembered {
			t.Fatalf("%d events are remembered", len(o.last))
		}
	}

	if m.Admits(day, pi, "1", noon.Add(time.Hour), "A", fmt.Sprint(9*maxRemembered+1)) {
		t.Error("one of the newest events was dropped")
	}

	if m.Admits(day, pi, "1", noon.Add(48*time.Hour), "A", "b"); size(&m) != 1 {
		t.Errorf("%d events are remembered after their time", size(&m))
	}

	if m.Admits(day, pi, "2", noon, "A", "c"); size(&m) != 1 {
		t.Errorf("%d events of two objects with one name are remembered", size(&m))
	}

	if m.Forget(pi); m.Len() != 0 {
		t.Errorf("%d objects are remembered", m.Len())
	}

	other := types.NamespacedName{Namespace: "jobs", Name: "other"}
	if m.Admits(Settings{Off: true}, other, "1", noon, "A", "a"); m.Len() != 0 {
		t.Error("an event that is not written is remembered")
	}
}

func size(m *Memory) int {
	o, _ := m.Get(pi)
	return len(o.last)
}
