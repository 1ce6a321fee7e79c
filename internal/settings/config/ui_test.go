package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestUI(t *testing.T) {
	got, err := Parse([]byte(header + `
ui:
  service: false
  ingress:
    urlFormat: 'https://spark.example.com/{{ $appNamespace }}/{{$appName}}'
    className: nginx
    annotations: {a: b}
    tls: [{hosts: [spark.example.com], secretName: cert}]
  route:
    parentRefs: [{name: public, namespace: gateways, sectionName: https, port: 443}]
    urlFormat: '/{{$appNamespace}}/{{$appName}}'
`))
	if err != nil {
		t.Fatal(err)
	}

	want := UI{
		Service: new(false),
		Ingress: UIIngress{
			Enabled: new(true), URLFormat: "https://spark.example.com/{{ $appNamespace }}/{{$appName}}",
			ClassName:   "nginx",
			Annotations: map[string]string{"a": "b"},
			TLS:         []networkingv1.IngressTLS{{Hosts: []string{"spark.example.com"}, SecretName: "cert"}},
		},
		Route: UIRoute{
			Enabled: new(true), URLFormat: "/{{$appNamespace}}/{{$appName}}",
			ParentRefs: []ParentRef{{Name: "public", Namespace: "gateways", SectionName: "https", Port: 443}},
		},
	}
	if diff := cmp.Diff(want, got.UI); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUIIsSwitchedOn checks that Ingresses and routes are on if their formats or Gateways are set, unless the
// configuration file switches them off.
func TestUIIsSwitchedOn(t *testing.T) {
	for _, test := range []struct {
		file                    string
		service, ingress, route bool
	}{
		{"", true, false, false},
		{"ui: {ingress: {urlFormat: a.b}}", true, true, false},
		{"ui: {ingress: {enabled: false, urlFormat: a.b}}", true, false, false},
		{"ui: {ingress: {enabled: true}}", true, true, false},
		{"ui: {ingress: {urlFormat: a.b}, route: {parentRefs: [{name: g}]}}", true, true, true},
		{"ui: {route: {enabled: true}}", true, false, true},
		{"ui: {service: false, route: {enabled: false, urlFormat: a.b, parentRefs: [{name: g}]}}", false, false, false},
	} {
		c, err := Parse([]byte(header + test.file))
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}

		if u := c.UI; *u.Service != test.service || *u.Ingress.Enabled != test.ingress ||
			*u.Route.Enabled != test.route {
			t.Errorf("%s: Service %v, Ingress %v, route %v", test.file, *u.Service, *u.Ingress.Enabled,
				*u.Route.Enabled)
		}
	}
}

