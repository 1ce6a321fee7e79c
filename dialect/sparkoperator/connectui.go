package sparkoperator

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/connect"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

const (
	connectUIField     = "spec.ui"
	connectFormatField = "spec.ui.ingressURLFormat"
	connectRouteField  = "spec.ui.route"
)

// exposure says what is to stand beside the server: the Service, and what leads to the web UI behind its port.
func (c Connects) exposure(sc *v1alpha1.SparkConnect, service *corev1.Service) exposure {
	e := exposure{objects: []submit.Object{service}, service: service.Name, port: connect.UIPort}
	ui := sc.Spec.UI
	switch {
	case ui == nil:
		return e
	case strings.EqualFold(strings.TrimSpace(sc.Spec.SparkConf["spark.ui.enabled"]), "false"):
		e.refuse(reasonSwitchedOff, connectUIField, "the server has no web UI, since spec.sparkConf[spark.ui.enabled] is false; remove one of the two")
		return e
	}
	c.ingress(&e, sc, ui)
	c.route(&e, sc, ui)
	if len(e.doors) == 0 && len(e.wrong) == 0 {
		e.refuse(reasonSwitchedOff, connectUIField, "the operator's configuration has no address for web UIs (ui.ingress, ui.route); name one in "+
			connectFormatField+" or "+connectRouteField)
	}
	return e
}

// ingress adds the Ingress that leads to the UI, by the address that the spec or the operator's configuration gives it.
func (c Connects) ingress(e *exposure, sc *v1alpha1.SparkConnect, ui *v1alpha1.UIConfiguration) {
	format, field := ui.IngressURLFormat, connectFormatField
	switch {
	case c.UI.Ingress == nil && format == "":
		return
	case c.UI.Ingress == nil:
		e.refuse(reasonSwitchedOff, field, "the operator makes no Ingresses; let its configuration say ui.ingress.enabled: true (chart: controller.uiIngress.enable=true)")
		return
	case format == "":
		if format, field = c.UI.Ingress.URLFormat, ingressFormatField; format == "" {
			return
		}
	}
	address, err := expose.ParseIngressAddress(format, serverNames(sc))
	if err != nil {
		e.refuse(reasonInvalidAddress, field, "%v", err)
		return
	}
	ingress := expose.Ingress{
		Namespace: sc.Namespace, Name: expose.Name(sc.Name, uiIngressSuffix), Labels: c.standingRequest(sc).ObjectLabels, Owner: serverOwner(sc),
		ClassName: c.UI.Ingress.ClassName, Annotations: c.UI.Ingress.Annotations, TLS: c.UI.Ingress.TLS,
		Address: address, Service: e.service, Port: e.port,
	}
	if len(ui.IngressAnnotations) > 0 {
		ingress.Annotations = ui.IngressAnnotations
	}
	if len(ui.IngressTLS) > 0 {
		ingress.TLS = ui.IngressTLS
	}
	object := expose.DriverIngress(ingress)
	e.objects, e.doors = append(e.objects, object), append(e.doors, door{object.Kind, object.Name, address})
}

// route adds the HTTPRoute that leads to the UI, where the spec or the operator's configuration names a Gateway.
func (c Connects) route(e *exposure, sc *v1alpha1.SparkConnect, ui *v1alpha1.UIConfiguration) {
	asked := ui.Route
	switch {
	case asked == nil && (c.UI.Route == nil || len(c.UI.Route.Parents) == 0):
		return
	case c.UI.Route == nil:
		e.refuse(reasonSwitchedOff, connectRouteField, "the operator makes no HTTPRoutes; let its configuration say ui.route.enabled: true (chart: controller.uiRoute.enable=true)")
		return
	case asked == nil:
		asked = &v1alpha1.RouteConfiguration{}
	}
	parents := c.UI.Route.Parents
	if len(asked.ParentRefs) > 0 {
		parents = parentsOf(asked.ParentRefs)
	}
	if len(parents) == 0 {
		e.refuse(reasonNoGateway, connectRouteField+".parentRefs", "no Gateway is named, and the operator's configuration names none in ui.route.parentRefs; name one")
		return
	}
	format, field := c.routeFormat(ui)
	address := expose.Address{Scheme: "http"}
	if format != "" {
		var err error
		if address, err = expose.ParseAddress(format, serverNames(sc)); err != nil {
			e.refuse(reasonInvalidAddress, field, "%v", err)
			return
		}
	}
	if len(e.doors) > 0 && e.doors[0].address.Path != address.Path {
		e.refuse(reasonInvalidAddress, field, "%q has another path than the Ingress, and a server can be told one path only (spark.ui.proxyBase)", address)
		return
	}
	hosts := asked.Hostnames
	if len(hosts) > 0 {
		address.Host, address.Port = hosts[0], ""
	} else if address.Host != "" {
		hosts = []string{address.Host}
	}
	if len(hosts) == 0 && address.Path == "" {
		e.refuse(reasonInvalidAddress, connectRouteField+".hostnames", "without a host and a path the route would answer to everything; name a host, or set %s", routeFormatField)
		return
	}
	object := expose.DriverRoute(expose.Route{
		Namespace: sc.Namespace, Name: expose.Name(sc.Name, uiRouteSuffix), Labels: c.standingRequest(sc).ObjectLabels, Owner: serverOwner(sc),
		Parents: parents, Hosts: hosts, Path: address.Path, Service: e.service, Port: e.port,
	})
	e.objects, e.doors = append(e.objects, object), append(e.doors, door{object.GetKind(), object.GetName(), address})
}

