package submit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// networkPolicyStep makes executors reachable only from pods of their own application (NetworkPolicyFeatureStep, 4.2),
// and from everywhere on the ports that the Request opens. Spark sets the application's selector label on the policy
// itself too; this policy is found by its owner instead.
func networkPolicyStep(d *draft) error {
	if d.q.networkPolicy {
		own := map[string]string{SelectorLabel: d.r.AppID}
		d.add(d.executorPolicy("-policy", map[string]string{RoleLabel: RoleExecutor, SelectorLabel: d.r.AppID}, own))
	}
	return nil
}

// executorPolicy returns a policy that closes executors to all pods but the application's own, except on the open
// ports.
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

// runnerPolicy returns a second policy, which opens the Request's ports beside the policy that spark-submit creates.
// Nobody can change that policy before it exists, and if several policies select a pod, Kubernetes allows what any of
// them allows.
//
// The second policy also admits the application's own pods. An image with an older Spark than declared creates no
// policy, and the second policy alone would then isolate executors from each other. It selects the pods by the
// Request's labels. Without labels, the application's pods are unknown and there is no second policy.
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
