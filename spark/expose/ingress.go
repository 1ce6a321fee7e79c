package expose

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ingress is the input of an Ingress that leads to a Service of a driver.
type Ingress struct {
	// Meta is the metadata. The annotation that removes the path before a request reaches the driver overrides those in
	// Meta.
	Meta
	// ClassName selects the controller; empty means the cluster's default class.
	ClassName string
	// TLS lists the hosts that use TLS, and their certificates.
	TLS []networkingv1.IngressTLS
	// Address is the address of the Ingress; its host must not be empty.
	Address Address
	// Service and Port are the name and the port of the Service to which the Ingress leads.
	Service string
	Port    int32
}

// Parts of an Ingress whose address has a path. The annotation rewriteTarget sets the path that ingress-nginx requests
// from the backend. The path of such an Ingress is a regular expression, and $2 is its second group: the part of the
// request's path after the address's path.
const (
	rewriteTarget = "nginx.ingress.kubernetes.io/rewrite-target"
	rewriteRest   = "/$2"
	pathRest      = "(/|$)(.*)"
)

// DriverIngress returns an Ingress that leads to a Service of a driver. The Ingress removes the address's path before a
// request reaches the driver, because Spark's web UI serves from the root, whatever spark.ui.proxyBase is. The path has
// the form that ingress-nginx requires, because users of the sparkoperator.k8s.io API use that controller. Users of
// other controllers need a host for each application, annotations of their own, or a route of the Gateway API.
func DriverIngress(i Ingress) *networkingv1.Ingress {
	path, meta := "/", i.objectMeta()
	if i.Address.Path != "" {
		path = i.Address.Path + pathRest

		metav1.SetMetaDataAnnotation(&meta, rewriteTarget, rewriteRest)
	}

	ingress := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "Ingress"},
		ObjectMeta: meta,
		Spec: networkingv1.IngressSpec{
			Rules: []networkingv1.IngressRule{{
				Host: i.Address.Host,
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{
						Path: path, PathType: new(networkingv1.PathTypeImplementationSpecific),
						Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
							Name: i.Service, Port: networkingv1.ServiceBackendPort{Number: i.Port},
						}},
					}},
				}},
			}},
		},
	}
	for _, tls := range i.TLS {
		ingress.Spec.TLS = append(ingress.Spec.TLS, networkingv1.IngressTLS{Hosts: slices.Clone(tls.Hosts), SecretName: tls.SecretName})
	}

	if i.ClassName != "" {
		ingress.Spec.IngressClassName = &i.ClassName
	}
	return ingress
}
