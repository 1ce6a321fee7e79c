package submit

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// networkPolicyStep lets executors be reached from pods of their own application only (NetworkPolicyFeatureStep, 4.2). Spark labels the
// policy itself as the application's too; ours is found by its owner.
func networkPolicyStep(d *draft) error {
	if !d.q.networkPolicy {
		return nil
	}
	d.add(&networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: d.meta(bounded("", d.r.ResourceNamePrefix, "-policy")),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{RoleLabel: RoleExecutor, SelectorLabel: d.r.AppID}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
				PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{SelectorLabel: d.r.AppID}},
			}}}},
		},
	})
	return nil
}
