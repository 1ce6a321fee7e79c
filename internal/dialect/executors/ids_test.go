package executors

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseIDs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"1", "1"}, {"1-4", "1-4"}, {"1-4,6,9-10", "1-4,6,9-10"}, {"0", "0"}, {"3-3", "3"}, {"4294967296-4294967297", "4294967296-4294967297"},
		{"x", ""}, {"1,x,3", "1,3"}, {"4-1", ""}, {"-3", ""}, {"1-", ""}, {"5,3", "5"}, {"1-4,3-9", "1-4"}, {"1-4,5", "1-4"},
		{"99999999999999999999", ""}, {"1-9223372036854775807,5", "5"}, {"1-9223372036854775808,5", "5"},
	} {
		if got := ParseIDs(c.text).String(); got != c.want {
			t.Errorf("%q is read as %q, want %q", c.text, got, c.want)
		}
	}
}

// TestIDsAreASet checks that an IDSet behaves like a set: it compares an IDSet with a map for numbers in any order.
func TestIDsAreASet(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		most := int64(1 + r.IntN(80))
		var set IDSet

		want := map[int64]bool{}
		for range 120 {
			id := r.Int64N(most)
			if got := set.Add(id); got == want[id] {
				t.Fatalf("seed %d: adding %d to %s returns %v", seed, id, set, got)
			}

			want[id] = true
			if int64(len(want)) != set.Len() {
				t.Fatalf("seed %d: %s has %d numbers, want %d", seed, set, set.Len(), len(want))
			}
		}

		for id := range most + 2 {
			if set.Has(id) != want[id] {
				t.Fatalf("seed %d: %s has %d: %v", seed, set, id, set.Has(id))
			}
		}

		if diff := cmp.Diff(set.String(), ParseIDs(set.String()).String()); diff != "" || !slices.Equal(set, ParseIDs(set.String())) {
			t.Fatalf("seed %d: written and read (-want +got):\n%s", seed, diff)
		}
	}
}

func TestIDsAreBounded(t *testing.T) {
	set := func() IDSet { return ParseIDs("1-4,6,9-10,20") }
	for limit, want := range map[int][2]string{
		1: {"1-20", "1-4"}, 2: {"1-10,20", "1-4,6"}, 3: {"1-6,9-10,20", "1-4,6,9-10"}, 4: {"1-4,6,9-10,20", "1-4,6,9-10,20"}, 9: {"1-4,6,9-10,20", "1-4,6,9-10,20"},
	} {
		if closed, cut := set().Closed(limit).String(), set().Cut(limit).String(); closed != want[0] || cut != want[1] {
			t.Errorf("at most %d: closed to %q and cut to %q, want %q", limit, closed, cut, want)
		}
	}
}

// TestParsedIDsAreBounded checks that a status that somebody else wrote cannot make a set larger than the operator's
// own sets.
func TestParsedIDsAreBounded(t *testing.T) {
	var text strings.Builder
	for id := range 2000 {
		fmt.Fprintf(&text, "%d,", 2*id)
	}

	set := ParseIDs(text.String())
	if len(set) != MaxRanges || !set.Has(998) || set.Has(999) || set.Has(1000) {
		t.Errorf("%d ranges, which end with %v", len(set), set[len(set)-1])
	}
}

func FuzzParseIDs(f *testing.F) {
	f.Add("1-4,6", int64(5))
	f.Add("9223372036854775806", int64(9223372036854775807))
	f.Fuzz(func(t *testing.T, text string, id int64) {
		set := ParseIDs(text)
		if again := ParseIDs(set.String()); !slices.Equal(set, again) {
			t.Fatalf("%q is read as %s, and that as %s", text, set, again)
		}

		if id < 0 || id > maxID {
			return
		}

		had := set.Has(id)
		if set.Add(id) == had || !set.Has(id) || !slices.Equal(set, ParseIDs(set.String())) {
			t.Fatalf("%d in %q: had %v, now %s", id, text, had, set)
		}
	})
}
