package sparkoperator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

// hostRules are rules of a platform that allow only the hosts in the list. They record what they were asked.
type hostRules struct {
	hosts []string
	asked []dialect.Exposing
}

func (*hostRules) Faults(*dialect.Subject) []*dialect.FieldError { return nil }

func (r *hostRules) ExposureFaults(asked *dialect.Exposing) (faults []*dialect.FieldError) {
	r.asked = append(r.asked, *asked)
	for _, host := range asked.Hosts {
		if !slices.Contains(r.hosts, host.Value) {
			faults = append(faults, &dialect.FieldError{Field: host.Field,
				Message: "the host " + host.Value + " is not allowed"})
		}
	}
	return faults
}

// TestProblemsNameTheField checks the message of a problem. A percent sign in a value of the user must stay as it is.
func TestProblemsNameTheField(t *testing.T) {
	var e Exposure
	e.AddProblem(ReasonInvalidAddress, "spec.ui", "%q is wrong; write %d", "100%d", 7)
	e.AddProblem(dialect.ReasonSwitchedOff, "spec.ui.route", "nothing")

	want := []lifecycle.Cause{
		{Reason: "InvalidAddress", Message: `spec.ui: "100%d" is wrong; write 7`},
		{Reason: "SwitchedOff", Message: "spec.ui.route: nothing"},
	}
	if diff := cmp.Diff(want, e.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestPortsAreChecked checks the limits of a port. Each invalid port adds exactly one problem.
func TestPortsAreChecked(t *testing.T) {
	for port, valid := range map[int32]bool{-1: false, 0: false, 1: true, 4040: true, 65535: true, 65536: false} {
		var e Exposure
		if got := e.ValidPort("spec.port", port); got != valid {
			t.Errorf("%d: %t, want %t", port, got, valid)
		}

		want := []lifecycle.Cause{{Reason: "InvalidPort",
			Message: fmt.Sprintf("spec.port: %d is not a port; write a number from 1 to 65535", port)}}
		if valid {
			want = nil
		}

		if diff := cmp.Diff(want, e.Problems); diff != "" {
			t.Errorf("%d (-want +got):\n%s", port, diff)
		}
	}
}

// TestRulesDecideAboutExposure checks that every fault of the rules is a problem too, and that a later object without
// faults is allowed in spite of an earlier one.
func TestRulesDecideAboutExposure(t *testing.T) {
	host := func(values ...string) *dialect.Exposing {
		asked := &dialect.Exposing{Kind: "Ingress"}
		for _, value := range values {
			asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: "spec.host", Value: value})
		}
		return asked
	}

	var free Exposure
	if !free.Allowed(host("b", "")) || len(free.Problems)+len(free.Refused) > 0 {
		t.Errorf("without rules: %+v", free)
	}

	e := Exposure{Rules: &hostRules{hosts: []string{"a"}}}
	for i, test := range []struct {
		asked *dialect.Exposing
		want  bool
	}{{host("a"), true}, {host("b", "a", "c"), false}, {host(), true}, {host("a"), true}} {
		if got := e.Allowed(test.asked); got != test.want {
			t.Errorf("object %d is allowed: %t, want %t", i, got, test.want)
		}
	}

	wantProblems := []lifecycle.Cause{
		{Reason: "InvalidSpec", Message: "spec.host: the host b is not allowed"},
		{Reason: "InvalidSpec", Message: "spec.host: the host c is not allowed"},
	}

	wantRefused := []*dialect.FieldError{{Field: "spec.host", Message: "the host b is not allowed"},
		{Field: "spec.host", Message: "the host c is not allowed"}}
	if diff := cmp.Diff(wantProblems, e.Problems) + cmp.Diff(wantRefused, e.Refused); diff != "" {
		t.Errorf("problems and faults (-want +got):\n%s", diff)
	}
}

