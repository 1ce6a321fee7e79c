package conf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForeignKeysAreDropped checks which keys DropForeign deletes, its warning, and that a second call does nothing.
func TestForeignKeysAreDropped(t *testing.T) {
	const why = " left out: only keys that begin with spark. are Spark configuration"
	for name, c := range map[string]struct {
		conf    *Conf
		left    []string
		warning string
	}{
		"nothing":           {New(), []string{}, ""},
		"only Spark's keys": {pairs("spark.a", "1", "spark.", "2"), []string{"spark.a", "spark."}, ""},
		"one foreign key":   {pairs("spark.a", "1", "hadoop.x", "2"), []string{"spark.a"}, "hadoop.x: is" + why},
		"similar keys": {pairs("Spark.a", "1", "spark", "2", " spark.b", "3", "spark.c", "4"),
			[]string{"spark.c"}, "Spark.a, spark,  spark.b: are" + why},
		"as many as are named": {pairs("a", "", "b", "", "c", "", "d", "", "e", "", "spark.x", ""),
			[]string{"spark.x"}, "a, b, c, d, e: are" + why},
		"more than are named": {pairs("g", "", "f", "", "e", "", "d", "", "c", "", "b", "", "a", ""), []string{},
			"g, f, e, d, c and 2 more: are" + why},
		"an address with password": {pairs("https://user:word@host/x", "1"), []string{}, "https://host/x: is" + why},
		"an empty key":             {pairs("", "1"), []string{}, ": is" + why},
	} {
		if got := c.conf.DropForeign(); got != c.warning {
			t.Errorf("%s: the warning is %q, want %q", name, got, c.warning)
		}

		if diff := cmp.Diff(c.left, c.conf.Keys()); diff != "" {
			t.Errorf("%s: the keys (-want +got):\n%s", name, diff)
		}

		if got := c.conf.DropForeign(); got != "" {
			t.Errorf("%s: the second warning is %q", name, got)
		}
	}

	if got := pairs(strings.Repeat("x", 10_000), "1", strings.Repeat("y", 10_000), "2").DropForeign(); len(got) > 600 {
		t.Errorf("the warning has %d bytes", len(got))
	}
}
