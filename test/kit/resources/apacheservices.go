package resources

import (
	"k8s.io/apimachinery/pkg/runtime"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
)

// WithExposure gives an application a Service, and an Ingress without rules, with the given names.
func WithExposure(service, ingress string) func(*ApacheApp) {
	return func(app *ApacheApp) {
		app.Spec.DriverServiceIngressList = []sparkv1.DriverServiceIngress{{
			ServiceMetadata: sparkv1.ObjectMetadata{Name: service, Namespace: "elsewhere", Labels: map[string]string{"team": "a"}},
			ServiceSpec:     &runtime.RawExtension{Raw: []byte(`{"ports":[{"port":80,"targetPort":4040}]}`)},
			IngressMetadata: sparkv1.ObjectMetadata{Name: ingress},
			IngressSpec:     &runtime.RawExtension{Raw: []byte(`{"ingressClassName":"nginx","tls":[{"hosts":["a.example.org"],"secretName":"s"}]}`)},
		}}
	}
}
