package application

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// TestFaultsOfEntries checks what the messages about an entry say.
func TestFaultsOfEntries(t *testing.T) {
	const (
		ingress = "spec.driverServiceIngressList[0]."
		web     = "spec.driverHttpRouteList[0]."
		grpc    = "spec.driverGrpcRouteList[0]."
		service = "serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80}]}, "
		parents = " is empty: the route would be attached to no Gateway; name a Gateway"
	)
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"an Ingress":          {`driverServiceIngressList: [{` + service + `ingressMetadata: {name: a.b}}]`, nil},
		"a Service's name":    {`driverServiceIngressList: [{serviceMetadata: {name: a.b}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}]`, []string{ingress + `serviceMetadata.name: "a.b" is not a valid Service name: `}},
		"an Ingress's name":   {`driverServiceIngressList: [{` + service + `ingressMetadata: {name: A}}]`, []string{ingress + `ingressMetadata.name: "A" is not a valid Ingress name: `}},
		"an HTTPRoute's name": {`driverHttpRouteList: [{` + service + `httpRouteMetadata: {name: A}, httpRouteSpec: {parentRefs: [{name: g}]}}]`, []string{web + `httpRouteMetadata.name: "A" is not a valid HTTPRoute name: `}},
		"a GRPCRoute's name":  {`driverGrpcRouteList: [{` + service + `grpcRouteMetadata: {name: A}, grpcRouteSpec: {parentRefs: [{name: g}]}}]`, []string{grpc + `grpcRouteMetadata.name: "A" is not a valid GRPCRoute name: `}},
		"no Service's spec":   {`driverServiceIngressList: [{serviceMetadata: {name: ui}, ingressMetadata: {name: a}}]`, []string{ingress + "serviceSpec: is missing; name the driver's port at least, such as {ports: [{port: 4040}]}"}},
		"no target": {`driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {}, ingressMetadata: {name: a}, ingressSpec: {ingressClassName: c}}]`,
			[]string{ingress + "serviceSpec.ports: is empty, and spec.driverServiceIngressList[0].ingressSpec has no rules, so there is no target; name a port"}},
		"a default backend is a target":     {`driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {}, ingressMetadata: {name: a}, ingressSpec: {defaultBackend: {resource: {kind: K, name: r}}}}]`, nil},
		"a default backend is no route's":   {`driverHttpRouteList: [{serviceMetadata: {name: ui}, serviceSpec: {}, httpRouteMetadata: {name: a}, httpRouteSpec: {defaultBackend: {}, parentRefs: [{name: g}]}}]`, []string{web + "serviceSpec.ports: is empty, and spec.driverHttpRouteList[0].httpRouteSpec has no rules"}},
		"a spec of another type":            {`driverServiceIngressList: [{` + service + `ingressMetadata: {name: a}, ingressSpec: {tls: 1}}]`, []string{ingress + "ingressSpec: "}},
		"a route's unknown fields are kept": {`driverHttpRouteList: [{` + service + `httpRouteMetadata: {name: a}, httpRouteSpec: {future: 1, parentRefs: [{name: g}]}}]`, nil},
		"no route's spec":                   {`driverHttpRouteList: [{` + service + `httpRouteMetadata: {name: a}}]`, []string{web + "httpRouteSpec.parentRefs:" + parents}},
		"no Gateways":                       {`driverGrpcRouteList: [{` + service + `grpcRouteMetadata: {name: a}, grpcRouteSpec: {parentRefs: []}}]`, []string{grpc + "grpcRouteSpec.parentRefs:" + parents}},
		"Gateways that are no list":         {`driverGrpcRouteList: [{` + service + `grpcRouteMetadata: {name: a}, grpcRouteSpec: {parentRefs: {name: g}}}]`, []string{grpc + "grpcRouteSpec.parentRefs:" + parents}},
		"Gateways without a name": {`driverHttpRouteList: [{` + service + `httpRouteMetadata: {name: a}, httpRouteSpec: {parentRefs: [{name: ""}, {name: g}, {name: 3}]}}]`,
			[]string{web + "httpRouteSpec.parentRefs[0].name: is missing; name a Gateway", web + "httpRouteSpec.parentRefs[2].name: is missing; name a Gateway"}},
	} {
		app := written(t, "spec: {"+c.spec+"}")
		faults := exposedEntries(&app.Spec)[0].faults()
		if len(faults) != len(c.want) {
			t.Errorf("%s: faults %v, want %q", name, faults, c.want)
			continue
		}
		for i, want := range c.want {
			if got := faults[i].Error(); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// TestEntriesThatShareNames checks entries with equal names. The objects of the first entry with a name exist, whatever
// the later entries say, and several entries may lead to one Service.
func TestEntriesThatShareNames(t *testing.T) {
	const (
		first     = `{serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: a}}`
		different = "InvalidSpec spec.driverServiceIngressList[1].serviceMetadata.name: \"ui\" is also the name of spec.driverServiceIngressList[0], but the two entries " +
			"describe the Service differently; choose another name, or use the same settings"
	)
	for name, c := range map[string]struct {
		spec     string
		objects  string
		problems []string
	}{
		"one Service": {`driverServiceIngressList: [` + first + `, {serviceMetadata: {name: ui}, serviceSpec: {ports: [{targetPort: 4040, port: 80}]}, ingressMetadata: {name: b}}]`,
			"Service ui, Ingress a, Ingress b", nil},
		"one Service, once with maps that are empty": {`driverServiceIngressList: [` + first + `,
			{serviceMetadata: {name: ui, labels: {}, annotations: {}}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: b}}]`,
			"Service ui, Ingress a, Ingress b", nil},
		"another port": {`driverServiceIngressList: [` + first + `, {serviceMetadata: {name: ui}, serviceSpec: {ports: [{port: 81, targetPort: 4040}]}, ingressMetadata: {name: b}}]`,
			"Service ui, Ingress a", []string{different}},
		"another label": {`driverServiceIngressList: [` + first + `,
			{serviceMetadata: {name: ui, labels: {a: b}}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: b}}]`, "Service ui, Ingress a", []string{different}},
		"another annotation": {`driverServiceIngressList: [` + first + `,
			{serviceMetadata: {name: ui, annotations: {a: b}}, serviceSpec: {ports: [{port: 80, targetPort: 4040}]}, ingressMetadata: {name: b}}]`, "Service ui, Ingress a", []string{different}},
		"one Ingress": {`driverServiceIngressList: [` + first + `, {serviceMetadata: {name: web}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}]`,
			"Service ui, Ingress a", []string{`InvalidSpec spec.driverServiceIngressList[1].ingressMetadata.name: "a" is also the name of spec.driverServiceIngressList[0]; choose another name`}},
		"an Ingress and routes of one name": {`driverServiceIngressList: [` + first + `],
			driverHttpRouteList: [{serviceMetadata: {name: web}, serviceSpec: {ports: [{port: 80}]}, httpRouteMetadata: {name: a}, httpRouteSpec: {parentRefs: [{name: g}]}}],
			driverGrpcRouteList: [{serviceMetadata: {name: rpc}, serviceSpec: {ports: [{port: 80}]}, grpcRouteMetadata: {name: a}, grpcRouteSpec: {parentRefs: [{name: g}]}}]`,
			"Service ui, Ingress a, Service web, HTTPRoute a, Service rpc, GRPCRoute a", nil},
		"the Service of the executors": {`driverServiceIngressList: [{serviceMetadata: {name: pi-0-driver-svc}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}, ` + first + `]`,
			"", []string{
				`InvalidSpec spec.driverServiceIngressList[0].serviceMetadata.name: "pi-0-driver-svc" is the Service by which executors find the driver; choose another name`,
				`InvalidSpec spec.driverServiceIngressList[1].ingressMetadata.name: "a" is also the name of spec.driverServiceIngressList[0]; choose another name`,
			}},
		"entries without names": {`driverServiceIngressList: [{serviceSpec: {ports: [{port: 80}]}}, {serviceSpec: {ports: [{port: 81}]}}, ` + first + `]`, "Service ui, Ingress a", []string{
			`InvalidSpec spec.driverServiceIngressList[0].serviceMetadata.name: "" is not`, `InvalidSpec spec.driverServiceIngressList[0].ingressMetadata.name: "" is not`,
			`InvalidSpec spec.driverServiceIngressList[1].serviceMetadata.name: "" is not`, `InvalidSpec spec.driverServiceIngressList[1].ingressMetadata.name: "" is not`,
		}},
	} {
		app := inPhase(lifecycle.Running, written(t, "spec: {"+c.spec+"}"))
		before := app.DeepCopy()
		objects, problems := withExposure.auxiliaryObjects(app, 1)
		if got := strings.Join(kindsOf(objects), ", "); got != c.objects {
			t.Errorf("%s: objects are %s, want %s", name, got, c.objects)
		}
		if len(problems) != len(c.problems) {
			t.Errorf("%s: problems are %v, want %q", name, problems, c.problems)
			continue
		}
		for i, want := range c.problems {
			if got := problems[i].Reason + " " + problems[i].Message; !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if diff := cmp.Diff(before, app); diff != "" {
			t.Errorf("%s: the application is changed:\n%s", name, diff)
		}
	}
}

// kindsOf returns the kinds and names of objects.
func kindsOf(objects []submit.Object) (out []string) {
	for _, object := range objects {
		out = append(out, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	return out
}
