package config

import (
	"errors"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sparkoperator/spark-operator/spark/expose"
)

// UI says how drivers' web UIs are reached.
type UI struct {
	// Service gives every driver that serves a web UI a Service of its own. Nothing else leads to it without one. Default true.
	Service *bool `json:"service,omitempty"`
	// Ingress lets the operator make Ingresses. It needs rights on them.
	Ingress UIIngress `json:"ingress,omitzero"`
	// Route lets the operator make HTTPRoutes of the Gateway API. It needs rights on them; the definition may be installed later.
	Route UIRoute `json:"route,omitzero"`
}

// UIIngress configures Ingresses.
type UIIngress struct {
	// Enabled defaults to whether URLFormat is set. Without a URLFormat only spec.driverIngressOptions of applications make Ingresses.
	Enabled *bool `json:"enabled,omitempty"`
	// URLFormat is the address of every web UI: host and path, in which {{$appName}}, {{$appNamespace}} and {{$appId}} stand for those of an
	// application. Default: none, and no Ingress for web UIs.
	URLFormat string `json:"urlFormat,omitempty"`
	// ClassName is spec.ingressClassName of all Ingresses. Default: the cluster's default class.
	ClassName string `json:"className,omitempty"`
	// Annotations of Ingresses whose application gives none.
	Annotations map[string]string `json:"annotations,omitempty"`
	// TLS of Ingresses whose application gives none.
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// UIRoute configures HTTPRoutes.
type UIRoute struct {
	// Enabled defaults to whether ParentRefs is set. Without ParentRefs only applications that name Gateways have routes.
	Enabled *bool `json:"enabled,omitempty"`
	// ParentRefs are the Gateways that every web UI's route attaches to, unless the application names others.
	ParentRefs []ParentRef `json:"parentRefs,omitempty"`
	// URLFormat is the address, as that of Ingress, but the host may be left out where a path is there. Default: that of Ingress.
	URLFormat string `json:"urlFormat,omitempty"`
}

// ParentRef names what a route attaches to, as the Gateway API does.
type ParentRef struct {
	// Group of the parent. Default gateway.networking.k8s.io.
	Group string `json:"group,omitempty"`
	// Kind of the parent. Default Gateway.
	Kind string `json:"kind,omitempty"`
	// Namespace of the parent. Default: the application's.
	Namespace string `json:"namespace,omitempty"`
	// Name of the parent.
	Name string `json:"name"`
	// SectionName of the parent's listener. Default: all of them.
	SectionName string `json:"sectionName,omitempty"`
	// Port of the parent's listener. Default: any.
	Port int32 `json:"port,omitempty"`
}

// Exposure says whether the specs of custom resources may choose what is reached from outside the cluster.
type Exposure struct {
	// Enabled lets specs of all kinds choose Services of type NodePort and LoadBalancer, and those of applications of spark.apache.org Ingresses and routes
	// of any host, for which the operator needs rights. Without it these Services are ClusterIP, and there are no such Ingresses and routes. Those of
	// sparkoperator.k8s.io have switches of their own, in UI. Default false.
	Enabled bool `json:"enabled,omitempty"`
}

func (u *UI) applyDefaults() {
	if u.Service == nil {
		u.Service = new(true)
	}
	if u.Ingress.Enabled == nil {
		u.Ingress.Enabled = new(u.Ingress.URLFormat != "")
	}
	if u.Route.Enabled == nil {
		u.Route.Enabled = new(len(u.Route.ParentRefs) > 0)
	}
}

func validateUI(c *Configuration) field.ErrorList {
	return append(validateIngress(&c.UI.Ingress), validateRoute(&c.UI.Route)...)
}

func validateIngress(ingress *UIIngress) (errs field.ErrorList) {
	path := field.NewPath("ui", "ingress")
	if ingress.ClassName != "" {
		for _, problem := range validation.IsDNS1123Subdomain(ingress.ClassName) {
			errs = append(errs, field.Invalid(path.Child("className"), ingress.ClassName, problem))
		}
	}
	return append(errs, apivalidation.ValidateAnnotations(ingress.Annotations, path.Child("annotations"))...)
}

func validateRoute(route *UIRoute) (errs field.ErrorList) {
	path := field.NewPath("ui", "route")
	for i, parent := range route.ParentRefs {
		errs = append(errs, validateParent(path.Child("parentRefs").Index(i), parent)...)
	}
	return errs
}

// Doubts are what of a valid configuration cannot do what it is for, by field, with the way out: addresses of web UIs. They are told at the start, and stop
// nothing: an application whose address it is says so in its condition Exposed, and runs.
func (c *Configuration) Doubts() (doubts field.ErrorList) {
	path := field.NewPath("ui")
	ingress, route := &c.UI.Ingress, &c.UI.Route
	inside := path.Child("ingress", "urlFormat")
	if *ingress.Enabled && ingress.URLFormat != "" {
		_, err := expose.ParseIngressAddress(ingress.URLFormat, example)
		doubts = append(doubts, c.doubtFormat(inside, ingress.URLFormat, err)...)
	}
	if *route.Enabled {
		doubts = append(doubts, c.doubtRoute(path.Child("route", "urlFormat"))...)
	}
	return doubts
}

func (c *Configuration) doubtRoute(path *field.Path) field.ErrorList {
	ingress, route := &c.UI.Ingress, &c.UI.Route
	switch {
	case route.URLFormat == "" && ingress.URLFormat == "" && len(route.ParentRefs) > 0:
		return field.ErrorList{field.Required(path, "every web UI has a route with parentRefs, so say where it is reached, here or in ui.ingress.urlFormat")}
	case route.URLFormat == "":
		return nil
	}
	address, err := exampleAddress(route.URLFormat)
	inside, insideErr := exampleAddress(ingress.URLFormat)
	switch {
	case err == nil && address.Host == "" && address.Path == "":
		err = errors.New("without a host and a path every route would answer to everything")
	case err == nil && insideErr == nil && inside.Host != "" && *ingress.Enabled && inside.Path != address.Path:
		err = errors.New("has another path than ui.ingress.urlFormat; a driver can be told one path only (spark.ui.proxyBase)")
	}
	return c.doubtFormat(path, route.URLFormat, err)
}

// doubtFormat tells what is wrong with a format, and otherwise which applications would have one address.
func (c *Configuration) doubtFormat(path *field.Path, format string, err error) field.ErrorList {
	one, _ := exampleAddress(format)
	same := func(names expose.Names) bool {
		other, _ := expose.ParseAddress(format, names)
		return one == other
	}
	if err == nil && same(expose.Names{Application: "other", Namespace: "namespace", ID: "spark-other"}) {
		err = errors.New("every application has the same address, so that one of them is reached; put {{$appName}} or {{$appId}} into it")
	}
	several := len(c.Namespaces.Names) != 1 || c.Namespaces.Selector != ""
	if err == nil && several && same(expose.Names{Application: "application", Namespace: "other", ID: "spark-other"}) {
		err = errors.New("applications of one name in several namespaces have the same address; put {{$appNamespace}} or {{$appId}} into it")
	}
	if err != nil {
		return field.ErrorList{field.Invalid(path, format, err.Error())}
	}
	return nil
}

// example are names that are as good as any.
var example = expose.Names{Application: "application", Namespace: "namespace", ID: "spark-id"}

// exampleAddress fills a format in; the zero address where there is none.
func exampleAddress(format string) (expose.Address, error) {
	if format == "" {
		return expose.Address{}, nil
	}
	return expose.ParseAddress(format, example)
}

func validateParent(path *field.Path, parent ParentRef) (errs field.ErrorList) {
	if parent.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the name of a Gateway"))
	}
	if parent.Namespace != "" {
		for _, problem := range validation.IsDNS1123Label(parent.Namespace) {
			errs = append(errs, field.Invalid(path.Child("namespace"), parent.Namespace, problem))
		}
	}
	if parent.Port < 0 || parent.Port > 65535 {
		errs = append(errs, field.Invalid(path.Child("port"), parent.Port, fmt.Sprintf("must be from 1 to %d, or left out", 65535)))
	}
	return errs
}
