// Package exposure makes the driver of a SparkApplication reachable. exposure.go has the Service of the web UI,
// addresses.go its Ingress and route and those of further ports, auxiliary.go decides when they exist, and status.go
// writes their addresses into the status.
package exposure

import (
	"cmp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

// uiPortName is the name of the port of the web UI's Service. defaultUIPort is the number of this port if spark.ui.port
// is not set.
const (
	uiPortName    = "spark-driver-ui-port"
	defaultUIPort = int32(4040) // spark.ui.port
)

// Exposer makes drivers reachable.
type Exposer struct {
	UI    sparkoperator.UI
	Rules dialect.Rules // nil if there are none
}

// Exposure returns the auxiliary objects that make the driver of an attempt reachable.
func (d Exposer) Exposure(app *v1beta2.SparkApplication, attempt int32, id string) sparkoperator.Exposure {
	e := sparkoperator.Exposure{Rules: d.Rules}
	d.exposeUI(&e, app, id, attempt)
	d.exposePorts(&e, app, id, attempt)
	return e
}

// exposeUI adds the Service of the web UI, and the Ingress and the route that make it reachable from outside the
// cluster.
func (d Exposer) exposeUI(e *sparkoperator.Exposure, app *v1beta2.SparkApplication, id string, attempt int32) {
	options := v1beta2.SparkUIConfiguration{}
	if app.Spec.SparkUIOptions != nil {
		options = *app.Spec.SparkUIOptions
	}

	switch {
	case !uiEnabled(&app.Spec):
		return
	case !d.UI.Service:
		if app.Spec.SparkUIOptions != nil {
			e.AddProblem(dialect.ReasonSwitchedOff, "spec.sparkUIOptions", "the operator creates no Services for web UIs; set ui.service: true in its configuration (chart: controller.uiService.enable=true)")
		}
		return
	}

	target, ok := exposedUIPort(e, app)

	port := target
	if options.ServicePort != nil {
		port = *options.ServicePort
	}

	if !ok || !e.ValidPort("spec.sparkUIOptions.servicePort", port) {
		return
	}

	service := d.service(app, id, attempt)
	if service.Type, ok = d.serviceType(e, "spec.sparkUIOptions.serviceType", options.ServiceType); !ok {
		return
	}

	service.Name, service.Port, service.TargetPort = expose.Name(app.Name, sparkoperator.UIServiceSuffix), port, target
	service.PortName = cmp.Or(sparkoperator.StringValue(options.ServicePortName), uiPortName)

	service.Extra, service.Annotations = options.ServiceLabels, options.ServiceAnnotations
	if !e.AllowedService("spec.sparkUIOptions.serviceAnnotations", service.Annotations) {
		return
	}

	e.Objects = append(e.Objects, expose.DriverService(service))
	e.Service, e.Port = service.Name, port
	d.uiIngress(e, app, &options, id, attempt)
	d.uiRoute(e, app, &options, id, attempt)
}

// service returns those parts of a Service that are the same for all Services of an attempt's driver.
func (d Exposer) service(app *v1beta2.SparkApplication, id string, attempt int32) expose.Service {
	return expose.Service{
		Meta:     expose.Meta{Namespace: app.Namespace, Labels: naming.AuxiliaryLabels(app, attempt, id), Owner: naming.Owner(app)},
		Selector: naming.DriverSelector(app),
	}
}

// serviceType returns the type of a Service. This is the type that the application requests (asked), or ClusterIP if
// the operator's configuration does not allow the requested type. The second result is false if the type is not
// supported.
func (d Exposer) serviceType(e *sparkoperator.Exposure, field string, asked *corev1.ServiceType) (corev1.ServiceType, bool) {
	switch {
	case asked == nil || expose.IsInternal(*asked):
		return corev1.ServiceTypeClusterIP, true
	case *asked == corev1.ServiceTypeExternalName:
		_, why := expose.ServiceFault(&corev1.ServiceSpec{Type: *asked})
		e.AddProblem(lifecycle.ReasonInvalid, field, "%s", why)
		return "", false
	case !d.UI.Outside:
		e.AddProblem(dialect.ReasonSwitchedOff, field, "%s", expose.TypeNotAllowed(*asked))
		return corev1.ServiceTypeClusterIP, true
	}
	return *asked, true
}

// uiEnabled reports whether the driver serves a web UI (spark.ui.enabled, which is true by default).
func uiEnabled(spec *v1beta2.SparkApplicationSpec) bool {
	return !strings.EqualFold(strings.TrimSpace(spec.SparkConf["spark.ui.enabled"]), "false")
}

// exposedUIPort returns the port of the driver's UI. If the port is invalid or unknown, it adds a problem to the
// exposure and returns false.
func exposedUIPort(e *sparkoperator.Exposure, app *v1beta2.SparkApplication) (int32, bool) {
	const field = "spec.sparkConf[spark.ui.port]"

	text, set := app.Spec.SparkConf["spark.ui.port"]
	if !set {
		return defaultUIPort, true
	}

	port, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	switch {
	case err != nil:
		e.AddProblem(sparkoperator.ReasonInvalidPort, field, "%q is not a port; write a number from 1 to 65535", text)
	case port == 0:
		e.AddProblem(sparkoperator.ReasonInvalidPort, field, "0 makes Spark choose a free port when it starts, so the operator creates no Service for this port; write a number from 1 to 65535")
	default:
		return int32(port), e.ValidPort(field, int32(port))
	}
	return 0, false
}
