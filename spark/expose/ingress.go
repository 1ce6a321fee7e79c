package expose

import (
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ingress is the input of an Ingress that leads to a Service of a driver.
type Ingress struct {
	// Namespace and Name of the object. They are not checked: the API server rejects invalid names.
	Namespace, Name string
	// Labels of the object.
	Labels map[string]string
	// Annotations are the annotations of the user or the operator. The annotation that removes the path before a
	// request reaches the driver overrides them.
	Annotations map[string]string
	// Owner of the object. If its UID is empty, the object has no owner.
	Owner metav1.OwnerReference
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
	path, annotations := "/", maps.Clone(i.Annotations)
	if i.Address.Path != "" {
		path = i.Address.Path + pathRest

		if annotations == nil {
			annotations = map[string]string{}
		}

		annotations[rewriteTarget] = rewriteRest
	}

	ingress := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "Ingress"},
		ObjectMeta: objectMeta(i.Namespace, i.Name, i.Labels, nil, annotations, i.Owner),
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
