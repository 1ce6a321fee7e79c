package sparkoperator

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// IngressFormatField and RouteFormatField are the names that error messages use for two settings of the operator's
// configuration.
const (
	IngressFormatField = "ui.ingress.urlFormat of the operator's configuration"
	RouteFormatField   = "ui.route.urlFormat of the operator's configuration"
)

// UI configures how the web UIs of drivers are exposed. With the zero value, no web UI is exposed.
type UI struct {
	// Service gives every driver that serves a web UI a Service for it. Without that Service, no Ingress or route can
	// lead to the web UI.
	Service bool
	// Outside allows Services that are reachable from outside the cluster (NodePort, LoadBalancer). If false, all
	// Services have the type ClusterIP.
	Outside bool
	// Ingress configures how Ingresses are created; if it is nil, the operator creates none.
	Ingress *UIIngress
	// Route configures how HTTPRoutes of the Gateway API are created; if it is nil, the operator creates none.
	Route *UIRoute
}

// UIIngress configures the Ingresses of web UIs.
type UIIngress struct {
	// URLFormat is the format of the address of every web UI's Ingress (expose.ParseAddress). If it is empty, only the
	// ports in driverIngressOptions have Ingresses.
	URLFormat string
	// ClassName is the class of all Ingresses. If it is empty, the cluster's default class applies.
	ClassName string
	// Annotations and TLS apply to the Ingresses of applications that set none of their own.
	Annotations map[string]string
	TLS         []networkingv1.IngressTLS
}

// UIRoute configures the HTTPRoutes of web UIs.
type UIRoute struct {
	// Parents are the Gateways to which every web UI's route is attached. If there are none, only applications that
	// name Gateways have routes.
	Parents []expose.Parent
	// URLFormat is the format of the address of routes; if it is empty, UIIngress.URLFormat applies.
	URLFormat string
}

// UIServiceSuffix, UIIngressSuffix and UIRouteSuffix are the suffixes of the names of a UI's Service, Ingress and
// HTTPRoute. Tools of this API expect the suffixes of the Service and the Ingress. Only our operator creates
// HTTPRoutes.
const (
	UIServiceSuffix = "-ui-svc"
	UIIngressSuffix = "-ui-ingress"
	UIRouteSuffix   = "-ui-route"
)

// These are the reasons of the condition Exposed for problems that a user can solve. Both API groups also use
// dialect.ReasonSwitchedOff and lifecycle.ReasonInvalid.
const (
	ReasonInvalidPort    = "InvalidPort"
	ReasonInvalidAddress = "InvalidAddress"
	ReasonNoGateway      = "NoGateway"
)

// Exposure contains the auxiliary objects of an attempt's driver. It also contains problems: reasons why the operator
// cannot create an object that the custom resource requests.
type Exposure struct {
	Objects  []submit.Object
	Problems []lifecycle.Cause
	// Service is the name of the UI's Service; empty if there is none.
	Service string
	Port    int32
	// Links are the Ingress and the route that lead to the UI. The status shows the first one.
	Links []Link
	// Rules are the rules of the platform; nil if there are none. Refused are the faults by these rules. Each of them
	// is also a problem.
	Rules   dialect.Rules
	Refused []*dialect.FieldError
}

// Link is an Ingress or a route through which clients reach the web UI.
type Link struct {
	Kind, Name string
	Address    expose.Address
}

// AddProblem adds the reason why the operator cannot create an object that the custom resource requests. The message
// consists of the field's path and the formatted text. The text must also say what to do.
func (e *Exposure) AddProblem(reason, field, format string, args ...any) {
	e.Problems = append(e.Problems, lifecycle.Cause{Reason: reason, Message: field + ": " + fmt.Sprintf(format, args...)})
}

// Allowed reports whether the rules of the platform allow an Ingress or route. If they do not, it adds their errors to
// the Exposure.
func (e *Exposure) Allowed(asked *dialect.Exposing) bool {
	if e.Rules == nil {
		return true
	}
	return e.refuse(e.Rules.ExposureFaults(asked))
}

// AllowedService reports whether the rules of the platform allow the annotations of a Service. The argument field is
// the field that sets them. If they do not, AllowedService adds their errors to the Exposure.
func (e *Exposure) AllowedService(field string, annotations map[string]string) bool {
	return e.refuse(dialect.ServiceFaults(e.Rules, field, annotations))
}

// refuse adds faults to the Exposure, and reports whether there are none.
func (e *Exposure) refuse(faults []*dialect.FieldError) bool {
	for _, fault := range faults {
		e.Problems = append(e.Problems, lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: fault.Error()})
	}

	e.Refused = append(e.Refused, faults...)
	return len(faults) == 0
}

// TLSHosts returns the host names in the TLS settings of an Ingress, each with its path in the spec. The argument field
// is the path of the TLS settings.
func TLSHosts(field string, settings []networkingv1.IngressTLS) (hosts []dialect.FieldValue) {
	for i := range settings {
		for _, host := range settings[i].Hosts {
			hosts = append(hosts, dialect.FieldValue{Field: fmt.Sprintf("%s[%d].hosts", field, i), Value: host})
		}
	}
	return hosts
}

