package submit_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestResourceNamePrefix compares the prefixes with those that spark-submit built from the same application names.
func TestResourceNamePrefix(t *testing.T) {
	const id = "c05dd8a1fbc0dc03"
	for name, want := range map[string]string{
		"m":                 "m-" + id,
		"My App_1":          "my-app-1-" + id,
		"1-0Äpp_":           "x-0-pp-" + id,
		"___":               id,
		"":                  id,
		"  Pi  ":            "pi-" + id,
		"a...b///c":         "a-b-c-" + id,
		"-a-":               "a-" + id,
		"--a":               "a-" + id,
		"9":                 "x-" + id,
		"org.example.Main$": "org-example-main-" + id,
		"漢字":                id,
		"a😀b":               "a-b-" + id,
		"\u212Aelvin":       "kelvin-" + id,
		"\u0130x":           "i-x-" + id,
	} {
		if got := submit.ResourceNamePrefix(name, id); got != want {
			t.Errorf("ResourceNamePrefix(%q) = %q, want %q", name, got, want)
		}
	}
	// The first digit of the ID is replaced if nothing of the name is left.
	if got := submit.ResourceNamePrefix("___", "427526"); got != "x27526" {
		t.Errorf(`ResourceNamePrefix("___") = %q, want x27526`, got)
	}
}

func TestAppNameLabel(t *testing.T) {
	for name, want := range map[string]string{
		"My App_1":                        "my-app-1",
		"___":                             "",
		"":                                "",
		"1-0Äpp_":                         "1-0-pp",
		"  Pi  ":                          "pi",
		"org.example.Main":                "org-example-main",
		strings.Repeat("a", 80):           strings.Repeat("a", 63),
		strings.Repeat("a", 62) + ".tail": strings.Repeat("a", 62),
		"-" + strings.Repeat("b", 70):     strings.Repeat("b", 62),
		"--a--":                           "a",
	} {
		got := submit.AppNameLabel(name)
		if got != want {
			t.Errorf("AppNameLabel(%q) = %q, want %q", name, got, want)
		}

		if errs := validation.IsValidLabelValue(got); len(errs) > 0 {
			t.Errorf("AppNameLabel(%q) = %q is no label: %v", name, got, errs)
		}
	}
}

func TestServiceName(t *testing.T) {
	fits := strings.Repeat("a", 52)
	if got := submit.ServiceName(fits, "spark-1"); got != fits+"-driver-svc" {
		t.Errorf("a prefix of 52 characters gives %q", got)
	}

	seen := map[string]bool{}
	for _, prefix := range []string{fits + "b", "with.dot", "1digit", strings.Repeat("x", 200)} {
		got := submit.ServiceName(prefix, "spark-"+prefix)
		if errs := validation.IsDNS1035Label(got); len(errs) > 0 || !strings.HasPrefix(got, "spark-") ||
			!strings.HasSuffix(got, "-driver-svc") {
			t.Errorf("ServiceName(%q) = %q: %v", prefix, got, errs)
		}

		if seen[got] || got != submit.ServiceName(prefix, "spark-"+prefix) {
			t.Errorf("ServiceName(%q) = %q is not the one name of its application", prefix, got)
		}

		seen[got] = true
	}
}

// FuzzNames checks that the names that Build derives are valid for every application name.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"pi", "___", "9", "Ä", strings.Repeat("long.", 100), "-", "a\x00b", "\u0130"} {
		f.Add(name)
	}

	f.Fuzz(func(t *testing.T, name string) {
		prefix := submit.ResourceNamePrefix(name, "c05dd8a1fbc0dc03")
		if errs := validation.IsValidLabelValue(submit.AppNameLabel(name)); len(errs) > 0 {
			t.Errorf("AppNameLabel(%q) = %q: %v", name, submit.AppNameLabel(name), errs)
		}

		if errs := validation.IsDNS1123Subdomain(submit.DriverPodName(prefix)); len(errs) > 0 {
			t.Errorf("DriverPodName(%q) = %q: %v", prefix, submit.DriverPodName(prefix), errs)
		}

		if errs := validation.IsDNS1035Label(submit.ServiceName(prefix, "spark-1")); len(errs) > 0 {
			t.Errorf("ServiceName(%q) = %q: %v", prefix, submit.ServiceName(prefix, "spark-1"), errs)
		}
	})
}
