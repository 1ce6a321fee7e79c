package conf

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTypedReads(t *testing.T) {
	c := pairs("spark.int", " 42 ", "spark.neg", "-1", "spark.bool", " TRUE ", "spark.no", "False", "spark.float", "0.10",
		"spark.size", "1000k", "spark.time", "5min", "spark.list", " a, ,b ,,c", "spark.empty", "", "spark.bare", "7")
	check := func(name string, got any, err error, want any) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	i, err := c.Int("spark.int", 0)
	check("Int", i, err, 42)
	i, err = c.Int("spark.neg", 0)
	check("negative Int", i, err, -1)
	i, err = c.Int("spark.none", 9)
	check("missing Int", i, err, 9)
	b, err := c.Bool("spark.bool", false)
	check("Bool", b, err, true)
	b, err = c.Bool("spark.no", true)
	check("false Bool", b, err, false)
	b, err = c.Bool("spark.none", true)
	check("missing Bool", b, err, true)
	f, err := c.Float("spark.float", 0)
	check("Float", f, err, 0.1)
	n, err := c.Size("spark.size", 0, MiB)
	check("Size rounds down", n, err, int64(0))
	n, err = c.Size("spark.size", 0, KiB)
	check("Size in KiB", n, err, int64(1000))
	n, err = c.Size("spark.bare", 0, MiB)
	check("Size without unit", n, err, int64(7))
	n, err = c.Size("spark.none", 384, MiB)
	check("missing Size", n, err, int64(384))
	d, err := c.Duration("spark.time", 0, time.Second)
	check("Duration", d, err, 5*time.Minute)
	d, err = c.Duration("spark.bare", 0, time.Millisecond)
	check("Duration without unit", d, err, 7*time.Millisecond)
	d, err = c.Duration("spark.none", time.Hour, time.Second)
	check("missing Duration", d, err, time.Hour)
	l, err := c.List("spark.list", nil)
	check("List", l, err, []string{"a", "b", "c"})
	l, err = c.List("spark.empty", []string{"x"})
	check("empty List", l, err, []string(nil))
	l, err = c.List("spark.none", []string{"x"})
	check("missing List", l, err, []string{"x"})
}

func TestTypedReadErrorsNameTheKey(t *testing.T) {
	c := pairs("spark.bad", "lots", "spark.yarn.driver.memoryOverhead", "1.5g", "spark.loop", "${spark.loop}", "spark.big", "4294967296")
	reads := map[string]func() error{
		"spark.bad: should be a whole number":               func() error { _, err := c.Int("spark.bad", 0); return err },
		"spark.big: should be a whole number":               func() error { _, err := c.Int("spark.big", 0); return err },
		"spark.bad: should be a number":                     func() error { _, err := c.Float("spark.bad", 0); return err },
		"spark.bad: should be true or false":                func() error { _, err := c.Bool("spark.bad", true); return err },
		"spark.bad: size should be":                         func() error { _, err := c.Size("spark.bad", 0, MiB); return err },
		"spark.bad: time should be":                         func() error { _, err := c.Duration("spark.bad", 0, time.Second); return err },
		"spark.yarn.driver.memoryOverhead: size should be":  func() error { _, err := c.Size("spark.driver.memoryOverhead", 0, MiB); return err },
		"spark.loop: ${spark.loop}: the reference leads":    func() error { _, err := c.String("spark.loop", ""); return err },
		"spark.loop: ${spark.loop}: the reference leads ba": func() error { _, err := c.List("spark.loop", nil); return err },
	}
	for want, read := range reads {
		err := read()
		if wrong, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v (%v), want it to begin with %q", err, wrong, want)
		}
	}
}

func TestAliases(t *testing.T) {
	c := pairs("spark.yarn.keytab", "local:///k", "spark.yarn.driver.memoryOverhead", "1g", "spark.driver.memoryOverhead", "2g")
	if v, _ := c.String("spark.kerberos.keytab", ""); v != "local:///k" {
		t.Errorf("the old name of the keytab was not read: %q", v)
	}
	if n, _ := c.Size("spark.driver.memoryOverhead", 0, MiB); n != 2048 {
		t.Errorf("overhead = %d, want the new name's 2048", n)
	}
	if _, ok := c.Get("spark.kerberos.keytab"); ok {
		t.Error("a raw read should not know old names")
	}
	if name, _, ok := c.Lookup("spark.kerberos.keytab"); name != "spark.yarn.keytab" || !ok {
		t.Errorf("Lookup names %q, want the key that the user wrote", name)
	}
}

