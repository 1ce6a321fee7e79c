package connect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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

// uiServiceName returns the name of the Service of a server's web UI. The UI has a Service of its own, because the
// Service for clients does not serve the web UI.
func uiServiceName(sc *v1alpha1.SparkConnect) string {
	return expose.Name(connect.ServerName(sc.Name), sparkoperator.UIServiceSuffix)
}

// exposure returns the auxiliary objects for a server's web UI: its Service, and the Ingress and route that make it
// reachable from outside the cluster. The argument clients is the name of the Service through which clients connect to
// the server.
func (a *attempt) exposure(clients string) (e sparkoperator.Exposure) {
	sc := a.sc
	e.Rules = a.Rules
	defer a.rejectOutside(&e)

	ui := sc.Spec.UI

	enabled := !strings.EqualFold(strings.TrimSpace(sc.Spec.SparkConf["spark.ui.enabled"]), "false")
	switch {
	case ui == nil && (!enabled || !a.UI.Service):
		return e
	case !enabled:
		e.AddProblem(dialect.ReasonSwitchedOff, connectUIField, "the server has no web UI, since spec.sparkConf[spark.ui.enabled] is false; remove spec.ui, or remove that key")
		return e
	case clients == uiServiceName(sc):
		e.AddProblem(reasonInvalidService, "spec.server.service", "metadata.name: %q is the name of the web UI's Service; choose another name", clients)
		return e
	}

	service, err := connect.UIService(a.standingRequest(), uiServiceName(sc))
	if err != nil {
		e.AddProblem(reasonInvalidService, connectUIField, "%v", asConnectError(sc, err))
		return e
	}

	e.Objects, e.Service, e.Port = []submit.Object{service}, service.Name, connect.UIPort
	if ui == nil {
		return e
	}

	a.addIngress(&e, ui)
	a.UI.AddRoute(&e, a.routeRequest(ui))

	if len(e.Links) == 0 && len(e.Problems) == 0 {
		e.AddProblem(dialect.ReasonSwitchedOff, connectUIField, "the operator's configuration has no address for web UIs (ui.ingress, ui.route); name one in "+
			connectFormatField+" or "+connectRouteField)
	}
	return e
}

// rejectOutside adds a problem if the operator's configuration does not allow the type of the Service for clients, or
// if the rules of the platform do not allow its annotations. No configuration allows ExternalName, which makes the
// Service invalid.
func (a *attempt) rejectOutside(e *sparkoperator.Exposure) {
	base := a.sc.Spec.Server.Service
	if base == nil {
		return
	}

	e.AllowedService(connectAnnotationsField, base.Annotations)

	if !a.UI.Outside && !expose.IsInternal(base.Spec.Type) && base.Spec.Type != corev1.ServiceTypeExternalName {
		e.AddProblem(dialect.ReasonSwitchedOff, connectServiceField+".type", "%s", expose.TypeNotAllowed(base.Spec.Type))
	}
}

// addIngress adds the Ingress of the web UI. The Ingress has the address in the spec, or else the address in the
// operator's configuration.
func (a *attempt) addIngress(e *sparkoperator.Exposure, ui *v1alpha1.UIConfiguration) {
	sc := a.sc

	format, field := ui.IngressURLFormat, connectFormatField
	switch {
	case a.UI.Ingress == nil && format == "":
		return
	case a.UI.Ingress == nil:
		e.AddProblem(dialect.ReasonSwitchedOff, field, "the operator creates no Ingresses; set ui.ingress.enabled: true in its configuration (chart: controller.uiIngress.enable=true)")
		return
	case format == "":
		if format, field = a.UI.Ingress.URLFormat, sparkoperator.IngressFormatField; format == "" {
			return
		}
	}

	address, err := expose.ParseIngressAddress(format, serverNames(sc))
	if err != nil {
		e.AddProblem(sparkoperator.ReasonInvalidAddress, field, "%v", err)
		return
	}

	ingress := expose.Ingress{
		Meta: expose.Meta{
			Namespace: sc.Namespace, Name: expose.Name(sc.Name, sparkoperator.UIIngressSuffix), Labels: a.standingRequest().ObjectLabels, Owner: serverOwner(sc),
			Annotations: a.UI.Ingress.Annotations,
		},
		ClassName: a.UI.Ingress.ClassName, TLS: a.UI.Ingress.TLS,
		Address: address, Service: e.Service, Port: e.Port,
	}
	if len(ui.IngressAnnotations) > 0 {
		ingress.Annotations = ui.IngressAnnotations
	}

	if len(ui.IngressTLS) > 0 {
		ingress.TLS = ui.IngressTLS
	}

	asked := &dialect.Exposing{Kind: "Ingress", Annotations: ui.IngressAnnotations, AnnotationsField: connectUIField + ".ingressAnnotations"}

	asked.Hosts = sparkoperator.TLSHosts(connectUIField+".ingressTLS", ui.IngressTLS)
	if ui.IngressURLFormat != "" {
		asked.Hosts = append(asked.Hosts, dialect.FieldValue{Field: connectFormatField, Value: address.Host})
	}

	if !e.Allowed(asked) {
		return
	}

	object := expose.DriverIngress(ingress)
	e.Objects, e.Links = append(e.Objects, object), append(e.Links, sparkoperator.Link{Kind: object.Kind, Name: object.Name, Address: address})
}

