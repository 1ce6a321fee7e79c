package conf

import (
	"errors"
	"fmt"
	"slices"
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

// TestOldNamesInTheirOrder checks for each key with old names which name counts if several are set.
func TestOldNamesInTheirOrder(t *testing.T) {
	for key, names := range map[string][]string{ // the values of withAlternative in org.apache.spark.internal.config
		"spark.driver.memoryOverhead":             {"spark.yarn.driver.memoryOverhead"},
		"spark.executor.memoryOverhead":           {"spark.yarn.executor.memoryOverhead"},
		"spark.kerberos.keytab":                   {"spark.yarn.keytab"},
		"spark.kerberos.principal":                {"spark.yarn.principal"},
		"spark.kerberos.relogin.period":           {"spark.yarn.kerberos.relogin.period"},
		"spark.kerberos.access.hadoopFileSystems": {"spark.yarn.access.hadoopFileSystems", "spark.yarn.access.namenodes"},
	} {
		c := New()
		if name, value, ok := c.Lookup(key); name != key || value != "" || ok {
			t.Errorf("%s without a value is %s=%q, %v", key, name, value, ok)
		}

		names = append([]string{key}, names...)
		for i, set := range slices.Backward(names) {
			c.Set(set, fmt.Sprint(i))

			if name, value, ok := c.Lookup(key); name != set || value != fmt.Sprint(i) || !ok {
				t.Errorf("%s after %s was set is %s=%q, %v", key, set, name, value, ok)
			}
		}

		if name, _, ok := c.Lookup(names[len(names)-1]); len(names) > 1 && (name != names[len(names)-1] || !ok) {
			t.Errorf("the old name %s finds %s", names[len(names)-1], name)
		}
	}

	c := pairs("spark.yarn.driver.memoryOverhead", "", "spark.yarn.keytab", "old", "spark.kerberos.keytab", "")
	if _, err := c.Size("spark.driver.memoryOverhead", 7, MiB); err == nil || !strings.HasPrefix(err.Error(), "spark.yarn.driver.memoryOverhead: ") {
		t.Errorf("an empty old name should be an error with this name, but is %v", err)
	}

	if v, err := c.String("spark.kerberos.keytab", "default"); v != "" || err != nil {
		t.Errorf("an empty new name should count, but the value is %q, %v", v, err)
	}
}

// TestReferencesToUnsetKeysHaveSparksDefaults checks the values that replace a reference to a key that is not set (the
// tables of Spark's configuration page and of its page about Kubernetes).
func TestReferencesToUnsetKeysHaveSparksDefaults(t *testing.T) {
	for text, want := range map[string]string{
		"${spark.driver.cores} ${spark.executor.cores}":           "1 1",
		"${spark.driver.memory} ${spark.executor.memory}":         "1g 1g",
		"${spark.dynamicAllocation.enabled}":                      "false",
		"${spark.dynamicAllocation.initialExecutors}":             "0",
		"${spark.ui.port} ${spark.blockManager.port}":             "4040 0",
		"${spark.driver.blockManager.port}":                       "0",
		"${spark.kubernetes.namespace}":                           "default",
		"${spark.kubernetes.container.image.pullPolicy}":          "IfNotPresent",
		"${spark.kubernetes.container.image}":                     "${spark.kubernetes.container.image}",
		"${spark.kubernetes.executor.container.image}":            "${spark.kubernetes.executor.container.image}",
		"${spark.kubernetes.configMap.maxSize}":                   "1048576",
		"${spark.kubernetes.driver.master}":                       "https://kubernetes.default.svc",
		"${spark.kubernetes.driver.service.ipFamilyPolicy}":       "SingleStack",
		"${spark.kubernetes.driver.service.ipFamilies}":           "IPv4",
		"${spark.kubernetes.driver.service.deleteOnTermination}":  "true",
		"${spark.kubernetes.local.dirs.tmpfs}":                    "false",
		"${spark.kubernetes.memoryOverheadFactor}":                "0.1",
		"${spark.kubernetes.submission.waitAppCompletion}":        "true",
		"${spark.kubernetes.driver.memoryOverheadFactor}":         "${spark.kubernetes.driver.memoryOverheadFactor}",
		"${spark.executor.instances} ${spark.app.name} ${spark.}": "${spark.executor.instances} ${spark.app.name} ${spark.}",
	} {
		if got, err := New().Expand(text); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}

	c := pairs("spark.dynamicAllocation.minExecutors", "3", "spark.blockManager.port", "7079", "spark.kubernetes.container.image", "i",
		"spark.kubernetes.executor.container.image", "e", "spark.kubernetes.securityContext.allowPrivilegeEscalation", "true")
	for text, want := range map[string]string{
		"${spark.dynamicAllocation.initialExecutors}":                         "3",
		"${spark.driver.blockManager.port}":                                   "7079",
		"${spark.kubernetes.driver.container.image}":                          "i",
		"${spark.kubernetes.executor.container.image}":                        "e",
		"${spark.kubernetes.driver.securityContext.allowPrivilegeEscalation}": "true",
	} {
		if got, err := c.Expand(text); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestExpandAll checks that ExpandAll replaces only the wanted values, that it keeps the order of the keys and a value
// whose expansion fails, and that a second call changes nothing.
func TestExpandAll(t *testing.T) {
	c := pairs("spark.z", "<${spark.a}>", "spark.a", "A${env:E}", "spark.kept", "${spark.a}", "spark.loop", "${spark.loop}", "spark.plain", "x",
		"spark.none", "${spark.nothing}", "spark.y", "${spark.z}").WithEnvironment(map[string]string{"E": "e"})

	want := pairs("spark.z", "<Ae>", "spark.a", "Ae", "spark.kept", "${spark.a}", "spark.loop", "${spark.loop}", "spark.plain", "x",
		"spark.none", "${spark.nothing}", "spark.y", "<Ae>").WithEnvironment(map[string]string{"E": "e"})
	for range 2 {
		c.ExpandAll(func(key string) bool { return key != "spark.kept" })

		if !c.Equal(want) {
			t.Errorf("the configuration is %v, want %v, in this order", c.Map(), want.Map())
		}
	}
}

// TestExpandLimitsAreExact checks the largest text that Expand accepts for each limit, and the next larger one.
func TestExpandLimitsAreExact(t *testing.T) {
	chain := func(n int) *Conf { // spark.a0 is reached through n references
		c := pairs("spark.a0", "x")
		for i := range n {
			c.Set(fmt.Sprint("spark.a", i+1), fmt.Sprintf("${spark.a%d}", i))
		}
		return c
	}

	long := func(n int) *Conf { return pairs("spark.a", strings.Repeat("x", n)) }
	for name, c := range map[string]struct {
		conf       *Conf
		text, says string
	}{
		"32 levels":           {chain(31), "${spark.a31}", ""},
		"33 levels":           {chain(32), "${spark.a32}", "${spark.a32}: references are nested more than 32 deep; write out the value"},
		"262,144 bytes":       {long(1 << 18), "${spark.a}", ""},
		"262,145 bytes":       {long(1<<18 + 1), "${spark.a}", "${spark.a}: the replacements in a value are longer than 262144 bytes; write out the value, or make it shorter"},
		"twice 131,072 bytes": {long(1 << 17), "${spark.a}x${spark.a}", ""},
		"twice 131,073 bytes": {long(1<<17 + 1), "${spark.a}x${spark.a}", "${spark.a}: the replacements in a value are longer than 262144 bytes; write out the value, or make it shorter"},
		"4,096 references":    {pairs("spark.a", ""), strings.Repeat("${spark.a}", 4096), ""},
		"4,097 references":    {pairs("spark.a", ""), strings.Repeat("${spark.a}", 4097), "has 4097 references such as ${name}; the limit is 4096"},
		"a cycle of three":    {pairs("spark.a", "${spark.b}", "spark.b", "${spark.c}", "spark.c", "${spark.a}"), "${spark.a}", "${spark.a}: the reference leads back to itself"},
	} {
		got, err := c.conf.Expand(c.text)
		if (err == nil) != (c.says == "") || err != nil && (err.Error() != c.says || got != "") {
			t.Errorf("%s: %.40q, and the error is %v, want %q", name, got, err, c.says)
		}
	}
}

// TestMessagesOfTypedReads checks the whole message of each typed read, and that the cause of the error can be found.
func TestMessagesOfTypedReads(t *testing.T) {
	c := pairs("spark.x", "many", "spark.size", "9223372036854775807k", "spark.time", "106752d")
	for want, read := range map[string]func() error{
		`spark.x: should be a whole number, but is "many"`: func() error { _, err := c.Int("spark.x", 1); return err },
		`spark.x: should be a number, but is "many"`:       func() error { _, err := c.Float("spark.x", 1); return err },
		`spark.x: should be true or false, but is "many"`:  func() error { _, err := c.Bool("spark.x", true); return err },
		`spark.x: size should be a whole number with a unit (b, k, m, g, t or p), such as 512m or 2g, but is "many"`: func() error {
			_, err := c.Size("spark.x", 1, MiB)
			return err
		},
		`spark.x: time should be a whole number with a unit (us, ms, s, m, min, h or d), such as 30s, but is "many"`: func() error {
			_, err := c.Duration("spark.x", 1, time.Second)
			return err
		},
		`spark.size: size "9223372036854775807k" is too large`: func() error { _, err := c.Size("spark.size", 1, MiB); return err },
		`spark.time: time "106752d" is too long`:               func() error { _, err := c.Duration("spark.time", 1, time.Second); return err },
	} {
		err := read()
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
			continue
		}

		if cause := errors.Unwrap(err); cause == nil || !strings.HasSuffix(want, ": "+cause.Error()) {
			t.Errorf("the cause of %v is %v", err, cause)
		}
	}

	if n, err := c.Int("spark.x", 7); n != 0 || err == nil {
		t.Errorf("a wrong value is read as %d, %v", n, err)
	}
}

// TestIntHas32Bits checks the bounds of Int, and forms of numbers that Java's Integer.parseInt accepts or rejects.
func TestIntHas32Bits(t *testing.T) {
	for text, want := range map[string]int{"2147483647": 2147483647, "-2147483648": -2147483648, "+7": 7, "007": 7, "-0": 0} {
		if n, err := pairs("spark.x", text).Int("spark.x", 1); n != want || err != nil {
			t.Errorf("%s is %d, %v, want %d", text, n, err, want)
		}
	}

	for _, text := range []string{"2147483648", "-2147483649", "", "1.0", "1e3", "0x10", "1_000", "- 1", "--1", "1 2"} {
		if n, err := pairs("spark.x", text).Int("spark.x", 1); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}