// routeFormat is the address of a route and the field that gives it: what the operator's configuration says of routes, else what leads to the Ingress.
func (c Connects) routeFormat(ui *v1alpha1.UIConfiguration) (format, field string) {
	switch {
	case ui.IngressURLFormat != "":
		return ui.IngressURLFormat, connectFormatField
	case c.UI.Route.URLFormat != "":
		return c.UI.Route.URLFormat, routeFormatField
	case c.UI.Ingress != nil:
		return c.UI.Ingress.URLFormat, ingressFormatField
	}
	return "", routeFormatField
}

// serverNames are what the placeholders of an address stand for. A server has no id that stays, so {{$appId}} is its name.
func serverNames(sc *v1alpha1.SparkConnect) expose.Names {
	return expose.Names{Application: sc.Name, Namespace: sc.Namespace, ID: sc.Name}
}

// uiPath tells the server under which path its UI is reached (see Dialect.uiConf). An edit of spec.ui that changes the path reaches the next server.
func (c Connects) uiPath(sc *v1alpha1.SparkConnect, to *conf.Conf) {
	if sc.Spec.UI == nil {
		return
	}
	e := c.exposure(sc, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: connect.ServiceName(sc.Name, sc.Spec.Server.Service)}})
	if len(e.doors) > 0 && e.doors[0].address.Path != "" {
		to.SetIfMissing("spark.ui.proxyBase", e.doors[0].address.Path)
		to.SetIfMissing("spark.ui.proxyRedirectUri", "/")
	}
}

// tellServerExposed writes what became of what leads to the UI, and returns an event where that is bad news. Without a wish for it there is no condition.
func tellServerExposed(sc *v1alpha1.SparkConnect, e exposure, is []lifecycle.Surrounding, now time.Time) []Event {
	server := &sc.Status.Server
	server.WebUIAddress = ""
	standing := 0
	for _, door := range e.doors {
		if made := named(is, door.kind, door.name); made != nil && made.Stands {
			standing++
			server.WebUIAddress = cmp.Or(server.WebUIAddress, door.address.String())
		}
	}
	others := slices.DeleteFunc(slices.Clone(is), func(s lifecycle.Surrounding) bool { return s.Kind == "Service" })
	why := lifecycle.Cause{}
	for _, cause := range append(slices.Clone(e.wrong), hindrances(others)...) {
		if why.Message != "" {
			why.Message += "; "
		}
		why.Reason, why.Message = cmp.Or(why.Reason, cause.Reason), why.Message+cause.Message
	}
	switch {
	case why.Reason != "":
		news := isNews(sc, ConditionExposed, why)
		setCondition(sc, ConditionExposed, metav1.ConditionFalse, why, now)
		if news {
			return []Event{{corev1.EventTypeWarning, why.Reason, why.Message}}
		}
	case len(e.doors) == 0:
		meta.RemoveStatusCondition(&sc.Status.Conditions, ConditionExposed)
	case standing == len(e.doors):
		setCondition(sc, ConditionExposed, metav1.ConditionTrue, lifecycle.Cause{Reason: ConditionExposed}, now)
	}
	return nil
}
