package submit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// networkPolicyStep adds a policy that lets only pods of the same application connect to its executors
// (NetworkPolicyFeatureStep, Spark 4.2). On Request.ExecutorPorts, the policy admits all clients. Spark also sets the
// label spark-app-selector on its policy. This policy does not need the label, because it has an owner reference.
func networkPolicyStep(d *draft) error {
	if d.q.networkPolicy {
		own := map[string]string{SelectorLabel: d.r.AppID}
		d.add(d.executorPolicy("-policy", map[string]string{RoleLabel: RoleExecutor, SelectorLabel: d.r.AppID}, own))
	}
	return nil
}

// executorPolicy returns a policy that admits all clients to the executors on Request.ExecutorPorts, and only the
// application's own pods on all other ports.
func (d *draft) executorPolicy(suffix string, executors, own map[string]string) *networkingv1.NetworkPolicy {
	rules := []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
		PodSelector: &metav1.LabelSelector{MatchLabels: own},
	}}}}
	if len(d.r.ExecutorPorts) > 0 {
		var open networkingv1.NetworkPolicyIngressRule
		for _, port := range d.r.ExecutorPorts {
			open.Ports = append(open.Ports, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))})
		}
		rules = append(rules, open)
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: d.meta(bounded("", d.r.ResourceNamePrefix, suffix)),
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: executors}, Ingress: rules},
	}
}

// runnerPolicy returns a policy that opens the Request's ports in addition to the policy that spark-submit creates. The
// operator cannot add the ports to spark-submit's policy before that policy exists. Two policies work, because
// Kubernetes allows connections that any of a pod's policies allows.
//
// This second policy also admits the application's own pods, because it may be the only policy. If the image contains
// an older Spark than the Request declares, spark-submit creates no policy. A policy that opens only the ports would
// then isolate the executors from each other. The second policy selects the pods by the Request's labels. If the
// Request has no labels, the application's pods are unknown, so runnerPolicy returns nil.
func (d *draft) runnerPolicy() (*networkingv1.NetworkPolicy, error) {
	if !d.q.networkPolicy || len(d.r.ExecutorPorts) == 0 || len(d.r.Labels) == 0 {
		return nil, nil
	}
	excluded, err := d.excludedSteps()
	if err != nil || slices.Contains(excluded, "NetworkPolicyFeatureStep") {
		return nil, err
	}
	executors := maps.Clone(d.r.Labels)
	executors[RoleLabel] = RoleExecutor
	return d.executorPolicy("-ports", executors, maps.Clone(d.r.Labels)), nil
}
