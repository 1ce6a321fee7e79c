package conf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWarnings checks that each warning names its key or field, and that only the first warnings are kept.
func TestWarnings(t *testing.T) {
	var w Warnings
	w.OfKey("spark.a", "has %s", "no effect")
	w.OfField("Master", "is %d", 1)
	if diff := cmp.Diff(Warnings{{Key: "spark.a", Text: "has no effect"}, {Field: "Master", Text: "is 1"}}, w); diff != "" {
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
