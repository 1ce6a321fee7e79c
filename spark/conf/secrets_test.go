package conf

import (
	"strings"
	"testing"
)

// TestSecretsUseBothPatterns checks that the configuration's own pattern adds to Spark's default pattern, and that it
// applies to keys and to values. The pattern itself is no secret.
func TestSecretsUseBothPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, key, value string
		want                bool
	}{
		{"", "spark.x", "y", false},
		{"", "spark.my.password", "y", true},
		{"", "spark.x", "a token", true},
		{"mine", "spark.mine", "y", true},
		{"mine", "spark.x", "it is mine", true},
		{"mine", "spark.x", "MINE", false},
		{"(?i)mine", "spark.x", "MINE", true},
		{"mine", "spark.my.password", "y", true},
		{"mine", "spark.x", "credential", true},
		{"mine", "spark.x", "yours", false},
		{"^spark[.]x$", "spark.x", "y", true},
		{"^spark[.]x$", "spark.xy", "y", false},
		{"(?i)secret|mine", RedactionKey, "(?i)secret|mine", false},
	} {
		conf := pairs(c.key, c.value)
		if c.pattern != "" {
			conf.Set(RedactionKey, c.pattern)
		}

		looks, err := Secrets(conf)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
		}

		if got := looks(c.key, c.value); got != c.want {
			t.Errorf("with %q, %s=%s is a secret: %v", c.pattern, c.key, c.value, got)
		}
	}

	if looks, err := Secrets(nil); err != nil || looks("spark.x", "y") || !looks("spark.token", "y") {
		t.Errorf("without a configuration: %v", err)
	}
}

// TestUnusablePatternMakesEverythingSecret checks that nothing is shown if the pattern cannot be used, and that the
// error says why. Java supports the first two patterns, and Go does not.
func TestUnusablePatternMakesEverythingSecret(t *testing.T) {
	for pattern, says := range map[string]string{
		"(?=a)b":                          "invalid or unsupported Perl syntax",
		"a++":                             "invalid nested repetition operator",
		"(":                               "missing closing )",
		strings.Repeat("a", maxPattern+1): "it is 4097 bytes long; the limit is 4096",
		strings.Repeat("[a-c]?", 600):     "",
		"a{1000}b{1000}":                  "it is compiled to more than 2000 instructions; use fewer repetitions",
	} {
		looks, err := Secrets(pairs(RedactionKey, pattern, "spark.x", "y"))
		if says == "" {
			if err != nil || looks("spark.x", "y") != true {
				t.Errorf("%.40q: %v", pattern, err)
			}
			continue
		}

		if err == nil || !strings.Contains(err.Error(), says) || !looks("spark.x", "y") || !looks("", "") ||
			!looks(RedactionKey, pattern) {
			t.Errorf("%.40q: the error is %v, want %q in it, and everything secret", pattern, err, says)
		}
	}
}

// TestConfQuoteShowsWhatTheUserWrote checks that a message never shows the replacement of a reference. It shows a part
// of the user's value if the part is in it, and otherwise the whole value. The value may have an old name of the key.
func TestConfQuoteShowsWhatTheUserWrote(t *testing.T) {
	c := pairs("spark.a", "x, many, y", "spark.ref", "${spark.hidden}", "spark.hidden", "hunter2", "spark.yarn.keytab",
		"${spark.hidden}",
		"spark.my.password", "abc", "spark.long", strings.Repeat("x", 300))
	for _, q := range [][3]string{
		{"spark.a", "many", `"many"`},
		{"spark.a", "x, many, y", `"x, many, y"`},
		{"spark.a", "", `""`},
		{"spark.a", "few", `"x, many, y"`},
		{"spark.ref", "hunter2", `"${spark.hidden}"`},
		{"spark.kerberos.keytab", "hunter2", `"${spark.hidden}"`},
		{"spark.my.password", "abc", Redacted},
		{"spark.my.password", "b", Redacted},
		{"spark.none", "default", `"default"`},
		{"spark.long", "y", `"` + strings.Repeat("x", 200) + `..."`},
	} {
		if got := c.Quote(q[0], q[1]); got != q[2] {
			t.Errorf("Quote(%q, %q) = %s, want %s", q[0], q[1], got, q[2])
		}
	}

	if got := (*Conf)(nil).Quote("spark.a", "x"); got != `"x"` {
		t.Errorf("without a configuration: %s", got)
	}
}

// TestShortenAtItsLimit checks that a text of 200 bytes stays as it is, that a longer one is cut, and that no character
// is cut in half.
func TestShortenAtItsLimit(t *testing.T) {
	for _, c := range [][2]string{
		{strings.Repeat("x", 200), strings.Repeat("x", 200)},
		{strings.Repeat("x", 201), strings.Repeat("x", 200) + "..."},
		{strings.Repeat("x", 199) + "é", strings.Repeat("x", 199) + "..."},
		{strings.Repeat("x", 198) + "é", strings.Repeat("x", 198) + "é"},
		{strings.Repeat("x", 198) + "漢", strings.Repeat("x", 198) + "..."},
		{"https://" + strings.Repeat("u", 300) + "@h/" + strings.Repeat("x", 188),
			"https://h/" + strings.Repeat("x", 188)},
		{strings.Repeat("x", searchedLimit) + " y", strings.Repeat("x", 200) + "..."},
	} {
		if got := Shorten(c[0]); got != c[1] {
			t.Errorf("%d bytes become %q, want %q", len(c[0]), got, c[1])
		}
	}
}
