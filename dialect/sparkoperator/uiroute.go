package sparkoperator

import (
	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// routeWish is what a custom resource says of the HTTPRoute to its web UI.
type routeWish struct {
	// asked is nil where it says nothing; field is where it would.
	asked *v1beta2.RouteConfiguration
	field string
	// format is the address, with its placeholders, and formatField what gives it; empty where nobody does.
	format, formatField string
	names               expose.Names
	// route has the object's identity.
	route expose.Route
}

// addRoute adds the HTTPRoute that leads to a UI's Service, where the custom resource or the operator's configuration asks for one.
func (u UI) addRoute(e *exposure, w routeWish) {
	asked := w.asked
	switch {
	case asked == nil && (u.Route == nil || len(u.Route.Parents) == 0):
		return
	case u.Route == nil:
		e.refuse(reasonSwitchedOff, w.field, "the operator makes no HTTPRoutes; let its configuration say ui.route.enabled: true (chart: controller.uiRoute.enable=true)")
		return
	case asked == nil:
		asked = &v1beta2.RouteConfiguration{}
	}
	w.route.Parents = u.Route.Parents
	if len(asked.ParentRefs) > 0 {
		w.route.Parents = parentsOf(asked.ParentRefs)
	}
	if len(w.route.Parents) == 0 {
		e.refuse(reasonNoGateway, w.field+".parentRefs", "no Gateway is named, and the operator's configuration names none in ui.route.parentRefs; name one")
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
		e.refuse(reasonInvalidAddress, w.field+".hostnames", "without a host and a path the route would answer to everything; name a host, or set %s", routeFormatField)
		return
	}
	w.route.Hosts, w.route.Path, w.route.Service, w.route.Port = hosts, address.Path, e.service, e.port
	object := expose.DriverRoute(w.route)
	e.objects = append(e.objects, submit.Object(object))
	e.doors = append(e.doors, door{object.GetKind(), object.GetName(), address})
}

// routeAddress reads the address of a route. A UI is told one path, so all that leads to it have the same.
func (e *exposure) routeAddress(w routeWish) (expose.Address, bool) {
	address := expose.Address{Scheme: "http"}
	if w.format != "" {
		var err error
		if address, err = expose.ParseAddress(w.format, w.names); err != nil {
			e.refuse(reasonInvalidAddress, w.formatField, "%v", err)
			return address, false
		}
	}
	if len(e.doors) > 0 && e.doors[0].address.Path != address.Path {
		e.refuse(reasonInvalidAddress, w.formatField, "%q has another path than %s, and a driver can be told one path only (spark.ui.proxyBase)", address, ingressFormatField)
		return address, false
	}
	return address, true
}

// routeFormat is where the operator's configuration wants routes; empty where it says nothing.
func (u UI) routeFormat() string {
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
			Group: value(ref.Group), Kind: value(ref.Kind), Namespace: value(ref.Namespace), Name: ref.Name, SectionName: value(ref.SectionName),
		}
		if ref.Port != nil {
			parent.Port = *ref.Port
		}
		parents = append(parents, parent)
	}
	return parents
}
