package sparkoperator

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// The fields of the operator's configuration that a refusal names.
const (
	IngressFormatField = "ui.ingress.urlFormat of the operator's configuration"
	RouteFormatField   = "ui.route.urlFormat of the operator's configuration"
)

// UI is how drivers' web UIs are exposed. The zero value exposes none.
type UI struct {
	// Service gives every driver that serves a web UI a Service, without which nothing else leads to it.
	Service bool
	// Outside lets custom resources choose Services that are reached from outside the cluster (NodePort, LoadBalancer). Without it they are ClusterIP.
	Outside bool
	// Ingress lets the operator make Ingresses; nil: it makes none.
	Ingress *UIIngress
	// Route lets the operator make HTTPRoutes of the Gateway API; nil: it makes none.
	Route *UIRoute
}

// UIIngress is how the operator makes Ingresses.
type UIIngress struct {
	// URLFormat gives every web UI an Ingress of that address (expose.ParseAddress); empty: only driverIngressOptions have Ingresses.
	URLFormat string
	// ClassName chooses the controller of all Ingresses; empty leaves that to the cluster.
	ClassName string
	// Annotations and TLS of Ingresses whose application says nothing of its own.
	Annotations map[string]string
	TLS         []networkingv1.IngressTLS
}

// UIRoute is how the operator makes HTTPRoutes.
type UIRoute struct {
	// Parents are the Gateways of every web UI's route; without one only applications that name theirs have routes.
	Parents []expose.Parent
	// URLFormat is the address of routes; empty: that of UIIngress.
	URLFormat string
}

// What readers of this API know a UI's Service and Ingress by. The route is this operator's own.
const (
	UIServiceSuffix = "-ui-svc"
	UIIngressSuffix = "-ui-ingress"
	UIRouteSuffix   = "-ui-route"
)

// Reasons of the condition Exposed for what a user can put right.
const (
	ReasonInvalidPort    = "InvalidPort"
	ReasonInvalidAddress = "InvalidAddress"
	ReasonSwitchedOff    = "SwitchedOff"
	ReasonNoGateway      = "NoGateway"
	ReasonInvalidSpec    = "InvalidSpec"
)

// Exposure is what stands beside one attempt's driver, and what of the user's wishes cannot.
type Exposure struct {
	Objects []submit.Object
	Wrong   []lifecycle.Cause
	// The UI's Service and its port; empty where there is none.
	Service string
	Port    int32
	// doors are what leads to the UI from outside, the one that the status tells of first.
	Doors []Door
}

// Door is an Ingress or a route of the web UI.
type Door struct {
	Kind, Name string
	Address    expose.Address
}

// Refuse notes what cannot be exposed, naming the field and the way out.
func (e *Exposure) Refuse(reason, field, format string, args ...any) {
	e.Wrong = append(e.Wrong, lifecycle.Cause{Reason: reason, Message: field + ": " + fmt.Sprintf(format, args...)})
}

// ValidPort reports whether a number is a port, and refuses it otherwise.
func (e *Exposure) ValidPort(field string, port int32) bool {
	if port < 1 || port > 65535 {
		e.Refuse(ReasonInvalidPort, field, "%d is no port; write a number from 1 to 65535", port)
		return false
	}
	return true
}

// RouteWish is what a custom resource says of the HTTPRoute to its web UI.
type RouteWish struct {
	// asked is nil where it says nothing; field is where it would.
	Asked *v1beta2.RouteConfiguration
	Field string
	// format is the address, with its placeholders, and formatField what gives it; empty where nobody does.
	Format, FormatField string
	Names               expose.Names
	// route has the object's identity.
	Route expose.Route
}

// AddRoute adds the HTTPRoute that leads to a UI's Service, where the custom resource or the operator's configuration asks for one.
func (u UI) AddRoute(e *Exposure, w RouteWish) {
	asked := w.Asked
	switch {
	case asked == nil && (u.Route == nil || len(u.Route.Parents) == 0):
		return
	case u.Route == nil:
		e.Refuse(ReasonSwitchedOff, w.Field, "the operator makes no HTTPRoutes; let its configuration say ui.route.enabled: true (chart: controller.uiRoute.enable=true)")
		return
	case asked == nil:
		asked = &v1beta2.RouteConfiguration{}
	}
	w.Route.Parents = u.Route.Parents
	if len(asked.ParentRefs) > 0 {
		w.Route.Parents = parentsOf(asked.ParentRefs)
	}
	if len(w.Route.Parents) == 0 {
		e.Refuse(ReasonNoGateway, w.Field+".parentRefs", "no Gateway is named, and the operator's configuration names none in ui.route.parentRefs; name one")
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
		e.Refuse(ReasonInvalidAddress, w.Field+".hostnames", "without a host and a path the route would answer to everything; name a host, or set %s", RouteFormatField)
		return
	}
	w.Route.Hosts, w.Route.Path, w.Route.Service, w.Route.Port = hosts, address.Path, e.Service, e.Port
	object := expose.DriverRoute(w.Route)
	e.Objects = append(e.Objects, submit.Object(object))
	e.Doors = append(e.Doors, Door{object.GetKind(), object.GetName(), address})
}

// routeAddress reads the address of a route. A UI is told one path, so all that leads to it have the same.
func (e *Exposure) routeAddress(w RouteWish) (expose.Address, bool) {
	address := expose.Address{Scheme: "http"}
	if w.Format != "" {
		var err error
		if address, err = expose.ParseAddress(w.Format, w.Names); err != nil {
			e.Refuse(ReasonInvalidAddress, w.FormatField, "%v", err)
			return address, false
		}
	}
	if len(e.Doors) > 0 && e.Doors[0].Address.Path != address.Path {
		e.Refuse(ReasonInvalidAddress, w.FormatField, "%q has another path than %s, and a driver can be told one path only (spark.ui.proxyBase)", address, IngressFormatField)
		return address, false
	}
	return address, true
}

// RouteFormat is where the operator's configuration wants routes; empty where it says nothing.
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
			Group: Value(ref.Group), Kind: Value(ref.Kind), Namespace: Value(ref.Namespace), Name: ref.Name, SectionName: Value(ref.SectionName),
		}
		if ref.Port != nil {
			parent.Port = *ref.Port
		}
		parents = append(parents, parent)
	}
	return parents
}