// TestInvalidUIAddressIsAWarning checks that an invalid address, or an address that several applications share, is a
// warning and not an error.
func TestInvalidUIAddressIsAWarning(t *testing.T) {
	const base, selected = "namespaces: {names: [jobs]}\n", "namespaces: {names: [jobs], selector: spark=yes}\n"
	for _, test := range []struct{ name, file, before, field, says string }{
		{"no host", "ingress: {urlFormat: '/{{$appNamespace}}/{{$appName}}'}", "", "ui.ingress.urlFormat",
			"needs a host"},
		{"empty host", "ingress: {urlFormat: 'http:///a'}", "", "ui.ingress.urlFormat", "has no host"},
		{"placeholder", "ingress: {urlFormat: '{{$app}}.example.com'}", "", "ui.ingress.urlFormat",
			"{{$appName}}, {{$appNamespace}} and {{$appId}}"},
		{"placeholder without a dollar sign", "ingress: {urlFormat: '{{appName}}.example.com'}", "",
			"ui.ingress.urlFormat", "is not a placeholder"},
		{"no URL", "ingress: {urlFormat: 'a b.example.com'}", "", "ui.ingress.urlFormat", "is not a URL"},
		{"scheme", "ingress: {urlFormat: 'ftp://example.com'}", "", "ui.ingress.urlFormat", "write http or https"},
		{"query", "ingress: {urlFormat: 'example.com/?app={{$appName}}'}", "", "ui.ingress.urlFormat",
			"leave out user, query and fragment"},
		{"host", "ingress: {urlFormat: 'Not_A_Host/a'}", "", "ui.ingress.urlFormat", "is not a host name"},
		{"path", "ingress: {urlFormat: 'example.com/(.*)'}", "", "ui.ingress.urlFormat", "other characters"},
		{"switched off", "ingress: {enabled: false, urlFormat: '/a'}", "", "", ""},
		{"no address", "route: {parentRefs: [{name: g}]}", "", "ui.route.urlFormat", "ui.ingress.urlFormat"},
		{"Gateways only in applications", "route: {enabled: true}", "", "", ""},
		{"route that matches every request", "route: {urlFormat: '/', parentRefs: [{name: g}]}", "",
			"ui.route.urlFormat", "match all requests"},
		{"route's URL", "route: {urlFormat: 'a/{{$x}}', parentRefs: [{name: g}]}", "", "ui.route.urlFormat",
			"is not a placeholder"},
		{"route is switched off", "route: {urlFormat: 'a/{{$x}}'}", "", "", ""},
		{"two paths", "ingress: {urlFormat: 'a.b/{{$appId}}'}, route: {urlFormat: 'a.b/x/{{$appId}}', parentRefs: [{name: g}]}", "", "ui.route.urlFormat", "spark.ui.proxyBase"},
		{"one address for all applications", "ingress: {urlFormat: spark.example.com}", "", "ui.ingress.urlFormat",
			"all applications share one address"},
		{"one address for all applications, one namespace", "ingress: {urlFormat: spark.example.com}", base,
			"ui.ingress.urlFormat", "put {{$appName}} or {{$appId}} into the format"},
		{"one address for each namespace", "ingress: {urlFormat: 'spark.example.com/{{$appNamespace}}'}", "",
			"ui.ingress.urlFormat", "all applications share one address"},
		{"one address for each name", "ingress: {urlFormat: '{{$appName}}.example.com'}", "", "ui.ingress.urlFormat",
			"put {{$appNamespace}} or {{$appId}} into the format"},
		{"one address for each name, selected namespaces", "ingress: {urlFormat: '{{$appName}}.example.com'}", selected,
			"ui.ingress.urlFormat", "in several namespaces"},
		{"one address for each name, one namespace", "ingress: {urlFormat: '{{$appName}}.example.com'}", base, "", ""},
		{"one address for each id", "ingress: {urlFormat: '{{$appId}}.example.com'}", "", "", ""},
		{"one path for all routes", "route: {urlFormat: '/spark', parentRefs: [{name: g}]}", "", "ui.route.urlFormat",
			"all applications share one address"},
		{"good", "ingress: {urlFormat: 'a.b/{{$appNamespace}}/{{$appName}}'}, route: {urlFormat: '/{{$appNamespace}}/{{$appName}}', parentRefs: [{name: g}]}", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse([]byte(header + test.before + "ui: {" + test.file + "}\n"))
			if err != nil {
				t.Fatalf("it stops the start: %v", err)
			}

			doubts := c.Warnings()
			if test.field == "" {
				if len(doubts) > 0 {
					t.Errorf("%v", doubts)
				}
				return
			}

			if len(doubts) != 1 || doubts[0].Field != test.field || !strings.Contains(doubts[0].Error(), test.says) {
				t.Errorf("%v, want one of %s that says %q", doubts, test.field, test.says)
			}
		})
	}

	if c := Default(); len(c.Warnings()) > 0 {
		t.Errorf("of the defaults: %v", c.Warnings())
	}
}

func TestInvalidUIFields(t *testing.T) {
	for _, test := range []struct{ name, file, field, says string }{
		{"class", "ingress: {className: No_Class}", "ui.ingress.className", ""},
		{"annotations", "ingress: {annotations: {'no good': x}}", "ui.ingress.annotations", ""},
		{"gateway without a name", "route: {urlFormat: a.b, parentRefs: [{namespace: g}]}",
			"ui.route.parentRefs[0].name", "a Gateway"},
		{"gateway's namespace", "route: {urlFormat: a.b, parentRefs: [{name: g, namespace: A_B}]}",
			"ui.route.parentRefs[0].namespace", ""},
		{"gateway's port", "route: {urlFormat: a.b, parentRefs: [{name: g, port: 70000}]}",
			"ui.route.parentRefs[0].port", "65535"},
		{"unknown field", "ingress: {url: a.b}", `unknown field "ui.ingress.url"`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(header + "ui: {" + test.file + "}\n"))
			if err == nil || !strings.Contains(err.Error(), test.field) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want it to name %s and say %q", err, test.field, test.says)
			}
		})
	}
}
