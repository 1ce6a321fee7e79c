package conf

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/test/kit/worst"
)

// TestCostIsLinear checks for each operation that its cost grows at most in proportion to the size of the
// configuration.
func TestCostIsLinear(t *testing.T) {
	many := func(n int) *Conf {
		c := New()
		for i := range n {
			c.Set(fmt.Sprint("spark.k", i), "${spark.driver.memory}")
		}
		return c
	}
	for name, work := range map[string]func(c *Conf, n int){
		"delete one by one": func(c *Conf, n int) {
			for i := range n {
				c.Delete(fmt.Sprint("spark.k", i))
			}
		},
		"set again and again": func(c *Conf, n int) {
			for i := range n {
				c.Delete("spark.k1")
				c.Set("spark.k1", fmt.Sprint(i))
			}
		},
		"expand": func(c *Conf, _ int) { c.ExpandAll(func(string) bool { return true }) },
	} {
		worst.Linear(t, name, func(n int) func() {
			c := many(10 * n)
			return func() { work(c.Clone(), 10*n) }
		})
	}

	worst.Linear(t, "a line of many", func(n int) func() {
		text := strings.Repeat("a\\\n", 50*n)
		return func() {
			if _, err := UnmarshalProperties(text); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestDeletedKeysAreGone deletes all keys one by one and checks the remaining keys after each deletion. While few keys
// are deleted, Delete only marks them; when many are deleted, it removes them from the list.
func TestDeletedKeysAreGone(t *testing.T) {
	c := New()

	want := map[string]string{}
	for i := range 100 {
		c.Set(fmt.Sprint(i), "x")
		want[fmt.Sprint(i)] = "x"
	}

	for i := range 100 {
		key := fmt.Sprint(i * 37 % 100)
		c.Delete(key, "none")
		delete(want, key)

		if i%3 == 0 {
			c.Set(key, "back")

			want[key] = "back"
			if keys := c.Keys(); keys[len(keys)-1] != key {
				t.Fatalf("%s is not the last of %v", key, keys)
			}
		}

		if diff := cmp.Diff(want, maps.Collect(c.All())); diff != "" || c.Len() != len(want) {
			t.Fatalf("%d keys (-want +got):\n%s", c.Len(), diff)
		}
	}

	if !c.Equal(c.Clone()) || c.Equal(New()) {
		t.Error("a copy differs, or nothing does")
	}
}

func TestSubstitute(t *testing.T) {
	for _, test := range []struct {
		text, value string
		want, wrong string
	}{
		{"spark:{{SPARK_VERSION}}", "4.1.1", "spark:4.1.1", ""},
		{"{{SPARK_VERSION}}{{SPARK_VERSION}}", "", "", ""},
		{strings.Repeat("x", 5000), "4", strings.Repeat("x", 5000), ""},
		{strings.Repeat(VersionMarker, 20_000), strings.Repeat("9", 1<<20), "",
			"is 20971520000 bytes long with {{SPARK_VERSION}} replaced; the limit is 4096 bytes"},
		{strings.Repeat(VersionMarker, 33), strings.Repeat("9", 128), "", "is 4224 bytes long"},
	} {
		got, err := Substitute(test.text, VersionMarker, test.value, MaxImage)
		if got != test.want || (err == nil) != (test.wrong == "") || err != nil &&
			!strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%.40q with %.10q: %.40q, %v", test.text, test.value, got, err)
		}
	}
}

// TestExpandAllIsBounded checks that expanding many references to one long value stays within the limit. Before this
// limit existed, 40 KB of keys became 1.3 GB.
func TestExpandAllIsBounded(t *testing.T) {
	c := New()
	c.Set("spark.big", strings.Repeat("x", 100<<10))

	for i := range 2000 {
		c.Set(fmt.Sprint("spark.k", i), "${spark.big}")
	}

	if got := worst.Allocated(func() { c.ExpandAll(func(string) bool { return true }) }); got > 8<<20 {
		t.Errorf("%d MiB are allocated", got>>20)
	}

	if first, _ := c.Get("spark.k0"); len(first) != 100<<10 {
		t.Error("the first reference stays")
	}

	if last, _ := c.Get("spark.k1999"); last != "${spark.big}" {
		t.Errorf("the last reference is replaced: %.20s", last)
	}
}

// FuzzLooksSecret checks that looksSecret, which searches for words, agrees with Spark's own pattern.
func FuzzLooksSecret(f *testing.F) {
	pattern := regexp.MustCompile(`(?i)secret|password|token|access[.]?key|credential`)

	for _, seed := range []string{"", "spark.x", "my.SECRET.key", "AccessKey", "fs.s3a.access.key", "access..key",
		"acceſſkey", "to\u212aen", "toKEN", "credentia", "İtoken", "\xfftoken", "paſsword"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if got, want := looksSecret(text), pattern.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
