package connect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// ServiceName returns the name of a server's Service: the name of base or, if base has none, ServerName.
func ServiceName(name string, base *corev1.Service) string {
	if base != nil && base.Name != "" {
		return base.Name
	}
	return ServerName(name)
}

// Service returns the Service through which clients reach the server. It is built from base, which may be nil and is
// not changed. It uses the names, labels and owner of the Request and the ports that Conf sets. The Service is the same
// for every attempt and Spark version.
//
// The Service has the clients' port. Executors reach the server at its pod's address, and the web UI has a Service of
// its own (UIService). So exposing this Service does not expose ports through which a client can run code with the
// server's rights.
//
// The Service keeps the name, labels, annotations and spec of base, with these exceptions:
//   - The selector is that of the Request.
//   - Labels of the Request override labels of base.
//   - If a port of base has the name or the number of the clients' port, the clients' port gets its nodePort and its
//     appProtocol. The rest of that port of base has no effect.
//   - Ports that lead to the RPC port or the block manager are dropped. They may lead there by a name that
//     ServerTemplate gives to a port.
//   - Additional ports of base without a name get a name, since a Service with several ports needs names.
//
// ServiceWarnings reports settings that have no effect. The error is a *submit.Error; if base is at fault, its Field is
// "Service".
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
		return nil, submit.FieldErrorf("Service", "metadata.name: %q is not a valid Service name: %s", name, errs[0])
	}

	if base.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, submit.FieldErrorf("Service", "spec.type: ExternalName leads elsewhere and cannot reach the server; use ClusterIP, NodePort or LoadBalancer")
	}

	if err := checkMetadata(r, base); err != nil {
		return nil, err
	}

	service := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.Namespace, OwnerReferences: submit.Owners(r.Owner),
			Labels: merged(base.Labels, r.ObjectLabels), Annotations: merged(base.Annotations),
		},
		Spec: *base.Spec.DeepCopy(),
	}
	service.Spec.Selector = merged(r.Selector, map[string]string{submit.RoleLabel: RoleServer})
	d.named = d.namedPorts(base.Spec.Ports)
	service.Spec.Ports = d.servicePorts(base.Spec.Ports)
	return service, nil
}

// checkMetadata rejects labels and annotations of base that identify the operator's objects or the pods of an attempt,
// because the Service would be deleted together with these objects or pods.
func checkMetadata(r Request, base *corev1.Service) error {
	for part, marks := range map[string]map[string]string{"labels": base.Labels, "annotations": base.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(marks)) {
			switch {
			case r.Reserved != "" && strings.HasPrefix(key, r.Reserved):
				return submit.FieldErrorf("Service", "metadata.%s[%s]: %s that begin with %s are reserved for the operator; use another name", part, conf.Shorten(key), part, r.Reserved)
			case part == "labels" && (key == submit.SelectorLabel || key == submit.RoleLabel):
				return submit.FieldErrorf("Service", "metadata.labels[%s]: is Spark's own, for the pods of a server; remove it", key)
			}
		}
	}
	return nil
}

// ServiceWarnings returns warnings about two kinds of settings of base: settings that Service drops, and ports that
// expose more than clients need. The Field of each warning is "Service".
func ServiceWarnings(r Request, base *corev1.Service) []Warning {
	service, err := Service(r, base)
	if err != nil || base == nil {
		return nil
	}

	d, err := newDraft(r)
	if err != nil {
		return nil
	}

	for _, meta := range []struct {
		field string
		set   bool
	}{
		{"namespace", base.Namespace != "" && base.Namespace != r.Namespace}, {"generateName", base.GenerateName != ""},
		{"finalizers", len(base.Finalizers) > 0}, {"ownerReferences", len(base.OwnerReferences) > 0},
	} {
		if meta.set {
			d.warns.OfField("Service", "metadata.%s has no effect: the Service belongs to the server and is deleted with it; remove the field", meta.field)
		}
	}

	for _, key := range slices.Sorted(maps.Keys(base.Labels)) {
		if service.Labels[key] != base.Labels[key] {
			d.warns.OfField("Service", "metadata.labels[%s] has no effect: the operator sets it to %q", conf.Shorten(key), service.Labels[key])
		}
	}

	if len(base.Spec.Selector) > 0 && !maps.Equal(base.Spec.Selector, service.Spec.Selector) {
		d.warns.OfField("Service", "spec.selector has no effect: the operator sets a selector for the current server; remove the field")
	}

	d.named = d.namedPorts(base.Spec.Ports)
	d.portWarnings(base, service.Spec.Ports[0])
	return d.warns
}

// portWarnings adds warnings about ports of base that have no effect, and about ports of base that expose more than
// clients need. The parameter `mine` is the port for clients that the operator adds to the Service.
func (d *draft) portWarnings(base *corev1.Service, mine corev1.ServicePort) {
	outside := base.Spec.Type == corev1.ServiceTypeNodePort || base.Spec.Type == corev1.ServiceTypeLoadBalancer
	for i, b := range base.Spec.Ports {
		switch {
		case replacesPort(b, mine):
			if overrides(b, mine) {
				d.warns.OfField("Service", "spec.ports[%d]: name, port and targetPort have no effect: port %d is %s and leads to port %s of the server; "+
					"give an additional port another name and number", i, mine.Port, mine.Name, mine.TargetPort.String())
			}
		case d.isExecutorPort(b):
			d.warns.OfField("Service", "spec.ports[%d] is left out: clients that reach the server's RPC port or block manager can run code as the server, and "+
				"executors do not need a Service; remove it", i)
		case outside && d.leadsTo(uiPort(d.ports), b):
			d.warns.OfField("Service", "spec.ports[%d]: a Service of type %s exposes the web UI, which has no authentication, outside the cluster; "+
				"remove the port, and use spec.ui with an Ingress that authenticates users", i, base.Spec.Type)
		}
	}
}

