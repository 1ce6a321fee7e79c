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

// UI configures how drivers' web UIs are made available.
type UI struct {
	// Service creates a Service for every driver that serves a web UI. If false, no Service gives access to the UI.
	// Default true.
	Service *bool `json:"service,omitempty"`
	// Ingress lets the operator create Ingresses. The operator needs rights on Ingresses.
	Ingress UIIngress `json:"ingress,omitzero"`
	// Route lets the operator create HTTPRoutes of the Gateway API. The operator needs rights on HTTPRoutes; their
	// definition may be installed later.
	Route UIRoute `json:"route,omitzero"`
}

// UIIngress configures Ingresses.
type UIIngress struct {
	// Enabled lets the operator create Ingresses. Without a URLFormat, the operator creates only the Ingresses that
	// spec.driverIngressOptions of applications requests. Default: true if URLFormat is set.
	Enabled *bool `json:"enabled,omitempty"`
	// URLFormat is the host and path of every web UI. {{$appName}}, {{$appNamespace}} and {{$appId}} are replaced by an
	// application's name, namespace and id. Default: none, and no Ingress for web UIs.
	URLFormat string `json:"urlFormat,omitempty"`
	// ClassName is spec.ingressClassName of all Ingresses. Default: the cluster's default class.
	ClassName string `json:"className,omitempty"`
	// Annotations are the annotations of Ingresses whose application sets none.
	Annotations map[string]string `json:"annotations,omitempty"`
	// TLS is spec.tls of Ingresses whose application sets none.
	TLS []networkingv1.IngressTLS `json:"tls,omitempty"`
}

// UIRoute configures HTTPRoutes.
type UIRoute struct {
	// Enabled lets the operator create HTTPRoutes. Without ParentRefs, only applications that name Gateways get routes.
	// Default: true if ParentRefs is set.
	Enabled *bool `json:"enabled,omitempty"`
	// ParentRefs are the Gateways that the route of every web UI attaches to, unless the application names others.
	ParentRefs []ParentRef `json:"parentRefs,omitempty"`
	// URLFormat is the host and path, as for Ingress, but the host may be omitted if there is a path. Default: the
	// URLFormat of Ingress.
	URLFormat string `json:"urlFormat,omitempty"`
}

// ParentRef names the object that a route attaches to, as a parentRef of the Gateway API does.
type ParentRef struct {
	// Group is the API group of the parent. Default gateway.networking.k8s.io.
	Group string `json:"group,omitempty"`
	// Kind is the kind of the parent. Default Gateway.
	Kind string `json:"kind,omitempty"`
	// Namespace is the namespace of the parent. Default: the application's namespace.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the parent.
	Name string `json:"name"`
	// SectionName is the name of the parent's listener. Default: all listeners.
	SectionName string `json:"sectionName,omitempty"`
	// Port is the port of the parent's listener. Default: any port.
	Port int32 `json:"port,omitempty"`
}

// Exposure configures whether the specs of custom resources may request access from outside the cluster.
type Exposure struct {
	// Enabled lets the specs of all kinds choose Services of type NodePort and LoadBalancer. It also lets applications
	// of spark.apache.org choose Ingresses and routes for any host; the operator then needs rights on Ingresses and
	// routes. If false, these Services are of type ClusterIP, and the operator creates none of these Ingresses and
	// routes. Ingresses and routes of sparkoperator.k8s.io have their own switches in UI. Default false.
	Enabled bool `json:"enabled,omitempty"`
}

func (u *UI) applyDefaults() {
	setDefault(&u.Service, new(true))
	setDefault(&u.Ingress.Enabled, new(u.Ingress.URLFormat != ""))
	setDefault(&u.Route.Enabled, new(len(u.Route.ParentRefs) > 0))
}

func validateIngress(c *Configuration) (errs field.ErrorList) {
	path, ingress := field.NewPath("ui", "ingress"), &c.UI.Ingress
	errs = append(errs, optional(path.Child("className"), ingress.ClassName, validation.IsDNS1123Subdomain)...)
	return append(errs, apivalidation.ValidateAnnotations(ingress.Annotations, path.Child("annotations"))...)
}