// routeRequest returns the settings of the HTTPRoute. If the spec sets an address for the Ingress, the route has the
// same address. Otherwise it has the address of routes in the operator's configuration.
func (a *attempt) routeRequest(ui *v1alpha1.UIConfiguration) sparkoperator.RouteRequest {
	sc := a.sc

	w := sparkoperator.RouteRequest{
		Spec: ui.Route, Field: connectRouteField, Format: a.UI.RouteFormat(), FormatField: sparkoperator.RouteFormatField, Names: serverNames(sc),
		Route: expose.Route{Meta: expose.Meta{
			Namespace: sc.Namespace, Name: expose.Name(sc.Name, sparkoperator.UIRouteSuffix), Labels: a.standingRequest().ObjectLabels, Owner: serverOwner(sc),
		}},
	}
	if ui.IngressURLFormat != "" {
		w.Format, w.FormatField = ui.IngressURLFormat, connectFormatField
	}
	return w
}

// serverNames returns the values of the placeholders in an address. A server has no permanent application id, so the
// value of {{$appId}} is the server's name.
func serverNames(sc *v1alpha1.SparkConnect) expose.Names {
	return expose.Names{Application: sc.Name, Namespace: sc.Namespace, ID: sc.Name}
}

// uiPath sets the path at which clients reach the server's UI, because the UI adds this path to its links and
// redirects. A value that the user sets is kept. An edit of spec.ui can change the path. The running server keeps the
// old path, and the next server uses the new one.
func (a *attempt) uiPath(to *conf.Conf) {
	sc := a.sc
	if sc.Spec.UI == nil {
		return
	}

	e := a.exposure(connect.ServiceName(sc.Name, sc.Spec.Server.Service))
	if len(e.Links) > 0 && e.Links[0].Address.Path != "" {
		to.SetIfMissing("spark.ui.proxyBase", e.Links[0].Address.Path)
		to.SetIfMissing("spark.ui.proxyRedirectUri", "/")
	}
}

// recordServerExposed sets the condition Exposed from the states of the objects that make the UI reachable. If a
// problem is new, it returns a warning event. If the spec requests no such object and there is no problem, it removes
// the condition.
func recordServerExposed(sc *v1alpha1.SparkConnect, e sparkoperator.Exposure, live []lifecycle.AuxiliaryObject, now time.Time) []dialect.Event {
	server := &sc.Status.Server
	server.WebUIAddress = ""

	standing := 0
	for _, link := range e.Links {
		if made := dialect.FindObject(live, link.Kind, link.Name); made != nil && made.Current {
			standing++
			server.WebUIAddress = cmp.Or(server.WebUIAddress, link.Address.String())
		}
	}

	others := slices.DeleteFunc(slices.Clone(live), func(s lifecycle.AuxiliaryObject) bool { return s.Kind == "Service" && s.Name != e.Service })

	why := lifecycle.Cause{}
	for _, cause := range append(slices.Clone(e.Problems), dialect.ObjectFailures(others)...) {
		if why.Message != "" {
			why.Message += "; "
		}

		why.Reason, why.Message = cmp.Or(why.Reason, cause.Reason), why.Message+cause.Message
	}

	why = why.Bounded()
	switch {
	case why.Reason != "":
		isNew := isNewCause(sc, dialect.ConditionExposed, why)
		setCondition(sc, dialect.ConditionExposed, metav1.ConditionFalse, why, now)

		if isNew {
			return []dialect.Event{{Type: corev1.EventTypeWarning, Reason: why.Reason, Message: why.Message}}
		}
	case len(e.Links) == 0:
		meta.RemoveStatusCondition(&sc.Status.Conditions, dialect.ConditionExposed)
	case standing == len(e.Links):
		setCondition(sc, dialect.ConditionExposed, metav1.ConditionTrue, lifecycle.Cause{Reason: dialect.ConditionExposed}, now)
	}
	return nil
}
