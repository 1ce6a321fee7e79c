package expose

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Address is the URL of a web UI outside the cluster, in parts.
type Address struct {
	// Scheme is http or https.
	Scheme string
	// Host is a DNS name, which may begin with "*.". Empty means any host.
	Host string
	// Port is the port. Empty means the scheme's default port.
	Port string
	// Path begins with a slash and does not end with one. It is empty for the root.
	Path string
}

// Names contains the values of the placeholders in the format of an address.
type Names struct {
	// Application is the application's name, which replaces {{$appName}}.
	Application string
	// Namespace is the application's namespace, which replaces {{$appNamespace}}.
	Namespace string
	// ID is the attempt's spark.app.id, which replaces {{$appId}}.
	ID string
}

// labelLimit is the maximum length of one label of a host name (RFC 1035). The API server does not check this limit.
const labelLimit = 63

// maxFormat is the maximum length of the format of an address. Browsers and proxies accept about 2,000 characters.
const maxFormat = 2048

// placeholder matches a placeholder in a format, in the form that users of the sparkoperator.k8s.io API write.
var placeholder = regexp.MustCompile(`\{\{\s*[$]([A-Za-z]*)\s*\}\}`)

// plainPath matches paths without special characters. Some controllers read the path of an Ingress as a regular
// expression, and a plain path matches itself in this case too.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9/_.~-]*$`)

// ParseAddress replaces the placeholders in a format, which is a URL such as "{{$appName}}.example.com" or
// "https://example.com/{{$appNamespace}}/{{$appName}}", and parses the result. The default scheme is http. The address
// has no host if the format begins with a slash. The error says what is wrong with the format and how to write it.
func ParseAddress(format string, names Names) (Address, error) {
	if len(format) > maxFormat {
		return Address{}, fmt.Errorf("is %d bytes long; the limit is %d bytes", len(format), maxFormat)
	}

	text, err := fill(strings.TrimSpace(format), names)
	if err != nil {
		return Address{}, err
	}

	if !strings.Contains(text, "://") && !strings.HasPrefix(text, "/") {
		text = "http://" + text
	}

	u, err := url.Parse(text)
	if err != nil {
		return Address{}, fmt.Errorf("%q is not a URL: %w; write one such as https://spark.example.com/{{$appNamespace}}/{{$appName}}", format, errors.Unwrap(err))
	}

	a := Address{Scheme: u.Scheme, Host: u.Hostname(), Port: u.Port(), Path: strings.TrimRight(u.Path, "/")}
	if a.Scheme == "" {
		a.Scheme = "http"
	}
	return a, a.check(text, u)
}

// ParseIngressAddress parses an address like ParseAddress, but returns an error if the address has no host. An Ingress
// without a host would answer requests for every host name that leads to its controller.
func ParseIngressAddress(format string, names Names) (Address, error) {
	a, err := ParseAddress(format, names)
	if err == nil && a.Host == "" {
		err = errors.New("an Ingress needs a host before the path, such as spark.example.com/{{$appNamespace}}/{{$appName}}")
	}
	return a, err
}

// fill replaces the placeholders in a format by the values in names.
func fill(format string, names Names) (string, error) {
	known := map[string]string{"appName": names.Application, "appNamespace": names.Namespace, "appId": names.ID}
	unknown := ""

	text := placeholder.ReplaceAllStringFunc(format, func(found string) string {
		word := placeholder.FindStringSubmatch(found)[1]
		if _, ok := known[word]; !ok && unknown == "" {
			unknown = found
		}
		return known[word]
	})
	if unknown == "" && strings.ContainsAny(text, "{}") {
		unknown = text
	}

	if unknown != "" {
		return "", fmt.Errorf("%q is not a placeholder; the placeholders are {{$appName}}, {{$appNamespace}} and {{$appId}}", unknown)
	}
	return text, nil
}

func (a Address) check(text string, u *url.URL) error {
	host := strings.TrimPrefix(a.Host, "*.")
	switch {
	case a.Scheme != "http" && a.Scheme != "https":
		return fmt.Errorf("%q has the scheme %q; write http or https, or none", text, a.Scheme)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fmt.Errorf("%q has more than a host and a path; leave out user, query and fragment", text)
	case a.Host == "" && !strings.HasPrefix(text, "/"):
		return fmt.Errorf("%q has no host; write one before the path, such as spark.example.com/{{$appNamespace}}/{{$appName}}", text)
	case a.Host != "" && len(validation.IsDNS1123Subdomain(host)) > 0:
		return fmt.Errorf("%q is not a host name: %s", a.Host, strings.Join(validation.IsDNS1123Subdomain(host), "; "))
	case slices.ContainsFunc(strings.Split(host, "."), func(label string) bool { return len(label) > labelLimit }):
		return fmt.Errorf("%q is not a host name: a part between two dots has more than %d characters", a.Host, labelLimit)
	case !plainPath.MatchString(a.Path) || strings.Contains(a.Path, "//"):
		return fmt.Errorf("the path %q has an empty part (//) or other characters than letters, digits and /_.~-; remove them", a.Path)
	}
	return nil
}

// String returns the address as a URL that a browser accepts, or only the path if there is no host.
func (a Address) String() string {
	if a.Host == "" {
		return a.Path
	}

	host := a.Host
	if a.Port != "" {
		host += ":" + a.Port
	}
	return a.Scheme + "://" + host + a.Path
}