// ValidPort reports whether a number is a valid port. If it is not, ValidPort adds a problem that names the field.
func (e *Exposure) ValidPort(field string, port int32) bool {
	if port < 1 || port > 65535 {
		e.AddProblem(ReasonInvalidPort, field, "%d is not a port; write a number from 1 to 65535", port)
		return false
	}
	return true
}

// RouteRequest contains the settings of a custom resource for the HTTPRoute of its web UI.
type RouteRequest struct {
	// Spec contains the route settings of the custom resource; nil if it sets none. Field is the name of the field with
	// these settings.
	Spec  *v1beta2.RouteConfiguration
	Field string
	// Format is the address with placeholders, and FormatField is the field that sets it. Both are empty if no field
	// sets an address.
	Format, FormatField string
	Names               expose.Names
	// Route contains the namespace, name, labels and owner of the HTTPRoute.
	Route expose.Route
}

// AddRoute adds the HTTPRoute of the web UI's Service if the custom resource or the operator's configuration requests
// one.
func (u UI) AddRoute(e *Exposure, w RouteRequest) {
	asked := w.Spec
	switch {
	case asked == nil && (u.Route == nil || len(u.Route.Parents) == 0):
		return
	case u.Route == nil:
		e.AddProblem(dialect.ReasonSwitchedOff, w.Field, "the operator creates no HTTPRoutes; set ui.route.enabled: true in its configuration (chart: controller.uiRoute.enable=true)")
		return
	case asked == nil:
		asked = &v1beta2.RouteConfiguration{}
	}

	w.Route.Parents = u.Route.Parents
	if len(asked.ParentRefs) > 0 {
		w.Route.Parents = parentsOf(asked.ParentRefs)
	}

	if len(w.Route.Parents) == 0 {
		e.AddProblem(ReasonNoGateway, w.Field+".parentRefs", "no Gateway is named, and the operator's configuration names none in ui.route.parentRefs; name a Gateway")
		return
	}

	address, ok := e.routeAddress(w)
	if !ok {
		return
	}

	hosts := asked.Hostnames
	if len(hosts) > 0 {
		address.Host, address.Port = hosts[0], ""
	} else if address.Host != "" {
		hosts = []string{address.Host}
	}

	if len(hosts) == 0 && address.Path == "" {
		e.AddProblem(ReasonInvalidAddress, w.Field+".hostnames", "without a host and a path the route would match every request; name a host, or set %s", RouteFormatField)
		return
	}

	if !e.Allowed(w.exposing(asked.Hostnames, address.Host)) {
		return
	}

	w.Route.Hosts, w.Route.Path, w.Route.Service, w.Route.Port = hosts, address.Path, e.Service, e.Port
	object := expose.DriverRoute(w.Route)
	e.Objects = append(e.Objects, submit.Object(object))
	e.Links = append(e.Links, Link{object.GetKind(), object.GetName(), address})
}

// exposing returns the host names of a route that the rules of the platform check. These are the host names that the
// custom resource lists. If it lists none but sets an address, the result contains the host of this address. Hosts that
// come from the operator's configuration are not checked.
func (w RouteRequest) exposing(hostnames []string, host string) *dialect.Exposing {
	asked := &dialect.Exposing{Kind: "HTTPRoute"}
	for _, name := range hostnames {
		asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: w.Field + ".hostnames", Value: name})
	}

	own := w.FormatField == IngressFormatField || w.FormatField == RouteFormatField // the operator's configuration
	if len(hostnames) == 0 && host != "" && !own {
		asked.Hosts = []dialect.FieldValue{{Field: w.FormatField, Value: host}}
	}
	return asked
}

// routeAddress returns the address of a route. If the address cannot be used, it adds a problem and returns false. An
// address cannot be used if its path differs from the Ingress's path, because a driver serves its UI at only one path.
func (e *Exposure) routeAddress(w RouteRequest) (expose.Address, bool) {
	address := expose.Address{Scheme: "http"}
	if w.Format != "" {
		var err error
		if address, err = expose.ParseAddress(w.Format, w.Names); err != nil {
			e.AddProblem(ReasonInvalidAddress, w.FormatField, "%v", err)
			return address, false
		}
	}

	if len(e.Links) > 0 && e.Links[0].Address.Path != address.Path {
		e.AddProblem(ReasonInvalidAddress, w.FormatField, "%q has another path than %s, and a driver can have only one path (spark.ui.proxyBase); use the same path in both", address, IngressFormatField)
		return address, false
	}
	return address, true
}

// RouteFormat returns the address of routes from the operator's configuration. If the configuration sets no address for
// routes, the address of Ingresses applies to routes too. The result is "" if there is no such address, or if routes
// are disabled.
func (u UI) RouteFormat() string {
	switch {
	case u.Route == nil:
		return ""
	case u.Route.URLFormat == "" && u.Ingress != nil:
		return u.Ingress.URLFormat
	}
	return u.Route.URLFormat
}

func parentsOf(refs []v1beta2.RouteParentReference) []expose.Parent {
	var parents []expose.Parent
	for _, ref := range refs {
		parent := expose.Parent{
			Group: StringValue(ref.Group), Kind: StringValue(ref.Kind), Namespace: StringValue(ref.Namespace), Name: ref.Name, SectionName: StringValue(ref.SectionName),
		}
		if ref.Port != nil {
			parent.Port = *ref.Port
		}

		parents = append(parents, parent)
	}
	return parents
}