func TestExpand(t *testing.T) {
	c := pairs("spark.a", "A", "spark.b", "<${spark.a}>", "spark.two", "${spark.a}${spark.b}", "spark.c1", "${spark.c2}", "spark.c2", "${spark.c1}",
		"spark.yarn.keytab", "k", "other", "no").WithEnvironment(map[string]string{"HOME": "/h", "REF": "${spark.a}"})
	for text, want := range map[string]string{
		"":                              "",
		"plain":                         "plain",
		"${spark.a}":                    "A",
		"x${spark.b}y":                  "x<A>y",
		"${spark.two}":                  "A<A>",
		"${spark.two}${spark.two}":      "A<A>A<A>",
		"${spark.none}":                 "${spark.none}",
		"${other}":                      "${other}",
		"${env:HOME}/x":                 "/h/x",
		"${env:REF}":                    "A",
		"${env:NONE}":                   "${env:NONE}",
		"${system:user.home}":           "${system:user.home}",
		"${spark.driver.memory}":        "1g",
		"${spark.kerberos.keytab}":      "k",
		"${spark.a":                     "${spark.a",
		"$spark.a {spark.a} $ ${}":      "$spark.a {spark.a} $ ${}",
		"$$(X) ${nothing here} ${env:}": "$$(X) ${nothing here} ${env:}",
	} {
		got, err := c.Expand(text)
		if err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := c.Expand("${spark.c1}"); !errors.Is(err, errCycle) {
		t.Errorf("a cycle of two gives %v", err)
	}
}

func TestEnvironmentIsOnlyWhatIsDeclared(t *testing.T) {
	t.Setenv("SPARK_CONF_TEST", "leaked")
	c := pairs("spark.x", "${env:SPARK_CONF_TEST}")
	if v, _ := c.String("spark.x", ""); v != "${env:SPARK_CONF_TEST}" {
		t.Errorf("the environment of the process was read: %q", v)
	}
}

// bomb returns a configuration with n+1 keys. The first key has the given value. The value of each further key refers
// twice to the key before it.
func bomb(n int, value string) *Conf {
	c := pairs("spark.a0", value)
	for i := range n {
		c.Set(fmt.Sprint("spark.a", i+1), fmt.Sprintf("${spark.a%d}${spark.a%d}", i, i))
	}
	return c
}

// TestExpandIsBounded checks that a few short keys cannot expand to much text or take much time, because many tenants
// share the process.
func TestExpandIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		conf *Conf
		key  string
		text string
	}{
		"text that doubles": {bomb(30, "x"), "spark.a30", "longer than 262144 bytes"},
		"work that doubles": {bomb(30, ""), "spark.a30", "longer than 262144 bytes"},
		"depth":             {bomb(34, "x"), "spark.a34", "more than 32 deep"},
		"many references":   {pairs("spark.a", "", "spark.b", strings.Repeat("${spark.a}", maxReferences+1)), "spark.b", "4097 references"},
		"one long value":    {pairs("spark.a", strings.Repeat("x", 1<<19), "spark.b", "${spark.a}${spark.a}${spark.a}"), "spark.b", "longer than"},
		"environment":       {pairs("spark.b", strings.Repeat("${env:A}", 1<<10)).WithEnvironment(map[string]string{"A": strings.Repeat("x", 1<<11)}), "spark.b", "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := c.conf.String(c.key, "")
			if wrong, ok := errors.AsType[*Error](err); !ok || wrong.Key != c.key || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%d bytes and the error %v, want one about %s with %q", len(v), err, c.key, c.text)
			}
		})
	}
	// Values within the limits are accepted, such as a long text without references.
	if v, err := bomb(13, "x").String("spark.a13", ""); err != nil || len(v) != 1<<13 {
		t.Errorf("%d bytes and the error %v, want %d", len(v), err, 1<<13)
	}
	if v, err := pairs("spark.a", strings.Repeat("x", 2<<20)).String("spark.a", ""); err != nil || len(v) != 2<<20 {
		t.Errorf("a long text gives %d bytes and the error %v", len(v), err)
	}
}

// TestListIsBounded checks that a list may have as many items as the limit. A list with one more item must cause an
// error that contains the limit.
func TestListIsBounded(t *testing.T) {
	most := strings.Repeat("a,", maxItems-1) + "a"
	if items, err := pairs("spark.jars", most).List("spark.jars", nil); err != nil || len(items) != maxItems {
		t.Errorf("%d items and the error %v, want %d", len(items), err, maxItems)
	}
	_, err := pairs("spark.jars", most+",a").List("spark.jars", nil)
	if wrong, ok := errors.AsType[*Error](err); !ok || wrong.Key != "spark.jars" || !strings.Contains(err.Error(), "has 10001 items; the limit is 10000") {
		t.Errorf("the error is %v", err)
	}
}

func TestErrorsDoNotShowSecrets(t *testing.T) {
	const hidden = "hunter2"
	c := pairs("spark.my.password", hidden, "spark.cores", "${spark.my.password}", "spark.value", "token-"+hidden,
		"spark.long", strings.Repeat("y", 1<<20)).WithEnvironment(map[string]string{"PASSWORD": hidden})
	for _, key := range []string{"spark.my.password", "spark.cores", "spark.value", "spark.long"} {
		for name, read := range map[string]func() error{
			"Int":      func() error { _, err := c.Int(key, 0); return err },
			"Float":    func() error { _, err := c.Float(key, 0); return err },
			"Bool":     func() error { _, err := c.Bool(key, false); return err },
			"Size":     func() error { _, err := c.Size(key, 0, MiB); return err },
			"Duration": func() error { _, err := c.Duration(key, 0, time.Second); return err },
		} {
			if err := read(); err == nil || strings.Contains(err.Error(), hidden) || len(err.Error()) > 500 {
				t.Errorf("%s of %s: the error shows too much: %.300v", name, key, err)
			}
		}
	}
	if _, err := pairs("spark.a", "many", "spark.b", "${spark.a}").Int("spark.b", 0); err == nil || !strings.Contains(err.Error(), `"${spark.a}"`) {
		t.Errorf("the error should show what the user wrote: %v", err)
	}
}

func TestQuote(t *testing.T) {
	for _, c := range [][3]string{
		{"spark.x", `a"b`, `"a\"b"`},
		{"spark.x", "", `""`},
		{"spark.hadoop.fs.s3a.access.key", "AKIA", Redacted},
		{"spark.x", "the password is x", Redacted},
		{"spark.x", strings.Repeat("é", 150), `"` + strings.Repeat("é", 100) + `..."`},
		{"spark.x", "x" + strings.Repeat("é", 150), `"x` + strings.Repeat("é", 99) + `..."`},
	} {
		if got := Quote(c[0], c[1]); got != c[2] {
			t.Errorf("Quote(%q, %q) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
