package conf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReferencesAreThoseOfSpark checks that references are recognized as by Spark's own pattern, ConfigReader.REF_RE. A
// reference begins with "${" and ends with the first "}" that leaves a name of at least one character without blanks.
func TestReferencesAreThoseOfSpark(t *testing.T) {
	c := pairs("spark.a", "A", "spark.a:b", "colon", "spark.kubernetes.container.image", "img", "spark.blank", "").
		WithEnvironment(map[string]string{"HOME": "/h", "A:B": "both", "EMPTY": ""}).
		WithSystemProperties(map[string]string{"user.home": "/root", "spark.a": "of the JVM"})
	for text, want := range map[string]string{
		"${spark.a}":                      "A",
		"${a b} ${spark.a}":               "${a b} A",
		"${a ${spark.a}}":                 "${a A}",
		"${${spark.a}}":                   "${${spark.a}}",
		"${}${spark.a}":                   "${}${spark.a}",
		"${}":                             "${}",
		"${spark.a:b}":                    "colon",
		"${env:A:B}":                      "both",
		"${env:HOME}/${system:user.home}": "/h//root",
		"${system:spark.a}":               "of the JVM",
		"${system:none}":                  "${system:none}",
		"${other:HOME}":                   "${other:HOME}",
		"${env:EMPTY}${spark.blank}":      "",
		"${ENV:HOME}":                     "${ENV:HOME}",
		"${spark.a\u00a0}":                "${spark.a\u00a0}",
		"$${spark.a}":                     "$A",
		"${spark.a}}":                     "A}",
		"${spark.kubernetes.driver.container.image}":                            "img",
		"${spark.driver.blockManager.port}":                                     "0",
		"${spark.kubernetes.executor.securityContext.allowPrivilegeEscalation}": "false",
		"${spark.kubernetes.driver.pod.name}":                                   "${spark.kubernetes.driver.pod.name}",
	} {
		if got, err := c.Expand(text); err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", text, got, err, want)
		}
	}

	if got, err := (*Conf)(nil).Expand("${spark.driver.memory} ${env:HOME}"); err != nil || got != "1g ${env:HOME}" {
		t.Errorf("without a configuration: %q, %v", got, err)
	}
}

func TestSystemPropertiesAreOnlyWhatIsDeclared(t *testing.T) {
	given := map[string]string{"a": "1"}
	c := pairs("spark.x", "${system:a}")
	with := c.WithSystemProperties(given)
	given["a"] = "2"

	for want, c := range map[string]*Conf{"${system:a}": c, "1": with.Clone()} {
		if v, err := c.String("spark.x", ""); v != want || err != nil {
			t.Errorf("spark.x is %q, %v, want %q", v, err, want)
		}
	}
}

func TestUnresolved(t *testing.T) {
	c := pairs("spark.a", "${env:A}/${env:B}", "spark.b", "x${spark.a}${system:s}", "spark.c",
		"${spark.none} ${other:x}", "spark.loop", "${spark.loop}").
		WithEnvironment(map[string]string{"A": "a"})
	for key, want := range map[string][]string{"spark.a": {"${env:B}"}, "spark.b": {"${env:B}", "${system:s}"},
		"spark.c": nil, "spark.none": nil, "spark.loop": nil} {
		if diff := cmp.Diff(want, c.Unresolved(key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

// FuzzExpand checks that no text makes Expand panic or exceed its limit. Texts without references must stay unchanged,
// and references that cannot be resolved must stay unchanged too.
func FuzzExpand(f *testing.F) {
	f.Add("${spark.a}", "${spark.b}", "${env:E}")
	f.Add("${spark.a}${spark.b}", "${spark.a}", "x")
	f.Add("${", "}", "${}${ }")
	f.Fuzz(func(t *testing.T, a, b, text string) {
		c := pairs("spark.a", a, "spark.b", b).WithEnvironment(map[string]string{"E": b})

		got, err := c.Expand(text)
		switch {
		case err != nil:
			if got != "" {
				t.Errorf("%q together with %v", got, err)
			}
		case len(got) > len(text)+maxExpanded:
			t.Errorf("%d bytes", len(got))
		case !strings.Contains(text, "${") && got != text:
			t.Errorf("Expand(%q) = %q", text, got)
		}

		if left, err := New().Expand(text); err != nil || len(defaultsIn(text)) == 0 && left != text {
			t.Errorf("with nothing declared %q becomes %q, %v", text, left, err)
		}
	})
}

func defaultsIn(text string) (found []string) {
	for key := range defaults {
		if strings.Contains(text, key) {
			found = append(found, key)
		}
	}

	for key := range fallbacks {
		if strings.Contains(text, key) {
			found = append(found, key)
		}
	}
	return found
}
