package exposure

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// TestExposingIsWhatTheEntryRequests checks which hosts, class and annotations of an Ingress or route the rules judge.
// An empty host stands for all hosts. Whatever the spec contains, no host may be left out.
func TestExposingIsWhatTheEntryRequests(t *testing.T) {
	const ingress, route, grpc = "spec.driverServiceIngressList[0]", "spec.driverHttpRouteList[0]",
		"spec.driverGrpcRouteList[0]"
	hosts := func(pairs ...string) (all []dialect.FieldValue) {
		for pair := range slices.Chunk(pairs, 2) {
			all = append(all, dialect.FieldValue{Field: pair[0], Value: pair[1]})
		}
		return all
	}
	anyHost := dialect.Exposing{Kind: "Ingress", Hosts: hosts(ingress+".ingressSpec", ""),
		AnnotationsField: ingress + ".ingressMetadata.annotations"}
	ingressWith := func(all ...string) dialect.Exposing {
		asked := anyHost
		asked.Hosts = hosts(all...)
		return asked
	}
	annotated := anyHost
	annotated.Annotations = map[string]string{"a": "b"}
	routed := dialect.Exposing{Kind: "HTTPRoute", AnnotationsField: route + ".httpRouteMetadata.annotations"}
	hosted := routed
	hosted.Hosts, hosted.Annotations = hosts(route+".httpRouteSpec.hostnames", "h", route+".httpRouteSpec.hostnames",
		"*.i"), map[string]string{"c": "d"}
	strange := routed
	strange.Hosts = hosts(route+".httpRouteSpec.hostnames", "", route+".httpRouteSpec.hostnames", "h")
	streamed := dialect.Exposing{Kind: "GRPCRoute", Hosts: hosts(grpc+".grpcRouteSpec.hostnames", "g"),
		AnnotationsField: grpc + ".grpcRouteMetadata.annotations"}
	classed := ingressWith(ingress+".ingressSpec.rules[0].host", "h")
	classed.Class = dialect.FieldValue{Field: ingress + ".ingressSpec.ingressClassName", Value: "nginx"}

	const inside = ingress + ".ingressSpec"
	for name, c := range map[string]struct {
		spec string
		want dialect.Exposing
	}{
		"no spec": {`driverServiceIngressList: [{ingressMetadata: {name: i, annotations: {a: b}}}]`,
			annotated},
		"no rules":             {`driverServiceIngressList: [{ingressSpec: {rules: []}}]`, anyHost},
		"a spec that is wrong": {`driverServiceIngressList: [{ingressSpec: {rules: 3}}]`, anyHost},
		"hosts": {`driverServiceIngressList: [{ingressSpec: {rules: [{host: h}, {host: "*.i"}]}}]`,
			ingressWith(inside+".rules[0].host", "h", inside+".rules[1].host", "*.i")},
		"a rule without a host": {`driverServiceIngressList: [{ingressSpec: {rules: [{host: h}, {}]}}]`,
			ingressWith(inside+".rules[0].host", "h", inside+".rules[1].host", "")},
		"a default backend beside a rule": {`driverServiceIngressList: [{ingressSpec: {defaultBackend: {service: {name: s}}, rules: [{host: h}]}}]`,
			ingressWith(inside+".rules[0].host", "h", inside, "")},
		"hosts of TLS": {`driverServiceIngressList: [{ingressSpec: {rules: [{host: h}], tls: [{}, {hosts: [i, k]}]}}]`,
			ingressWith(inside+".rules[0].host", "h", inside+".tls[1].hosts", "i", inside+".tls[1].hosts", "k")},
		"a class": {`driverServiceIngressList: [{ingressSpec: {ingressClassName: nginx, rules: [{host: h}]}}]`,
			classed},
		"a route": {`driverHttpRouteList: [{httpRouteMetadata: {annotations: {c: d}}, httpRouteSpec: {hostnames: [h, "*.i"]}}]`, hosted},
		"a route with the Gateway's hosts": {`driverHttpRouteList: [{httpRouteSpec: {parentRefs: [{name: g}]}}]`,
			routed},
		"a route without a spec":  {`driverHttpRouteList: [{}]`, routed},
		"hosts that are no texts": {`driverHttpRouteList: [{httpRouteSpec: {hostnames: [3, h]}}]`, strange},
		"a route for gRPC":        {`driverGrpcRouteList: [{grpcRouteSpec: {hostnames: [g]}}]`, streamed},
	} {
		if diff := cmp.Diff(&c.want, EntriesOf(specOf(t, c.spec))[0].exposing()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
