package standalone

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// services builds both Services. The master's Service publishes the master's address before the master is ready.
// Otherwise workers that start at the same time would fail to resolve the Service's name, and after a restart of the
// master they would retry too rarely.
func (d *draft) services(o *Objects) (err error) {
	o.MasterService, err = d.service(o, RoleMaster, fieldMasterService, d.r.Master, []corev1.ServicePort{
		servicePort(portWeb, masterUIPort), servicePort(portSpark, masterPort), servicePort(portREST, restPort),
	})
	if err != nil {
		return err
	}

	o.MasterService.Spec.PublishNotReadyAddresses = true
	o.WorkerService, err = d.service(o, RoleWorker, fieldWorkerService, d.r.Workers, []corev1.ServicePort{servicePort(portWeb, workerUIPort)})
	return err
}

// servicePort returns a Service's port. The Service's port refers to the daemon's port by name, because the
// configuration may change the number of the daemon's port.
func servicePort(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString(name)}
}

// service builds a role's Service from the user's template.
func (d *draft) service(o *Objects, role, field string, user Member, ports []corev1.ServicePort) (*corev1.Service, error) {
	spec, extra, err := podtemplate.As[corev1.ServiceSpec](user.Service)
	if err != nil {
		return nil, fieldError(field, "%v", err)
	}

	if spec.Type != "" && spec.Type != corev1.ServiceTypeClusterIP {
		return nil, fieldError(field+".type", "%s is not possible: the Service is headless, because its name must resolve to the pod's address; create another Service that selects %s=%s and %s=%s",
			spec.Type, LabelClusterName, d.r.Name, LabelRole, role)
	}

	if len(spec.ExternalIPs) > 0 {
		return nil, fieldError(field+".externalIPs", "is not allowed: an external IP takes over traffic to addresses that are not the Service's own; remove the field")
	}

	if spec.ExternalName != "" {
		return nil, fieldError(field+".externalName", "is not allowed: the Service is headless and leads to the %s's pods; remove the field", role)
	}

	if spec.ClusterIP != "" && spec.ClusterIP != corev1.ClusterIPNone {
		d.warns.OfField(field, "clusterIP has no effect: the Service is headless")
	}

	spec.Type, spec.ClusterIP, spec.ClusterIPs = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone, nil
	if spec.Selector == nil {
		spec.Selector = map[string]string{}
	}

	maps.Copy(spec.Selector, d.selector(role))
	spec.Ports = withPorts(spec.Ports, ports)
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: d.meta(serviceName(d.r.Name, role), role, user.ServiceMeta),
		Spec:       *spec,
	}
	o.keep(service, extra)
	return service, nil
}

// withPorts returns the user's ports followed by the daemon's ports. A user's port replaces a daemon's port with the
// same name or number. A user's port without a name gets a name, because a Service with several ports needs names.
func withPorts(users, daemons []corev1.ServicePort) []corev1.ServicePort {
	all := slices.Clone(users)
	for i := range all {
		p := &all[i]

		p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
		if p.Name == "" {
			p.Name = fmt.Sprintf("%s-%d", strings.ToLower(string(p.Protocol)), p.Port)
		}
	}

	for _, mine := range daemons {
		if !slices.ContainsFunc(all, func(p corev1.ServicePort) bool {
			return p.Name == mine.Name || p.Port == mine.Port && p.Protocol == mine.Protocol
		}) {
			all = append(all, mine)
		}
	}
	return all
}
