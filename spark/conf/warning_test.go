package conf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWarnings checks that each warning names its key or field, and that only the first warnings are kept.
func TestWarnings(t *testing.T) {
	var w Warnings
	w.OfKey("spark.a", "has %s", "no effect")
	w.OfField("Master", "is %d", 1)

	if diff := cmp.Diff(Warnings{{Key: "spark.a", Text: "has no effect"}, {Field: "Master", Text: "is 1"}},
		w); diff != "" {
		t.Error(diff)
	}

	if got := w[0].String() + "; " + w[1].String(); got != "spark.a: has no effect; Master: is 1" {
		t.Errorf("they say %q", got)
	}

	for range 2 * MaxWarnings {
		w.OfKey("spark.b", "again")
	}

	if len(w) != MaxWarnings || w[0].Key != "spark.a" {
		t.Errorf("%d warnings are kept, the first about %s", len(w), w[0].Key)
	}
}

// TestMessagesAreBounded checks that Messages keeps the first 20 warnings and counts the others, and that reading them
// changes nothing.
func TestMessagesAreBounded(t *testing.T) {
	var m Messages
	if m.Full() || m.All() != nil {
		t.Errorf("without a warning: %v", m.All())
	}

	for i := range MaxWarnings {
		if m.Full() {
			t.Errorf("it is full after %d warnings", i)
		}

		m.Add("%s %d%%", "warning", i)
	}

	if got := m.All(); !m.Full() || len(got) != 20 || got[0] != "warning 0%" || got[19] != "warning 19%" {
		t.Errorf("20 warnings are %q", got)
	}

	m.Add("one more")

	for range 2 {
		if got := m.All(); len(got) != 21 || got[19] != "warning 19%" || got[20] != "and 1 more warning" {
			t.Errorf("21 warnings are %q", got)
		}
	}

	for range 4 {
		m.Add("one more")
	}

	if got := m.All(); len(got) != 21 || got[20] != "and 5 more warnings" {
		t.Errorf("25 warnings are %q", got)
	}
}

// TestWarningsShowNoLongOrSecretKey checks that the text of a warning does not show a long key, or an address with a
// password.
func TestWarningsShowNoLongOrSecretKey(t *testing.T) {
	var w Warnings
	w.OfKey("https://user:word@host/x", "has no effect")
	w.OfKey(strings.Repeat("k", 1000), "is %q", "a%b")

	if got := w[0].String(); got != "https://host/x: has no effect" {
		t.Errorf("an address is %q", got)
	}

	if got := w[1].String(); got != strings.Repeat("k", 200)+`...: is "a%b"` {
		t.Errorf("a long key is %q", got)
	}
}
