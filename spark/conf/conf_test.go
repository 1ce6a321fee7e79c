package conf

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pairs returns a configuration with the given keys and values. The arguments are keys and values, alternately.
func pairs(kv ...string) *Conf {
	c := New()
	for i := 0; i < len(kv); i += 2 {
		c.Set(kv[i], kv[i+1])
	}
	return c
}

func TestOrder(t *testing.T) {
	c := pairs("b", "1", "a", "2", "c", "3")
	c.Set("b", "4")

	if diff := cmp.Diff([]string{"b", "a", "c"}, c.Keys()); diff != "" {
		t.Errorf("a key set again should keep its place (-want +got):\n%s", diff)
	}

	c.Delete("a", "none")
	c.Set("a", "5")

	if diff := cmp.Diff([]string{"b", "c", "a"}, c.Keys()); diff != "" {
		t.Errorf("a key deleted and set again should be last (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"b": "4", "c": "3", "a": "5"}, c.Map()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}

	if c.Len() != 3 {
		t.Errorf("Len() = %d, want 3", c.Len())
	}
}

// TestDeleteMany deletes many keys at once, which must take linear time: with quadratic time a large configuration
// would take minutes.
func TestDeleteMany(t *testing.T) {
	c, want := New(), []string{}

	var odd []string
	for i := range 200_000 {
		key := fmt.Sprint("k", i)
		c.Set(key, "")

		if i%2 == 1 {
			odd = append(odd, key)
		} else {
			want = append(want, key)
		}
	}

	c.Delete(odd...)

	if !slices.Equal(c.Keys(), want) || len(c.Map()) != len(want) {
		t.Errorf("%d keys are left, want %d in their order", c.Len(), len(want))
	}

	(&Conf{}).Delete("none")
}

func TestSetIfMissing(t *testing.T) {
	c := pairs("empty", "")
	if c.SetIfMissing("empty", "x") {
		t.Error("an empty value is a value, but was replaced")
	}

	if !c.SetIfMissing("new", "y") {
		t.Error("a missing key was not set")
	}

	if diff := cmp.Diff(map[string]string{"empty": "", "new": "y"}, c.Map()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestFromMapIsSorted(t *testing.T) {
	m := map[string]string{"c": "3", "a": "1", "b": "2"}
	for range 20 {
		if diff := cmp.Diff([]string{"a", "b", "c"}, FromMap(m).Keys()); diff != "" {
			t.Fatalf("keys (-want +got):\n%s", diff)
		}
	}

	c := FromMap(m)
	c.Set("a", "changed")

	if m["a"] != "1" {
		t.Error("the configuration shares its map with the caller")
	}
}

func TestSorted(t *testing.T) {
	c := pairs("c", "3", "a", "1", "b", "2")
	sorted := c.Sorted()
	sorted.Set("a", "changed")

	if diff := cmp.Diff(pairs("a", "changed", "b", "2", "c", "3"), sorted, cmp.AllowUnexported(Conf{})); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(pairs("c", "3", "a", "1", "b", "2"), c, cmp.AllowUnexported(Conf{})); diff != "" {
		t.Errorf("what was sorted (-want +got):\n%s", diff)
	}
}

func TestNilAndZeroConf(t *testing.T) {
	var none *Conf
	if v, ok := none.Get("a"); ok || v != "" || none.Has("a") || none.Len() != 0 || len(none.Keys()) != 0 ||
		len(none.Map()) != 0 {
		t.Error("a nil configuration is not empty")
	}

	for range none.All() {
		t.Error("a nil configuration yields a pair")
	}

	if v, err := none.String("a", "def"); v != "def" || err != nil {
		t.Errorf("String on nil = %q, %v", v, err)
	}

	if v, err := none.Expand("${env:A} ${spark.x}"); v != "${env:A} ${spark.x}" || err != nil {
		t.Errorf("Expand on nil = %q, %v", v, err)
	}

	c := none.Clone()
	c.Set("a", "1")
	var zero Conf
	zero.Set("a", "1")

	if diff := cmp.Diff(c.Map(), zero.Map()); diff != "" {
		t.Errorf("clone of nil and zero value differ:\n%s", diff)
	}
}

func TestCloneIsIndependent(t *testing.T) {
	c := pairs("a", "1").WithEnvironment(map[string]string{"E": "env"})
	d := c.Clone()
	d.Set("a", "2")
	d.Set("b", "${env:E}")
	d.Delete("a")

	if diff := cmp.Diff(map[string]string{"a": "1"}, c.Map()); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}

	if v, err := d.String("b", ""); v != "env" || err != nil {
		t.Errorf("the clone lost its environment: %q, %v", v, err)
	}
}

func TestWithPrefix(t *testing.T) {
	c := pairs("p.b", "1", "q.a", "2", "p.a", "3", "p.", "4", "p", "5")

	var got [][2]string
	for key, value := range c.WithPrefix("p.") {
		got = append(got, [2]string{key, value})
	}

	if diff := cmp.Diff([][2]string{{"b", "1"}, {"a", "3"}, {"", "4"}}, got); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}

	for key := range c.All() {
		if key != "p.b" {
			t.Errorf("the iterator went on after break to %q", key)
		}
		break
	}

	if diff := cmp.Diff(c.Map(), maps.Collect(c.All())); diff != "" {
		t.Errorf("All and Map differ:\n%s", diff)
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct {
		key, value string
		hidden     bool
	}{
		{"spark.app.name", "pi", false},
		{"spark.hadoop.fs.s3a.access.key", "AKIA", true},
		{"spark.hadoop.fs.s3a.accesskey", "AKIA", true},
		{"spark.hadoop.fs.s3a.secret.key", "x", true},
		{"spark.ssl.keyPassword", "x", true},
		{"spark.kubernetes.authenticate.driver.oauthToken", "x", true},
		{"spark.PASSWORD", "x", true},
		{"spark.sql.url", "jdbc:postgresql://h/db?user=u&password=x", true},
		{"spark.key", "x", false},
	} {
		want := c.value
		if c.hidden {
			want = Redacted
		}

		if got := Redact(c.key, c.value); got != want {
			t.Errorf("Redact(%q, %q) = %q, want %q", c.key, c.value, got, want)
		}
	}
}

// TestEqual checks each part of a configuration that Equal compares.
func TestEqual(t *testing.T) {
	base := func() *Conf {
		return pairs("a", "1", "b", "2").WithEnvironment(map[string]string{"E": "1"}).WithSystemProperties(map[string]string{"p": "1"})
	}
	deleted := base()
	deleted.Set("c", "3")
	deleted.Delete("c")

	for name, c := range map[string]struct {
		other *Conf
		want  bool
	}{
		"a copy":                       {base().Clone(), true},
		"a copy without a deleted key": {deleted, true},
		"nil":                          {nil, false},
		"an empty configuration":       {New(), false},
		"another order": {pairs("b", "2", "a",
			"1").WithEnvironment(map[string]string{"E": "1"}).WithSystemProperties(map[string]string{"p": "1"}), false},
		"another value": {pairs("a", "1", "b",
			"3").WithEnvironment(map[string]string{"E": "1"}).WithSystemProperties(map[string]string{"p": "1"}), false},
		"another environment":     {base().WithEnvironment(map[string]string{"E": "2"}), false},
		"no environment":          {base().WithEnvironment(nil), false},
		"other system properties": {base().WithSystemProperties(map[string]string{"p": "1", "q": "1"}), false},
	} {
		if got := base().Equal(c.other); got != c.want {
			t.Errorf("%s: %v", name, got)
		}

		if c.other != nil && c.other.Equal(base()) != c.want {
			t.Errorf("%s: the other way round it is %v", name, !c.want)
		}
	}

	var none *Conf
	if !none.Equal(nil) || none.Equal(New()) || New().Equal(none) || !New().Equal(&Conf{}) {
		t.Error("nil should equal only nil, and an empty configuration another empty one")
	}
}

// TestCopiesKeepTheirContext checks that each method that returns a copy keeps the pairs, the environment and the
// system properties, and that neither the receiver nor the caller's map is part of the copy.
func TestCopiesKeepTheirContext(t *testing.T) {
	env, properties := map[string]string{"E": "env"}, map[string]string{"p": "property"}
	c := pairs("b", "${env:E}", "a", "${system:p}").WithEnvironment(env).WithSystemProperties(properties)
	env["E"], properties["p"] = "changed", "changed"

	before := c.Clone()
	for name, copied := range map[string]*Conf{
		"Clone": c.Clone(), "Sorted": c.Sorted(), "WithEnvironment": c.WithEnvironment(map[string]string{"E": "env"}),
		"WithSystemProperties": c.WithSystemProperties(map[string]string{"p": "property"}),
	} {
		for key, want := range map[string]string{"a": "property", "b": "env"} {
			if got, err := copied.String(key, ""); got != want || err != nil {
				t.Errorf("%s: %s is %q, %v, want %q", name, key, got, err, want)
			}
		}

		copied.Set("c", "new")
		copied.Delete("a", "b")
	}

	if !c.Equal(before) {
		t.Errorf("the original has %v", c.Map())
	}

	var none *Conf
	for name, copied := range map[string]*Conf{
		"Sorted": none.Sorted(), "WithEnvironment": none.WithEnvironment(map[string]string{"E": "env"}),
		"WithSystemProperties": none.WithSystemProperties(nil),
	} {
		if copied.Len() != 0 || !copied.SetIfMissing("b", "1") {
			t.Errorf("%s of nil has %v", name, copied.Map())
		}
	}
}

// TestIterationSkipsDeletedKeys checks that an iterator yields each key once, at its last place, and that the caller
// may set keys during the iteration.
func TestIterationSkipsDeletedKeys(t *testing.T) {
	c := pairs("a", "1", "b", "2", "c", "3", "d", "4", "e", "5")
	c.Delete("a", "c")
	c.Set("a", "6")

	var keys []string
	for key, value := range c.All() {
		keys = append(keys, key+value)
		c.Set(key, value+"0")
	}

	if diff := cmp.Diff([]string{"b2", "d4", "e5", "a6"}, keys); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"a": "60", "b": "20", "d": "40", "e": "50"}, c.Map()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}

	own := c.Keys()
	own[0] = "changed"

	c.Map()["b"] = "changed"
	if v, _ := c.Get("b"); v != "20" || c.Keys()[0] != "b" {
		t.Errorf("the configuration shares its keys or values with the caller: %v", c.Keys())
	}
}
