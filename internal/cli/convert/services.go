package convert

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/expose"
)

// apacheServices converts the Services and Ingresses for ports of the driver. In spark.apache.org, every such Service
// has an Ingress or a route. An entry without an address is therefore not converted but gets a comment.
func apacheServices(app *v1beta2.SparkApplication, out *sparkv1.ApplicationSpec, n *notes) {
	for i := range app.Spec.DriverIngressOptions {
		option := &app.Spec.DriverIngressOptions[i]
		field := fmt.Sprintf("spec.driverIngressOptions[%d]", i)

		entry, err := serviceIngress(app, option)
		if err != nil {
			n.dropped(droppedField{true, "spec", field, err.Error() + "; describe the Service in driverServiceIngressList"})
			continue
		}

		out.DriverServiceIngressList = append(out.DriverServiceIngressList, entry)
		n.add(fmt.Sprintf("spec.driverServiceIngressList[%d]", len(out.DriverServiceIngressList)-1),
			"Set ingressSpec.ingressClassName. For the source, the operator's configuration sets the IngressClass.")
	}
}

func serviceIngress(app *v1beta2.SparkApplication, option *v1beta2.DriverIngressConfiguration) (entry sparkv1.DriverServiceIngress, err error) {
	if option.ServicePort == nil || option.IngressURLFormat == "" {
		return entry, fmt.Errorf("this API group has no counterpart of a Service without an Ingress")
	}

	if strings.Contains(option.IngressURLFormat, "$appId") {
		return entry, fmt.Errorf("ingressURLFormat contains $appId, the id of an attempt, which an Ingress of this API group cannot contain")
	}

	namespace := app.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}

	address, err := expose.ParseIngressAddress(option.IngressURLFormat, expose.Names{Application: app.Name, Namespace: namespace})
	if err != nil {
		return entry, err
	}

	port := *option.ServicePort
	suffix := strconv.Itoa(int(port))
	service := expose.Name(app.Name, "-driver-"+suffix)
	ingress := expose.DriverIngress(expose.Ingress{
		Meta: expose.Meta{Name: expose.Name(app.Name, "-ing-"+suffix), Annotations: option.IngressAnnotations}, TLS: option.IngressTLS, Address: address, Service: service, Port: port,
	})

	entry.ServiceMetadata = sparkv1.ObjectMetadata{Name: service, Labels: option.ServiceLabels, Annotations: option.ServiceAnnotations}
	if entry.ServiceSpec, err = raw(serviceSpec(option, port)); err != nil {
		return entry, err
	}

	entry.IngressMetadata = sparkv1.ObjectMetadata{Name: ingress.Name, Annotations: ingress.Annotations}
	entry.IngressSpec, err = raw(ingress.Spec)
	return entry, err
}

func serviceSpec(option *v1beta2.DriverIngressConfiguration, port int32) corev1.ServiceSpec {
	spec := corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: value(option.ServicePortName, ""), Port: port, TargetPort: intstr.FromInt32(port)}}}
	if option.ServiceType != nil {
		spec.Type = *option.ServiceType
	}
	return spec
}

func raw(spec any) (*runtime.RawExtension, error) {
	text, err := json.Marshal(spec)
	return &runtime.RawExtension{Raw: text}, err
}