func validateRoute(c *Configuration) (errs field.ErrorList) {
	path := field.NewPath("ui", "route")
	for i, parent := range c.UI.Route.ParentRefs {
		errs = append(errs, validateParent(path.Child("parentRefs").Index(i), parent)...)
	}
	return errs
}

// Warnings returns a warning for each configured address of web UIs that cannot work. A warning names the field and
// says how to correct it. The caller has to validate the configuration first. The operator logs the warnings and starts
// nevertheless. An application with such an address runs, and its condition Exposed gives the reason.
func (c *Configuration) Warnings() (warnings field.ErrorList) {
	path := field.NewPath("ui")
	ingress, route := &c.UI.Ingress, &c.UI.Route

	inside := path.Child("ingress", "urlFormat")
	if *ingress.Enabled && ingress.URLFormat != "" {
		_, err := expose.ParseIngressAddress(ingress.URLFormat, example)
		warnings = append(warnings, c.checkFormat(inside, ingress.URLFormat, err)...)
	}

	if *route.Enabled {
		warnings = append(warnings, c.checkRoute(path.Child("route", "urlFormat"))...)
	}
	return warnings
}

func (c *Configuration) checkRoute(path *field.Path) field.ErrorList {
	ingress, route := &c.UI.Ingress, &c.UI.Route
	switch {
	case route.URLFormat == "" && ingress.URLFormat == "" && len(route.ParentRefs) > 0:
		return field.ErrorList{field.Required(path, "with ui.route.parentRefs every web UI has a route, which needs a host or a path; set a format with one of them here or in ui.ingress.urlFormat")}
	case route.URLFormat == "":
		return nil
	}

	address, err := exampleAddress(route.URLFormat)

	inside, insideErr := exampleAddress(ingress.URLFormat)
	switch {
	case err == nil && address.Host == "" && address.Path == "":
		err = errors.New("has neither a host nor a path, so every route would match all requests; set one of them")
	case err == nil && insideErr == nil && inside.Host != "" && *ingress.Enabled && inside.Path != address.Path:
		err = errors.New("has a different path from ui.ingress.urlFormat, but a driver supports only one path (spark.ui.proxyBase); use the same path in both")
	}
	return c.checkFormat(path, route.URLFormat, err)
}

// checkFormat returns a warning about an address format, or nil if the format is right. If the caller has found a fault
// itself and passes it as the parameter err, the warning contains this fault. Otherwise, checkFormat warns if several
// applications would share one address.
func (c *Configuration) checkFormat(path *field.Path, format string, err error) field.ErrorList {
	address, _ := exampleAddress(format)

	same := func(names expose.Names) bool {
		other, _ := expose.ParseAddress(format, names)
		return address == other
	}
	if err == nil && same(expose.Names{Application: "other", Namespace: "namespace", ID: "spark-other"}) {
		err = errors.New("all applications share one address, so only one of them is reachable; put {{$appName}} or {{$appId}} into the format")
	}

	several := len(c.Namespaces.Names) != 1 || c.Namespaces.Selector != ""
	if err == nil && several && same(expose.Names{Application: "application", Namespace: "other", ID: "spark-other"}) {
		err = errors.New("applications with the same name in several namespaces share one address; put {{$appNamespace}} or {{$appId}} into the format")
	}

	if err != nil {
		return field.ErrorList{field.Invalid(path, format, err.Error())}
	}
	return nil
}

// example holds arbitrary names that are filled into an address format to check it.
var example = expose.Names{Application: "application", Namespace: "namespace", ID: "spark-id"}

// exampleAddress returns the address that a format gives for the example names. It returns the zero address if the
// format is empty.
func exampleAddress(format string) (expose.Address, error) {
	if format == "" {
		return expose.Address{}, nil
	}
	return expose.ParseAddress(format, example)
}

func validateParent(path *field.Path, parent ParentRef) (errs field.ErrorList) {
	if parent.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "set the name of a Gateway"))
	}

	errs = append(errs, optional(path.Child("namespace"), parent.Namespace, validation.IsDNS1123Label)...)

	if parent.Port < 0 || parent.Port > 65535 {
		errs = append(errs, field.Invalid(path.Child("port"), parent.Port, fmt.Sprintf("must be from 1 to %d, or left out", 65535)))
	}
	return errs
}