func TestTLSHosts(t *testing.T) {
	got := TLSHosts("spec.tls", []networkingv1.IngressTLS{{Hosts: []string{"a", ""}}, {SecretName: "s"},
		{Hosts: []string{"a"}}})

	want := []dialect.FieldValue{{Field: "spec.tls[0].hosts", Value: "a"}, {Field: "spec.tls[0].hosts", Value: ""},
		{Field: "spec.tls[2].hosts", Value: "a"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}

	if got := TLSHosts("spec.tls", nil); got != nil {
		t.Errorf("no settings: %v", got)
	}
}

func TestRouteFormat(t *testing.T) {
	ingress := &UIIngress{URLFormat: "ingress"}
	for name, test := range map[string]struct {
		ui   UI
		want string
	}{
		"nothing is enabled":                   {UI{}, ""},
		"only Ingresses are enabled":           {UI{Ingress: ingress}, ""},
		"routes without an address":            {UI{Route: &UIRoute{}}, ""},
		"routes with the address of Ingresses": {UI{Ingress: ingress, Route: &UIRoute{}}, "ingress"},
		"routes with their own address":        {UI{Ingress: ingress, Route: &UIRoute{URLFormat: "route"}}, "route"},
		"only routes with an address":          {UI{Route: &UIRoute{URLFormat: "route"}}, "route"},
	} {
		if got := test.ui.RouteFormat(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

const ownFormat = "spec.ui.address"

// routeOf adds a route of the Service "pi-ui-svc" to an exposure.
func routeOf(ui UI, e *Exposure, spec *v1beta2.RouteConfiguration, format, formatField string) {
	e.Service, e.Port = "pi-ui-svc", 4040
	ui.AddRoute(e, RouteRequest{
		Spec: spec, Field: "spec.ui.route", Format: format, FormatField: formatField,
		Names: expose.Names{Application: "pi", Namespace: "jobs", ID: "spark-1"},
		Route: expose.Route{Meta: expose.Meta{Namespace: "jobs", Name: "pi-ui-route", Labels: map[string]string{"a": "b"}}},
	})
}

// briefRoute returns the parts of a route that these tests compare, as one line of text.
func briefRoute(t *testing.T, e *Exposure) string {
	t.Helper()

	route, ok := e.Objects[len(e.Objects)-1].(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("the object is %T", e.Objects[len(e.Objects)-1])
	}

	hosts, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
	parents, _, _ := unstructured.NestedSlice(route.Object, "spec", "parentRefs")
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	rule := rules[0].(map[string]any)
	path := rule["matches"].([]any)[0].(map[string]any)["path"].(map[string]any)["value"]
	backend := rule["backendRefs"].([]any)[0].(map[string]any)
	return fmt.Sprintf("%s/%s %v%v %v -> %v:%v", route.GetNamespace(), route.GetName(), hosts, path, parents,
		backend["name"], backend["port"])
}

// TestRoutes checks when a route exists, and its Gateways, hosts and path.
func TestRoutes(t *testing.T) {
	gate := []v1beta2.RouteParentReference{{Name: "gate"}}
	public := &UIRoute{Parents: []expose.Parent{{Name: "public", Namespace: "gates"}}}
	const shared = "map[name:public namespace:gates]"
	type address = expose.Address

	for name, test := range map[string]struct {
		route          *UIRoute
		ingress        *expose.Address // of an Ingress that was added before
		spec           *v1beta2.RouteConfiguration
		format, field  string
		object, link   string // empty: no route
		reason, starts string // of the problem
	}{
		"nobody asks for a route": {},
		"the operator enables routes without a Gateway": {route: &UIRoute{URLFormat: "a.b"}, format: "a.b",
			field: RouteFormatField},
		"routes are disabled": {spec: &v1beta2.RouteConfiguration{ParentRefs: gate},
			reason: "SwitchedOff", starts: "spec.ui.route: the operator creates no HTTPRoutes; set ui.route.enabled: true"},
		"no Gateway at all": {route: &UIRoute{},
			spec: &v1beta2.RouteConfiguration{Hostnames: []string{"a.b"}}, reason: "NoGateway",
			starts: "spec.ui.route.parentRefs: no Gateway is named"},
		"neither a host nor a path": {route: public, spec: &v1beta2.RouteConfiguration{},
			reason: "InvalidAddress", starts: "spec.ui.route.hostnames: without a host and a path the route would match every request; name a host, or set ui.route.urlFormat"},
		"neither a host nor a path, of the operator": {route: public, reason: "InvalidAddress",
			starts: "spec.ui.route.hostnames: "},
		"an address that is the root of every host": {route: public, format: "/", field: RouteFormatField,
			reason: "InvalidAddress", starts: "spec.ui.route.hostnames: "},
		"an address that cannot be parsed": {route: public, format: "{{$x}}", field: ownFormat,
			reason: "InvalidAddress", starts: ownFormat + `: "{{$x}}" is not a placeholder`},
		"an address that cannot be parsed, and hosts": {route: public,
			spec: &v1beta2.RouteConfiguration{Hostnames: []string{"a.b"}}, format: "a b", field: RouteFormatField,
			reason: "InvalidAddress", starts: RouteFormatField + ": "},
		"another path than the Ingress": {route: public, ingress: &address{Host: "a.b", Path: "/pi"},
			format: "a.b/x", field: ownFormat, reason: "InvalidAddress",
			starts: ownFormat + `: "http://a.b/x" has another path than ui.ingress.urlFormat`},
		"no path, but the Ingress has one": {route: public, ingress: &address{Host: "a.b", Path: "/pi"},
			format: "c.d", field: ownFormat, reason: "InvalidAddress",
			starts: ownFormat + `: "http://c.d" has another path`},
		"the same path as the Ingress": {route: public, ingress: &address{Host: "a.b", Path: "/pi"},
			format: "c.d/pi/", field: ownFormat, object: "jobs/pi-ui-route [c.d]/pi [" + shared + "] -> pi-ui-svc:4040",
			link: "http://c.d/pi"},
		"the operator's address": {route: public,
			format: "https://ui.example.com:8443/{{$appNamespace}}/{{$appName}}", field: RouteFormatField,
			object: "jobs/pi-ui-route [ui.example.com]/jobs/pi [" + shared + "] -> pi-ui-svc:4040",
			link:   "https://ui.example.com:8443/jobs/pi"},
		"a path at every host": {route: public, format: "/{{$appId}}", field: RouteFormatField,
			object: "jobs/pi-ui-route []/spark-1 [" + shared + "] -> pi-ui-svc:4040", link: "/spark-1"},
		"hosts of the custom resource": {route: public,
			spec:   &v1beta2.RouteConfiguration{Hostnames: []string{"c.d", "e.f"}},
			object: "jobs/pi-ui-route [c.d e.f]/ [" + shared + "] -> pi-ui-svc:4040", link: "http://c.d"},
		"hosts of the custom resource, another's path": {route: public,
			spec: &v1beta2.RouteConfiguration{Hostnames: []string{"c.d"}}, format: "https://a.b:8443/{{$appName}}",
			field: RouteFormatField, object: "jobs/pi-ui-route [c.d]/pi [" + shared + "] -> pi-ui-svc:4040",
			link: "https://c.d/pi"},
		"a Gateway of the custom resource": {route: public,
			spec: &v1beta2.RouteConfiguration{ParentRefs: gate}, format: "a.b", field: RouteFormatField,
			object: "jobs/pi-ui-route [a.b]/ [map[name:gate]] -> pi-ui-svc:4040", link: "http://a.b"},
		"a Gateway of the custom resource alone": {route: &UIRoute{},
			spec: &v1beta2.RouteConfiguration{ParentRefs: gate}, format: "a.b", field: RouteFormatField,
			object: "jobs/pi-ui-route [a.b]/ [map[name:gate]] -> pi-ui-svc:4040", link: "http://a.b"},
		"a Gateway with every field": {route: public,
			spec: &v1beta2.RouteConfiguration{ParentRefs: []v1beta2.RouteParentReference{{Group: new("g"),
				Kind: new("K"), Namespace: new("n"), Name: "x", SectionName: new("s"), Port: new(int32(443))},
				{Name: "y"}}}, format: "a.b", field: RouteFormatField,
			object: "jobs/pi-ui-route [a.b]/ [map[group:g kind:K name:x namespace:n port:443 sectionName:s] map[name:y]] -> pi-ui-svc:4040", link: "http://a.b"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Exposure{}
			if test.ingress != nil {
				e.Links = []Link{{Kind: "Ingress", Name: "i", Address: *test.ingress}}
			}

			links := len(e.Links)
			before := test.spec.DeepCopy()
			routeOf(UI{Route: test.route}, &e, test.spec, test.format, test.field)

			if diff := cmp.Diff(before, test.spec); diff != "" {
				t.Errorf("the spec was changed:\n%s", diff)
			}

			if test.object == "" {
				if len(e.Objects) > 0 || len(e.Links) != links {
					t.Errorf("there is a route: %v", e.Links)
				}
			} else if got := briefRoute(t, &e); got != test.object || len(e.Objects) != 1 {
				t.Errorf("the route is\n%s, want\n%s", got, test.object)
			} else if link := e.Links[links]; len(e.Links) != links+1 || link.Kind != "HTTPRoute" ||
				link.Name != "pi-ui-route" || link.Address.String() != test.link {
				t.Errorf("the link is %+v, want %s", link, test.link)
			}

			switch {
			case test.reason == "" && len(e.Problems) > 0:
				t.Errorf("problems: %v", e.Problems)
			case test.reason != "" && (len(e.Problems) != 1 || e.Problems[0].Reason != test.reason ||
				!strings.HasPrefix(e.Problems[0].Message, test.starts)):
				t.Errorf("problems: %v, want %s: %s", e.Problems, test.reason, test.starts)
			}
		})
	}
}

// TestHostsThatRulesCheck checks which hosts of a route the rules of the platform check: those that the custom resource
// sets, and none of the operator's configuration.
func TestHostsThatRulesCheck(t *testing.T) {
	ui := UI{Route: &UIRoute{Parents: []expose.Parent{{Name: "gate"}}}}
	for name, test := range map[string]struct {
		hostnames     []string
		format, field string
		want          []dialect.FieldValue
	}{
		"hosts of the custom resource": {[]string{"a.b", "c.d"}, "", "",
			[]dialect.FieldValue{{Field: "spec.ui.route.hostnames", Value: "a.b"},
				{Field: "spec.ui.route.hostnames", Value: "c.d"}}},
		"hosts and an address": {[]string{"a.b"}, "x.y/p", ownFormat,
			[]dialect.FieldValue{{Field: "spec.ui.route.hostnames", Value: "a.b"}}},
		"hosts and the operator's address": {[]string{"a.b"}, "x.y/p", RouteFormatField,
			[]dialect.FieldValue{{Field: "spec.ui.route.hostnames", Value: "a.b"}}},
		"an address of the custom resource": {nil, "x.y:81/p", ownFormat,
			[]dialect.FieldValue{{Field: ownFormat, Value: "x.y"}}},
		"the operator's address of routes":         {nil, "x.y/p", RouteFormatField, nil},
		"the operator's address of Ingresses":      {nil, "x.y/p", IngressFormatField, nil},
		"the operator's address, without any host": {nil, "/p", RouteFormatField, nil},
	} {
		rules := &hostRules{}
		e := Exposure{Rules: rules}
		routeOf(ui, &e, &v1beta2.RouteConfiguration{Hostnames: test.hostnames}, test.format, test.field)

		if len(rules.asked) != 1 || rules.asked[0].Kind != "HTTPRoute" {
			t.Errorf("%s: the rules were asked %+v", name, rules.asked)
			continue
		}

		if diff := cmp.Diff(test.want, rules.asked[0].Hosts); diff != "" {
			t.Errorf("%s: hosts (-want +got):\n%s", name, diff)
		}

		if refused := len(test.want) > 0; refused != (len(e.Objects) == 0) || len(e.Refused) != len(test.want) {
			t.Errorf("%s: refused: %t, objects %d, faults %v", name, refused, len(e.Objects), e.Refused)
		}
	}
}

// FuzzRoutes checks that an address leads either to one problem with the name of a field, or to one route. The route
// and its link have the same path, and no route matches every request.
func FuzzRoutes(f *testing.F) {
	for _, format := range []string{"", "/", "//", "a.b", "https://a.b:1/x/", "{{$appName}}.example.com/{{$appId}}",
		"/{{$appNamespace}}", "{{$x}}", "*.a.b", "a b", "ftp://a", "a.b/?q", "\x00"} {
		f.Add(format, "")
		f.Add(format, "c.d")
	}

	f.Fuzz(func(t *testing.T, format, host string) {
		spec := &v1beta2.RouteConfiguration{}
		if host != "" {
			spec.Hostnames = []string{host}
		}

		e := Exposure{}
		routeOf(UI{Route: &UIRoute{Parents: []expose.Parent{{Name: "gate"}}}}, &e, spec, format, ownFormat)

		if len(e.Problems) == 1 && len(e.Objects) == 0 && len(e.Links) == 0 {
			if !strings.HasPrefix(e.Problems[0].Message, "spec.ui.") {
				t.Errorf("the problem names no field: %s", e.Problems[0].Message)
			}
			return
		}

		if len(e.Problems) > 0 || len(e.Objects) != 1 || len(e.Links) != 1 {
			t.Fatalf("%d problems, %d objects, %d links", len(e.Problems), len(e.Objects), len(e.Links))
		}

		link := e.Links[0].Address

		text := briefRoute(t, &e)
		if strings.HasPrefix(text, "jobs/pi-ui-route []/ ") {
			t.Errorf("the route matches every request: %s", text)
		}

		if want := "]" + "/" + strings.TrimPrefix(link.Path, "/") + " [map["; !strings.Contains(text, want) {
			t.Errorf("the link has the path %q, and the route is %s", link.Path, text)
		}

		if host != "" && link.Host != host {
			t.Errorf("the link has the host %q, want %q", link.Host, host)
		}
	})
}
