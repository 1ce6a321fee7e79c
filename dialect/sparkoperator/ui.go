package sparkoperator

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
	"github.com/sparkoperator/spark-operator/spark/submit"
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
	uiServiceSuffix = "-ui-svc"
	uiIngressSuffix = "-ui-ingress"
	uiRouteSuffix   = "-ui-route"
	uiPortName      = "spark-driver-ui-port"
	defaultUIPort   = int32(4040) // spark.ui.port
)

// Reasons of the condition Exposed for what a user can put right.
const (
	reasonInvalidPort    = "InvalidPort"
	reasonInvalidAddress = "InvalidAddress"
	reasonSwitchedOff    = "SwitchedOff"
	reasonNoGateway      = "NoGateway"
	reasonInvalidSpec    = "InvalidSpec"
)

// exposure is what stands beside one attempt's driver, and what of the user's wishes cannot.
type exposure struct {
	objects []submit.Object
	wrong   []lifecycle.Cause
	// The UI's Service and its port; empty where there is none.
	service string
	port    int32
	// doors are what leads to the UI from outside, the one that the status tells of first.
	doors []door
}

// door is an Ingress or a route of the web UI.
type door struct {
	kind, name string
	address    expose.Address
}

// refuse notes what cannot be exposed, naming the field and the way out.
func (e *exposure) refuse(reason, field, format string, args ...any) {
	e.wrong = append(e.wrong, lifecycle.Cause{Reason: reason, Message: field + ": " + fmt.Sprintf(format, args...)})
}

// exposure says what is to stand beside the driver of the current attempt.
func (d Dialect) exposure(app *v1beta2.SparkApplication, m lifecycle.Memory) exposure {
	var e exposure
	id := submissionID(app, m.Attempt)
	d.exposeUI(&e, app, id, m.Attempt)
	d.exposePorts(&e, app, id, m.Attempt)
	return e
}

// exposeUI adds the web UI's Service, and what leads to it from outside.
func (d Dialect) exposeUI(e *exposure, app *v1beta2.SparkApplication, id string, attempt int32) {
	options := v1beta2.SparkUIConfiguration{}
	if app.Spec.SparkUIOptions != nil {
		options = *app.Spec.SparkUIOptions
	}
	switch {
	case !uiEnabled(&app.Spec):
		return
	case !d.UI.Service:
		if app.Spec.SparkUIOptions != nil {
			e.refuse(reasonSwitchedOff, "spec.sparkUIOptions", "the operator makes no Services for web UIs; let its configuration say ui.service: true (chart: controller.uiService.enable=true)")
		}
		return
	}
	target, ok := e.uiPort(app)
	port := target
	if options.ServicePort != nil {
		port = *options.ServicePort
	}
	if !ok || !e.validPort("spec.sparkUIOptions.servicePort", port) {
		return
	}
	service := d.service(app, id, attempt)
	if service.Type, ok = d.serviceType(e, "spec.sparkUIOptions.serviceType", options.ServiceType); !ok {
		return
	}
	service.Name, service.Port, service.TargetPort = expose.Name(app.Name, uiServiceSuffix), port, target
	service.PortName = cmp.Or(value(options.ServicePortName), uiPortName)
	service.Extra, service.Annotations = options.ServiceLabels, options.ServiceAnnotations
	e.objects = append(e.objects, expose.DriverService(service))
	e.service, e.port = service.Name, port
	d.uiIngress(e, app, &options, id, attempt)
	d.uiRoute(e, app, &options, id, attempt)
}

// service is what all Services of an attempt's driver have in common.
func (d Dialect) service(app *v1beta2.SparkApplication, id string, attempt int32) expose.Service {
	return expose.Service{
		Namespace: app.Namespace, Labels: surroundingLabels(app, id, attempt), Owner: ownerReference(app),
		Selector: map[string]string{LabelAppName: app.Name, submit.RoleLabel: submit.RoleDriver},
	}
}

// surroundingLabels are those of an attempt, and the one by which readers of this API find what an operator made.
func surroundingLabels(app *v1beta2.SparkApplication, id string, attempt int32) map[string]string {
	labels := attemptLabels(app, attempt, id)
	labels[LabelCreatedBy] = "true"
	return labels
}

// serviceType is the type of a Service for which an application asks, as far as the operator's configuration allows it; false where there can be no Service.
func (d Dialect) serviceType(e *exposure, field string, asked *corev1.ServiceType) (corev1.ServiceType, bool) {
	switch {
	case asked == nil || expose.IsInside(*asked):
		return corev1.ServiceTypeClusterIP, true
	case *asked == corev1.ServiceTypeExternalName:
		_, why := expose.ServiceFault(&corev1.ServiceSpec{Type: *asked})
		e.refuse(reasonInvalidSpec, field, "%s", why)
		return "", false
	case !d.UI.Outside:
		e.refuse(reasonSwitchedOff, field, "%s", expose.SwitchedOff(*asked))
		return corev1.ServiceTypeClusterIP, true
	}
	return *asked, true
}

// uiEnabled reports whether the driver serves a web UI (spark.ui.enabled, which is true unless said otherwise).
func uiEnabled(spec *v1beta2.SparkApplicationSpec) bool {
	return !strings.EqualFold(strings.TrimSpace(spec.SparkConf["spark.ui.enabled"]), "false")
}

// uiPort is where the driver serves its UI.
func (e *exposure) uiPort(app *v1beta2.SparkApplication) (int32, bool) {
	const field = "spec.sparkConf[spark.ui.port]"
	text, set := app.Spec.SparkConf["spark.ui.port"]
	if !set {
		return defaultUIPort, true
	}
	port, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	switch {
	case err != nil:
		e.refuse(reasonInvalidPort, field, "%q is no port; write a number from 1 to 65535", text)
	case port == 0:
		e.refuse(reasonInvalidPort, field, "with 0 Spark chooses a port that nobody else knows, so there is no Service for it; write a number from 1 to 65535")
	default:
		return int32(port), e.validPort(field, int32(port))
	}
	return 0, false
}

func (e *exposure) validPort(field string, port int32) bool {
	if port < 1 || port > 65535 {
		e.refuse(reasonInvalidPort, field, "%d is no port; write a number from 1 to 65535", port)
		return false
	}
	return true
}
