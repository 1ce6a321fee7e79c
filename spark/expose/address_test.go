package expose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var pi = Names{Application: "pi", Namespace: "jobs", ID: "spark-0123"}

func TestParseAddress(t *testing.T) {
	for _, test := range []struct {
		format string
		want   Address
		text   string
	}{
		{"{{$appName}}.example.com", Address{"http", "pi.example.com", "", ""}, "http://pi.example.com"},
		{"{{$appName}}.{{$appNamespace}}.example.com/", Address{"http", "pi.jobs.example.com", "", ""},
			"http://pi.jobs.example.com"},
		{"example.com/{{ $appNamespace }}/{{  $appName  }}", Address{"http", "example.com", "", "/jobs/pi"},
			"http://example.com/jobs/pi"},
		{"https://example.com/{{$appId}}/", Address{"https", "example.com", "", "/spark-0123"},
			"https://example.com/spark-0123"},
		{" http://example.com:8080/a//", Address{"http", "example.com", "8080", "/a"}, "http://example.com:8080/a"},
		{"*.example.com/{{$appName}}", Address{"http", "*.example.com", "", "/pi"}, "http://*.example.com/pi"},
		{"/{{$appNamespace}}/{{$appName}}", Address{"http", "", "", "/jobs/pi"}, "/jobs/pi"},
		{"/", Address{"http", "", "", ""}, ""},
		{"localhost/{{$appName}}-{{$appName}}", Address{"http", "localhost", "", "/pi-pi"}, "http://localhost/pi-pi"},
	} {
		got, err := ParseAddress(test.format, pi)
		if err != nil {
			t.Errorf("%q: %v", test.format, err)
			continue
		}

		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.format, diff)
		}

		if got.String() != test.text {
			t.Errorf("%q is %q, want %q", test.format, got, test.text)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for format, says := range map[string]string{
		"":                                       "has no host",
		"http://":                                "has no host",
		"https:///{{$appName}}":                  "has no host",
		"{{$appname}}.example.com":               `"{{$appname}}" is not a placeholder; the placeholders are {{$appName}}`,
		"{{appName}}.example.com":                "is not a placeholder",
		"example.com/{{$appName}":                "is not a placeholder",
		"example.com/{$appName}":                 "is not a placeholder",
		"a b.example.com":                        "is not a URL",
		"http://[::1":                            "is not a URL",
		"example.com:port/":                      "is not a URL",
		"ftp://example.com":                      `the scheme "ftp"`,
		"https://me@example.com":                 "leave out user",
		"example.com/a?b=c":                      "leave out user, query and fragment",
		"example.com/a?":                         "leave out user, query and fragment",
		"example.com/a#b":                        "leave out user, query and fragment",
		"Upper.example.com":                      "is not a host name",
		"under_score.example.com":                "is not a host name",
		"a.*.example.com":                        "is not a host name",
		strings.Repeat("a", 64) + ".example.com": "more than 63 characters",
		"example.com/a(b)":                       "other characters",
		"example.com/a%20b":                      "other characters",
		"example.com//a":                         "an empty part",
		"example.com/{{$appName}}/|":             "other characters",
	} {
		got, err := ParseAddress(format, pi)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %+v, %v; want an error that says %q", format, got, err, says)
		}
	}
}

// TestParseIngressAddress checks that ParseIngressAddress accepts only addresses that have a host.
func TestParseIngressAddress(t *testing.T) {
	for format, refused := range map[string]string{
		"{{$appName}}.example.com": "", "https://example.com/{{$appName}}": "", "*.example.com": "",
		"/{{$appName}}": "needs a host before the path", "/": "needs a host before the path",
		"{{$app}}.com": "is not a placeholder",
	} {
		got, err := ParseIngressAddress(format, pi)
		if want, _ := ParseAddress(format, pi); err == nil && (got != want || got.Host == "") {
			t.Errorf("%q: %+v, want %+v", format, got, want)
		}

		if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: %v, want %q", format, err, refused)
		}
	}
}

// FuzzParseAddress checks that the text of an accepted address (Address.String) parses to the same address, and that an
// accepted address has only a host and a plain path.
func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"{{$appName}}.example.com", "https://a.b:1/{{$appNamespace}}", "/x", "http://[::1]/",
		"a/%2f", "*.a//", "{{{$appId}}}"} {
		f.Add(seed, "pi", "jobs")
	}

	f.Fuzz(func(t *testing.T, format, application, namespace string) {
		a, err := ParseAddress(format, Names{application, namespace, "spark-1"})
		if err != nil {
			return
		}

		if strings.HasSuffix(a.Path, "/") || a.Path != "" && a.Path[0] != '/' ||
			strings.ContainsAny(a.String(), "{}()|$?#\\ ") {
			t.Errorf("%q is accepted as %+v", format, a)
		}

		if a.String() == "" {
			return
		}

		again, err := ParseAddress(a.String(), Names{})
		if a.Host == "" {
			again.Scheme = a.Scheme // a path alone has no scheme
		}

		if err != nil || (again != a && a.Host != "") || again.Path != a.Path {
			t.Errorf("%+v is read back as %+v, %v", a, again, err)
		}
	})
}

func TestName(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, test := range []struct{ application, suffix, want string }{
		{"pi", "-ui-svc", "pi-ui-svc"},
		{strings.Repeat("a", 56), "-ui-svc", strings.Repeat("a", 56) + "-ui-svc"},
		{strings.Repeat("a", 57), "-ui-svc", strings.Repeat("a", 47) + "-652b906d-ui-svc"},
		{strings.Repeat("a", 63), "-ui-ingress", strings.Repeat("a", 43) + "-b06521f3-ui-ingress"},
		{strings.Repeat("a", 46) + "-" + strings.Repeat("b", 16), "-ui-svc",
			strings.Repeat("a", 46) + "-" + "9aebfc98-ui-svc"},
	} {
		if got := Name(test.application, test.suffix); got != test.want {
			t.Errorf("%s with %s is %s, want %s", test.application, test.suffix, got, test.want)
		}
	}

	for _, suffix := range []string{"-ui-svc", "-ui-ingress", "-ui-route", "-driver-65535", "-ing-65535"} {
		name, other := Name(long, suffix), Name(long[1:]+"b", suffix)
		if len(name) > 63 || name == other || !strings.HasSuffix(name, suffix) {
			t.Errorf("%s (%d characters) and %s", name, len(name), other)
		}
	}
}
