package expose

import (
	"maps"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ingress is what an Ingress that leads to a Service of a driver is made of.
type Ingress struct {
	// Namespace and Name of the object. Nothing is checked: the API server refuses what is no name.
	Namespace, Name string
	// Labels of the object.
	Labels map[string]string
	// Annotations are the user's or the operator's; the one that takes the path away before the driver sees it is set over them.
	Annotations map[string]string
	// Owner of the object; none without a UID.
	Owner metav1.OwnerReference
	// ClassName chooses the controller; empty leaves that to the cluster's default class.
	ClassName string
	// TLS lists the hosts that speak TLS, and their certificates.
	TLS []networkingv1.IngressTLS
	// Address that the Ingress answers to; its host must not be empty.
	Address Address
	// Service and its Port that are reached.
	Service string
	Port    int32
}

// rewriteTarget is what ingress-nginx asks the backend for. $2 is the second group of the path, which is a regular expression then.
const (
	rewriteTarget = "nginx.ingress.kubernetes.io/rewrite-target"
	rewriteRest   = "/$2"
	pathRest      = "(/|$)(.*)"
)

// DriverIngress returns the Ingress. Below a path the driver is asked for what follows the path: Spark's web UI serves from the root, whatever
// spark.ui.proxyBase says. That is written as ingress-nginx reads it, which is what readers of the sparkoperator.k8s.io API have; other controllers
// need a host for each application, or annotations of their own, or a route of the Gateway API.
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
