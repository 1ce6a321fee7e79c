package expose

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// compare checks that an object equals its manifest in YAML.
func compare(t *testing.T, name string, object any, manifest string) {
	t.Helper()

	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}

	var got, want map[string]any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}

	if err := yaml.Unmarshal([]byte(manifest), &want); err != nil {
		t.Fatal(err)
	}

	delete(got, "status")
	delete(got["metadata"].(map[string]any), "creationTimestamp")

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

var owner = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "u", Controller: new(true)}

func TestDriverService(t *testing.T) {
	compare(t, "whole", DriverService(Service{
		Meta: Meta{
			Namespace: "jobs", Name: "pi-ui-svc", Labels: map[string]string{"app": "pi"},
			Extra:       map[string]string{"app": "theirs", "team": "a"},
			Annotations: map[string]string{"x": "z"}, Owner: owner,
		},
		Selector: map[string]string{"app": "pi", "spark-role": "driver"},
		Type:     corev1.ServiceTypeNodePort, Port: 80, TargetPort: 4040, PortName: "web",
	}), `
apiVersion: v1
kind: Service
metadata:
  name: pi-ui-svc
  namespace: jobs
  labels: {app: pi, team: a}
  annotations: {x: z}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u, controller: true}]
spec:
  type: NodePort
  selector: {app: pi, spark-role: driver}
  ports: [{name: web, port: 80, targetPort: 4040, protocol: TCP}]
`)
	compare(t, "least", DriverService(Service{Meta: Meta{Namespace: "jobs", Name: "s"}, Port: 1, TargetPort: 2}), `
apiVersion: v1
kind: Service
metadata: {name: s, namespace: jobs}
spec: {type: ClusterIP, ports: [{port: 1, targetPort: 2, protocol: TCP}]}
`)
}

func TestDriverIngress(t *testing.T) {
	compare(t, "below a path", DriverIngress(Ingress{
		Meta: Meta{
			Namespace: "jobs", Name: "pi-ui-ingress", Labels: map[string]string{"app": "pi"}, Owner: owner,
			Annotations: map[string]string{"x": "z", "nginx.ingress.kubernetes.io/rewrite-target": "/theirs"},
		},
		ClassName: "nginx",
		TLS:       []networkingv1.IngressTLS{{Hosts: []string{"example.com"}, SecretName: "cert"}},
		Address:   Address{"https", "example.com", "8443", "/jobs/pi"}, Service: "pi-ui-svc", Port: 80,
	}), `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: pi-ui-ingress
  namespace: jobs
  labels: {app: pi}
  annotations: {x: z, nginx.ingress.kubernetes.io/rewrite-target: /$2}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u, controller: true}]
spec:
  ingressClassName: nginx
  rules:
  - host: example.com
    http:
      paths:
      - path: /jobs/pi(/|$)(.*)
        pathType: ImplementationSpecific
        backend: {service: {name: pi-ui-svc, port: {number: 80}}}
  tls: [{hosts: [example.com], secretName: cert}]
`)
	compare(t, "a host of its own", DriverIngress(Ingress{
		Meta: Meta{Namespace: "jobs", Name: "i"}, Address: Address{Scheme: "http", Host: "pi.example.com"}, Service: "s",
		Port: 4040,
	}), `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i, namespace: jobs}
spec:
  rules:
  - host: pi.example.com
    http:
      paths:
      - path: /
        pathType: ImplementationSpecific
        backend: {service: {name: s, port: {number: 4040}}}
`)
}

func TestDriverRoute(t *testing.T) {
	compare(t, "below a path", DriverRoute(Route{
		Meta: Meta{
			Namespace: "jobs", Name: "pi-ui-route", Labels: map[string]string{"app": "pi"},
			Annotations: map[string]string{"x": "z"}, Owner: owner,
		},
		Parents: []Parent{{Name: "own"},
			{Group: "g", Kind: "k", Namespace: "ns", Name: "public", SectionName: "https", Port: 443}},
		Hosts: []string{"a.example.com", "b.example.com"}, Path: "/jobs/pi", Service: "pi-ui-svc", Port: 80,
	}), `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: pi-ui-route
  namespace: jobs
  labels: {app: pi}
  annotations: {x: z}
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: u, controller: true}]
spec:
  parentRefs: [{name: own}, {group: g, kind: k, namespace: ns, name: public, sectionName: https, port: 443}]
  hostnames: [a.example.com, b.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /jobs/pi}}]
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]
    backendRefs: [{name: pi-ui-svc, port: 80}]
`)
	compare(t, "at the root", DriverRoute(Route{Meta: Meta{Namespace: "jobs", Name: "r"}, Service: "s", Port: 4040}), `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: jobs}
spec:
  rules:
  - matches: [{path: {type: PathPrefix, value: /}}]
    backendRefs: [{name: s, port: 4040}]
`)
}

// TestObjectsShareNothing checks that the objects share no memory with their inputs.
func TestObjectsShareNothing(t *testing.T) {
	text := func() map[string]string { return map[string]string{"a": "b"} }
	meta := func() Meta {
		return Meta{Labels: text(), Extra: text(), Annotations: text(), Owner: *owner.DeepCopy()}
	}
	s := Service{Meta: meta(), Selector: text()}
	i := Ingress{Meta: meta(), TLS: []networkingv1.IngressTLS{{Hosts: []string{"h"}}},
		Address: Address{Path: "/x"}}
	r := Route{Meta: meta(), Hosts: []string{"h"}, Path: "/x"}
	made := []any{DriverService(s), DriverIngress(i), DriverRoute(r)}
	before := []any{DriverService(s).DeepCopy(), DriverIngress(i).DeepCopy(), DriverRoute(r).DeepCopy()}
	s.Labels["a"], s.Extra["x"], s.Annotations["a"], s.Selector["a"], *s.Owner.Controller = "x", "x", "x", "x", false
	i.Labels["a"], i.Annotations["a"], i.TLS[0].Hosts[0] = "x", "x", "x"
	r.Labels["a"], r.Hosts[0] = "x", "x"

	if diff := cmp.Diff(before, made); diff != "" {
		t.Errorf("changed with their requests (-before +after):\n%s", diff)
	}

	if _, found := i.Annotations[rewriteTarget]; found {
		t.Error("the request's annotations were written to")
	}
}
