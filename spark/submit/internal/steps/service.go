package steps

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
)

const servicePrefix = "spark.kubernetes.driver.service."

// serviceStep adds the headless Service through which executors reach the driver (DriverServiceFeatureStep).
func serviceStep(d *draft.Draft) error {
	name := submit.ServiceName(d.Request.ResourceNamePrefix, d.Request.AppID)

	ports, err := servicePorts(d)
	if err != nil {
		return err
	}

	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: d.Meta(name),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector:  maps.Clone(d.Labels),
			Ports:     ports,
		},
	}
	if err := serviceMeta(d, &s.ObjectMeta); err != nil {
		return err
	}

	if err := serviceFamilies(d, &s.Spec); err != nil {
		return err
	}

	if s.Spec.PublishNotReadyAddresses, err = d.Conf.Bool(servicePrefix+"publishNotReadyAddresses", false); err != nil {
		return err
	}

	if !d.Line.PublishNotReady {
		s.Spec.PublishNotReadyAddresses = false
	}

	d.Add(s)
	d.Props.Set("spark.driver.host", name+"."+d.Request.Namespace+".svc")
	d.Props.Set("spark.driver.port", strconv.Itoa(int(ports[0].Port)))
	d.Props.Set("spark.driver.blockManager.port", strconv.Itoa(int(ports[1].Port)))
	return nil
}

// servicePorts returns the ports of the Service. They are read from the same keys as the container's ports, except for
// spark.blockManager.port, which no Spark line reads for the Service.
func servicePorts(d *draft.Draft) ([]corev1.ServicePort, error) {
	list := []struct {
		name string
		def  int
		key  string
	}{
		{driverPortName, DriverPort, "spark.driver.port"},
		{BlockManagerPortName, BlockManagerPort, "spark.driver.blockManager.port"},
		{uiPortName, uiPort, "spark.ui.port"},
		{connectPortName, connectPort, "spark.connect.grpc.binding.port"},
	}
	if !d.Line.ConnectPort {
		list = list[:3]
	}

	ports := make([]corev1.ServicePort, len(list))

	taken := map[int32]string{}
	for i, p := range list {
		number, err := port(d, p.def, p.key)
		if err != nil {
			return nil, err
		}

		if other, ok := taken[number]; ok {
			return nil, submit.KeyErrorf(p.key, "is port %d, which %s already uses; set another port", number, other)
		}

		taken[number] = p.key
		ports[i] = corev1.ServicePort{Name: p.name, Port: number, TargetPort: intstr.FromInt32(number)}
	}

	if d.Line.ConnectGRPC {
		ports[3].AppProtocol = new("grpc")
	}
	return ports, nil
}

// serviceMeta sets the Service's labels and annotations. They include the label by which a stopping driver deletes the
// Service. Spark lets users change that label; this step rejects such a change, because a Service with the ID of
// another application would be deleted when that application stops.
func serviceMeta(d *draft.Draft, m *metav1.ObjectMeta) error {
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}

	m.Labels[submit.SelectorLabel] = d.Request.AppID
	for key, value := range d.Conf.WithPrefix(servicePrefix + "label.") {
		if err := draft.CheckLabel(key, value); err != nil {
			return submit.KeyErrorf(servicePrefix+"label."+key, "%v", err)
		}

		if _, ours := d.Request.Labels[key]; !ours {
			m.Labels[key] = value
		}
	}

	for key, value := range d.Conf.WithPrefix(servicePrefix + "annotation.") {
		if errs := validation.IsQualifiedName(strings.ToLower(key)); len(errs) > 0 {
			return submit.KeyErrorf(servicePrefix+"annotation."+key, "%q is not a valid annotation name: %s", key, errs[0])
		}

		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}

		m.Annotations[key] = value
	}
	return nil
}

func serviceFamilies(d *draft.Draft, spec *corev1.ServiceSpec) error {
	const policyKey, familiesKey = servicePrefix + "ipFamilyPolicy", servicePrefix + "ipFamilies"

	policy, err := d.Conf.String(policyKey, string(corev1.IPFamilyPolicySingleStack))
	if err != nil {
		return err
	}

	switch spec.IPFamilyPolicy = new(corev1.IPFamilyPolicy(policy)); *spec.IPFamilyPolicy {
	case corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack:
	default:
		return submit.KeyErrorf(policyKey, "should be SingleStack, PreferDualStack or RequireDualStack, but is %s", d.Conf.Quote(policyKey, policy))
	}

	families, err := d.Conf.List(familiesKey, []string{string(corev1.IPv4Protocol)})
	if err != nil {
		return err
	}

	for _, family := range families {
		switch f := corev1.IPFamily(family); f {
		case corev1.IPv4Protocol, corev1.IPv6Protocol:
			spec.IPFamilies = append(spec.IPFamilies, f)
		default:
			return submit.KeyErrorf(familiesKey, "should list IPv4, IPv6 or both, but contains %s", d.Conf.Quote(familiesKey, family))
		}
	}
	return nil
}
