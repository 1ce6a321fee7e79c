package steps

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

// networkPolicyStep adds a policy that lets only pods of the same application connect to its executors
// (NetworkPolicyFeatureStep, Spark 4.2). On Request.ExecutorPorts, the policy admits all clients. Spark also sets the
// label spark-app-selector on its policy. This policy does not need the label, because it has an owner reference.
func networkPolicyStep(d *draft.Draft) error {
	if d.Line.NetworkPolicy {
		own := map[string]string{submit.SelectorLabel: d.Request.AppID}
		d.Add(ExecutorPolicy(d, "-policy", map[string]string{submit.RoleLabel: submit.RoleExecutor, submit.SelectorLabel: d.Request.AppID}, own))
	}
	return nil
}

// ExecutorPolicy returns a policy that admits all clients to the executors on Request.ExecutorPorts, and only the
// application's own pods on all other ports.
func ExecutorPolicy(d *draft.Draft, suffix string, executors, own map[string]string) *networkingv1.NetworkPolicy {
	rules := []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
		PodSelector: &metav1.LabelSelector{MatchLabels: own},
	}}}}
	if len(d.Request.ExecutorPorts) > 0 {
		var open networkingv1.NetworkPolicyIngressRule
		for _, port := range d.Request.ExecutorPorts {
			open.Ports = append(open.Ports, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))})
		}

		rules = append(rules, open)
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: d.Meta(names.Bounded("", d.Request.ResourceNamePrefix, suffix)),
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: executors}, Ingress: rules},
	}
}
