package exposure

import (
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/naming"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

const routeField = "spec.sparkUIOptions.route"

// uiIngress adds the Ingress of the web UI's Service if the operator's configuration contains an address for it.
func (d Exposer) uiIngress(e *sparkoperator.Exposure, app *v1beta2.SparkApplication, options *v1beta2.SparkUIConfiguration, id string, attempt int32) {
	if d.UI.Ingress == nil || d.UI.Ingress.URLFormat == "" {
		return
	}

	address, err := expose.ParseIngressAddress(d.UI.Ingress.URLFormat, addressNames(app, id))
	if err != nil {
		e.AddProblem(sparkoperator.ReasonInvalidAddress, sparkoperator.IngressFormatField, "%v", err)
		return
	}

	asked := &dialect.Exposing{Kind: "Ingress", Annotations: options.IngressAnnotations, AnnotationsField: "spec.sparkUIOptions.ingressAnnotations"}

	asked.Hosts = sparkoperator.TLSHosts("spec.sparkUIOptions.ingressTLS", options.IngressTLS)
	if !e.Allowed(asked) {
		return
	}

	ingress := d.ingress(app, options.IngressAnnotations, options.IngressTLS, id, attempt)
	ingress.Name, ingress.Address, ingress.Service, ingress.Port = expose.Name(app.Name, sparkoperator.UIIngressSuffix), address, e.Service, e.Port
	object := expose.DriverIngress(ingress)
	e.Objects = append(e.Objects, object)
	e.Links = append(e.Links, sparkoperator.Link{Kind: object.Kind, Name: object.Name, Address: address})
}

// ingress returns those parts of an Ingress that are the same for all Ingresses of an attempt's driver. If the
// application sets annotations or TLS settings, they replace those of the operator's configuration and are not merged
// with them.
func (d Exposer) ingress(app *v1beta2.SparkApplication, annotations map[string]string, tls []networkingv1.IngressTLS, id string, attempt int32) expose.Ingress {
	i := expose.Ingress{
		Meta:      expose.Meta{Namespace: app.Namespace, Labels: naming.AuxiliaryLabels(app, attempt, id), Owner: naming.Owner(app), Annotations: d.UI.Ingress.Annotations},
		ClassName: d.UI.Ingress.ClassName, TLS: d.UI.Ingress.TLS,
	}
	if len(annotations) > 0 {
		i.Annotations = annotations
	}

	if len(tls) > 0 {
		i.TLS = tls
	}
	return i
}

// uiRoute adds the HTTPRoute of the web UI's Service if the application or the operator's configuration requests one.
func (d Exposer) uiRoute(e *sparkoperator.Exposure, app *v1beta2.SparkApplication, options *v1beta2.SparkUIConfiguration, id string, attempt int32) {
	d.UI.AddRoute(e, sparkoperator.RouteRequest{
		Spec: options.Route, Field: routeField, Format: d.UI.RouteFormat(), FormatField: sparkoperator.RouteFormatField, Names: addressNames(app, id),
		Route: expose.Route{Meta: expose.Meta{
			Namespace: app.Namespace, Name: expose.Name(app.Name, sparkoperator.UIRouteSuffix), Labels: naming.AuxiliaryLabels(app, attempt, id), Owner: naming.Owner(app),
		}},
	})
}

// addressNames returns the values of the placeholders in an address.
//
// The application id in an address is the id that the operator computes, even if spark-submit generates a different
// one. The reason is that the driver's configuration contains the path at which clients reach the driver, so the id
// must be known before the launch.
func addressNames(app *v1beta2.SparkApplication, id string) expose.Names {
	return expose.Names{Application: app.Name, Namespace: app.Namespace, ID: naming.AppID(id)}
}

// Configure sets the path at which clients reach the driver's UI. The UI adds this path to its links and redirects
// (UIUtils.uiRoot, ProxyRedirectHandler). A value that the user sets is kept.
func Configure(c *conf.Conf, e *sparkoperator.Exposure) {
	if len(e.Links) == 0 || e.Links[0].Address.Path == "" {
		return
	}

	c.SetIfMissing("spark.ui.proxyBase", e.Links[0].Address.Path)
	c.SetIfMissing("spark.ui.proxyRedirectUri", "/")
}

// exposePorts adds the Services and Ingresses of driverIngressOptions.
func (d Exposer) exposePorts(e *sparkoperator.Exposure, app *v1beta2.SparkApplication, id string, attempt int32) {
	ports, addresses := map[int32]int{}, map[string]int{}
	for i := range app.Spec.DriverIngressOptions {
		option := &app.Spec.DriverIngressOptions[i]
		field := "spec.driverIngressOptions[" + strconv.Itoa(i) + "]"

		port := int32(0)
		if option.ServicePort != nil {
			port = *option.ServicePort
		}

		if !e.ValidPort(field+".servicePort", port) {
			continue
		}

		if first, taken := ports[port]; taken {
			e.AddProblem(sparkoperator.ReasonInvalidPort, field+".servicePort", "%d is also the port of entry %d; remove one of the two entries", port, first)
			continue
		}

		ports[port] = i

		kind, ok := d.serviceType(e, field+".serviceType", option.ServiceType)
		if !ok {
			continue
		}

		service := d.service(app, id, attempt)
		service.Type = kind
		service.Name, service.Port, service.TargetPort = expose.Name(app.Name, "-driver-"+strconv.Itoa(int(port))), port, port
		service.PortName = sparkoperator.StringValue(option.ServicePortName)

		service.Extra, service.Annotations = option.ServiceLabels, option.ServiceAnnotations
		if !e.AllowedService(field+".serviceAnnotations", service.Annotations) {
			continue
		}

		e.Objects = append(e.Objects, expose.DriverService(service))
		if option.IngressURLFormat != "" {
			d.portIngress(e, app, option, field, service, addresses, id, attempt)
		}
	}
}

// portIngress adds the Ingress of an entry of driverIngressOptions. The argument entry is the path of this entry in the
// spec. The argument addresses contains the addresses of the previous entries, which no other entry may use.
func (d Exposer) portIngress(e *sparkoperator.Exposure, app *v1beta2.SparkApplication, option *v1beta2.DriverIngressConfiguration, entry string, service expose.Service,
	addresses map[string]int, id string, attempt int32,
) {
	field := entry + ".ingressURLFormat"
	if d.UI.Ingress == nil {
		e.AddProblem(dialect.ReasonSwitchedOff, field, "the operator creates no Ingresses; set ui.ingress.enabled: true in its configuration (chart: controller.uiIngress.enable=true)")
		return
	}

	address, err := expose.ParseIngressAddress(option.IngressURLFormat, addressNames(app, id))
	if err != nil {
		e.AddProblem(sparkoperator.ReasonInvalidAddress, field, "%v", err)
		return
	}

	key := address.Host + address.Path
	if first, taken := addresses[key]; taken {
		e.AddProblem(sparkoperator.ReasonInvalidAddress, field, "%s is also the address of port %d in another entry; give each entry its own address", key, first)
		return
	}

	addresses[key] = int(service.Port)
	asked := &dialect.Exposing{Kind: "Ingress", Annotations: option.IngressAnnotations, AnnotationsField: entry + ".ingressAnnotations"}

	asked.Hosts = append(sparkoperator.TLSHosts(entry+".ingressTLS", option.IngressTLS), dialect.FieldValue{Field: field, Value: address.Host})
	if !e.Allowed(asked) {
		return
	}

	ingress := d.ingress(app, option.IngressAnnotations, option.IngressTLS, id, attempt)
	ingress.Name = expose.Name(app.Name, "-ing-"+strconv.Itoa(int(service.Port)))
	ingress.Address, ingress.Service, ingress.Port = address, service.Name, service.Port
	e.Objects = append(e.Objects, expose.DriverIngress(ingress))
}
