package connect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ServiceName is the name of a server's Service: base's, else ServerName.
func ServiceName(name string, base *corev1.Service) string {
	if base != nil && base.Name != "" {
		return base.Name
	}
	return ServerName(name)
}

// Service returns the Service that reaches the server, built on base, which may be nil and is not changed. Of the Request it reads names, labels, owner and
// the ports that Conf says the server listens on; it is the same for every attempt and version.
//
// Of base name, labels, annotations and spec are kept, but for: the selector; the four ports of the server, of which only a node port, by the port's
// name or number, is base's to say; labels that the Request has, too. Further ports of base stay, with a name where they lack one, since one of several
// ports needs it. The error is a *submit.Error; its field Service is base.
func Service(r Request, base *corev1.Service) (*corev1.Service, error) {
	d, err := newDraft(r)
	if err != nil {
		return nil, err
	}
	if base == nil {
		base = &corev1.Service{}
	}
	name := ServiceName(r.Name, base)
	if errs := validation.IsDNS1035Label(name); len(errs) > 0 {
		return nil, fieldError("Service", "metadata.name: %q is no name of a Service: %s", name, errs[0])
	}
	if base.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, fieldError("Service", "spec.type: ExternalName leads elsewhere and cannot reach the server; use ClusterIP, NodePort or LoadBalancer")
	}
	service := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.Namespace, OwnerReferences: owners(r.Owner),
			Labels: merged(base.Labels, r.ObjectLabels), Annotations: merged(base.Annotations),
		},
		Spec: *base.Spec.DeepCopy(),
	}
	service.Spec.Selector = merged(r.Selector, map[string]string{submit.RoleLabel: RoleServer})
	service.Spec.Ports = servicePorts(d.ports, base.Spec.Ports)
	return service, nil
}

func servicePorts(ports []port, base []corev1.ServicePort) []corev1.ServicePort {
	var all []corev1.ServicePort
	taken := make([]bool, len(base))
	for _, p := range ports {
		mine := corev1.ServicePort{
			Name: p.name, Protocol: corev1.ProtocolTCP, AppProtocol: new(p.protocol), Port: p.service, TargetPort: intstr.FromInt32(p.number),
		}
		for i, b := range base {
			if b.Name == p.name || b.Port == p.service && cmp.Or(b.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
				taken[i] = true
				mine.NodePort = cmp.Or(mine.NodePort, b.NodePort)
			}
		}
		all = append(all, mine)
	}
	for i, b := range base {
		if taken[i] {
			continue
		}
		more := *b.DeepCopy()
		more.Protocol = cmp.Or(more.Protocol, corev1.ProtocolTCP)
		if more.Name == "" {
			more.Name = fmt.Sprintf("%s-%d", strings.ToLower(string(more.Protocol)), more.Port)
		}
		if more.TargetPort == (intstr.IntOrString{}) {
			more.TargetPort = intstr.FromInt32(more.Port) // as the API server has it
		}
		all = append(all, more)
	}
	return slices.Clip(all)
}
