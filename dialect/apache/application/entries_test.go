package application

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

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
