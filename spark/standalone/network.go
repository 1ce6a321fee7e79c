package standalone

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policy makes the workers' NetworkPolicy. Who reaches them: the master, which asks for executors; other workers, whose executors fetch what was shuffled; and drivers,
// which fetch results. The kubelet's probes are let through by every network.
func (d *draft) policy(o *Objects) {
	from := func(labels map[string]string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}
	}
	o.Policy = &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: d.meta(StatefulSetName(d.r.Name, RoleWorker), "", Metadata{}),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: d.selector(RoleWorker)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{
				from(map[string]string{LabelClusterName: d.r.Name}), from(map[string]string{LabelRole: roleDriver}),
			}}},
		},
	}
}
