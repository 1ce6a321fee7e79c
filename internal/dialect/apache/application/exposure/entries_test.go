package exposure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// specOf returns the spec of an application with the given fields.
func specOf(t *testing.T, text string) *sparkv1.ApplicationSpec {
	t.Helper()

	var spec sparkv1.ApplicationSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &spec
}

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
		"an Ingress":       {`driverServiceIngressList: [{` + service + `ingressMetadata: {name: a.b}}]`, nil},
		"a Service's name": {`driverServiceIngressList: [{serviceMetadata: {name: a.b}, serviceSpec: {ports: [{port: 80}]}, ingressMetadata: {name: a}}]`, []string{ingress + `serviceMetadata.name: "a.b" is not a valid Service name: `}},
		"an Ingress's name": {`driverServiceIngressList: [{` + service + `ingressMetadata: {name: A}}]`,
			[]string{ingress + `ingressMetadata.name: "A" is not a valid Ingress name: `}},
		"an HTTPRoute's name": {`driverHttpRouteList: [{` + service +
			`httpRouteMetadata: {name: A}, httpRouteSpec: {parentRefs: [{name: g}]}}]`,
			[]string{web + `httpRouteMetadata.name: "A" is not a valid HTTPRoute name: `}},
		"a GRPCRoute's name": {`driverGrpcRouteList: [{` + service +
			`grpcRouteMetadata: {name: A}, grpcRouteSpec: {parentRefs: [{name: g}]}}]`,
			[]string{grpc + `grpcRouteMetadata.name: "A" is not a valid GRPCRoute name: `}},
		"no Service's spec": {`driverServiceIngressList: [{serviceMetadata: {name: ui}, ingressMetadata: {name: a}}]`,
			[]string{ingress + "serviceSpec: is missing; name the driver's port at least, such as {ports: [{port: 4040}]}"}},
		"no target": {`driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {}, ingressMetadata: {name: a}, ingressSpec: {ingressClassName: c}}]`,
			[]string{ingress + "serviceSpec.ports: is empty, and spec.driverServiceIngressList[0].ingressSpec has no rules, so there is no target; name a port"}},
		"a default backend is a target":   {`driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {}, ingressMetadata: {name: a}, ingressSpec: {defaultBackend: {resource: {kind: K, name: r}}}}]`, nil},
		"a default backend is no route's": {`driverHttpRouteList: [{serviceMetadata: {name: ui}, serviceSpec: {}, httpRouteMetadata: {name: a}, httpRouteSpec: {defaultBackend: {}, parentRefs: [{name: g}]}}]`, []string{web + "serviceSpec.ports: is empty, and spec.driverHttpRouteList[0].httpRouteSpec has no rules"}},
		"a spec of another type": {`driverServiceIngressList: [{` + service +
			`ingressMetadata: {name: a}, ingressSpec: {tls: 1}}]`, []string{ingress + "ingressSpec: "}},
		"a route's unknown fields are kept": {`driverHttpRouteList: [{` + service +
			`httpRouteMetadata: {name: a}, httpRouteSpec: {future: 1, parentRefs: [{name: g}]}}]`, nil},
		"no route's spec": {`driverHttpRouteList: [{` + service + `httpRouteMetadata: {name: a}}]`,
			[]string{web + "httpRouteSpec.parentRefs:" + parents}},
		"no Gateways": {`driverGrpcRouteList: [{` + service +
			`grpcRouteMetadata: {name: a}, grpcRouteSpec: {parentRefs: []}}]`,
			[]string{grpc + "grpcRouteSpec.parentRefs:" + parents}},
		"Gateways that are no list": {`driverGrpcRouteList: [{` + service +
			`grpcRouteMetadata: {name: a}, grpcRouteSpec: {parentRefs: {name: g}}}]`,
			[]string{grpc + "grpcRouteSpec.parentRefs:" + parents}},
		"Gateways without a name": {`driverHttpRouteList: [{` + service +
			`httpRouteMetadata: {name: a}, httpRouteSpec: {parentRefs: [{name: ""}, {name: g}, {name: 3}]}}]`,
			[]string{web + "httpRouteSpec.parentRefs[0].name: is missing; name a Gateway",
				web + "httpRouteSpec.parentRefs[2].name: is missing; name a Gateway"}},
	} {
		spec := specOf(t, c.spec)

		faults := EntriesOf(spec)[0].Faults()
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

// TestSwitchedOffExposureIsExplained checks what is reported about an entry if the operator creates no objects that
// expose a driver, and that nothing is reported if it does.
func TestSwitchedOffExposureIsExplained(t *testing.T) {
	const enable = "set exposure.enabled: true in the operator's configuration (chart: controller.exposure.enable=true), or "
	entry := lifecycle.Cause{Reason: "SwitchedOff",
		Message: "spec.driverServiceIngressList[0]: the operator creates no objects that expose a driver outside the cluster, " +
			"so there is no Ingress door; " + enable + "create one yourself that leads to Service ui"}

	of := func(kind string) lifecycle.Cause {
		return lifecycle.Cause{Reason: "SwitchedOff",
			Message: "spec.driverServiceIngressList[0].serviceSpec.type: a Service of type " + kind +
				" would be reachable from outside the cluster, but such exposure is not enabled, so the Service is created with type ClusterIP; " + enable + "remove the type"}
	}
	for kind, want := range map[string][]lifecycle.Cause{`""`: {entry}, "ClusterIP": {entry},
		"NodePort": {entry, of("NodePort")}, "LoadBalancer": {entry, of("LoadBalancer")}} {
		spec := specOf(t, `driverServiceIngressList: [{serviceMetadata: {name: ui}, serviceSpec: {type: `+kind+
			`, ports: [{port: 80}]}, ingressMetadata: {name: door}}]`)

		d := EntriesOf(spec)[0]
		if diff := cmp.Diff(want, Settings{}.switchedOff(d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}

		if got := (Settings{Outside: true}).switchedOff(d); len(got) > 0 {
			t.Errorf("%s, switched on: %v", kind, got)
		}
	}
}