// replacesPort reports whether a port of the user's Service has the name or the number of the clients' port.
func replacesPort(user, clients corev1.ServicePort) bool {
	return user.Name == clients.Name || user.Port == clients.Port && cmp.Or(user.Protocol, corev1.ProtocolTCP) == clients.Protocol
}

// overrides reports whether a port of the user's Service sets a name, port or targetPort that differs from the
// clients' port.
func overrides(user, clients corev1.ServicePort) bool {
	return user.Name != "" && user.Name != clients.Name || user.Port != clients.Port || user.TargetPort != (intstr.IntOrString{}) && user.TargetPort != clients.TargetPort
}

// isExecutorPort reports whether b, a port of the user's Service, leads to a port of the server that only executors
// use. Manifests for the kubeflow operator may list such ports by name, because the kubeflow operator writes these
// ports into its own Service.
func (d *draft) isExecutorPort(b corev1.ServicePort) bool {
	return slices.ContainsFunc(d.ports[:innerPorts], func(p port) bool { return b.Name == p.name || d.leadsTo(p, b) })
}

// leadsTo reports whether b, a port of a Service, leads to the port p of the server.
func (d *draft) leadsTo(p port, b corev1.ServicePort) bool {
	switch target := b.TargetPort; {
	case cmp.Or(b.Protocol, corev1.ProtocolTCP) != corev1.ProtocolTCP:
		return false
	case target.Type == intstr.String:
		return target.StrVal == p.container || slices.Contains(d.named[target.StrVal], p.number)
	default:
		return cmp.Or(target.IntVal, b.Port) == p.number
	}
}

// namedPorts returns the numbers of the TCP ports in the server's template by their names, if ports of a Service have
// targets by name. All containers count, because the containers of a pod share one network. If two of them use one
// name, Kubernetes takes the port of the first, but each of them counts here.
func (d *draft) namedPorts(ports []corev1.ServicePort) map[string][]int32 {
	if !slices.ContainsFunc(ports, func(b corev1.ServicePort) bool { return b.TargetPort.Type == intstr.String }) {
		return nil // the template can be long
	}

	t, err := podtemplate.Read(d.r.ServerTemplate)
	if err != nil {
		return nil // no server is built from it
	}

	named := map[string][]int32{}
	for _, c := range slices.Concat(t.Pod.Spec.Containers, t.Pod.Spec.InitContainers) {
		for _, p := range c.Ports {
			if cmp.Or(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
				named[p.Name] = append(named[p.Name], p.ContainerPort)
			}
		}
	}
	return named
}

// servicePorts returns the clients' port, followed by the additional ports of base. It leaves out ports that lead to
// the RPC port or the block manager.
func (d *draft) servicePorts(base []corev1.ServicePort) []corev1.ServicePort {
	p := d.ports[len(d.ports)-1]
	mine := corev1.ServicePort{
		Name: p.name, Protocol: corev1.ProtocolTCP, AppProtocol: new(p.protocol), Port: p.service, TargetPort: intstr.FromInt32(p.number),
	}

	var further []corev1.ServicePort
	for _, b := range base {
		switch {
		case replacesPort(b, mine):
			mine.NodePort = cmp.Or(mine.NodePort, b.NodePort)
			mine.AppProtocol = cmp.Or(b.AppProtocol, mine.AppProtocol)
			continue
		case d.isExecutorPort(b):
			continue
		}

		more := *b.DeepCopy()

		more.Protocol = cmp.Or(more.Protocol, corev1.ProtocolTCP)
		if more.Name == "" {
			more.Name = fmt.Sprintf("%s-%d", strings.ToLower(string(more.Protocol)), more.Port)
		}

		if more.TargetPort == (intstr.IntOrString{}) {
			more.TargetPort = intstr.FromInt32(more.Port) // the API server's default
		}

		further = append(further, more)
	}
	return append([]corev1.ServicePort{mine}, further...)
}

// UIService returns the Service of the server's web UI. It has the given name and is reachable only inside the cluster.
// It is separate from Service so that the web UI and the clients' port can be exposed independently. The error is a
// *submit.Error.
func UIService(r Request, name string) (*corev1.Service, error) {
	d, err := newDraft(r)
	if err != nil {
		return nil, err
	}

	p := uiPort(d.ports)
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.Namespace, OwnerReferences: submit.Owners(r.Owner), Labels: merged(r.ObjectLabels),
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: merged(r.Selector, map[string]string{submit.RoleLabel: RoleServer}),
			Ports: []corev1.ServicePort{{
				Name: p.name, Protocol: corev1.ProtocolTCP, AppProtocol: new(p.protocol), Port: p.service, TargetPort: intstr.FromInt32(p.number),
			}},
		},
	}, nil
}
