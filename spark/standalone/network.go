package standalone

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/fence"
)

// The values of Request.Submitters. They select the pods of the cluster's namespace that may send applications to a
// master, in addition to the cluster's own pods. An additional NetworkPolicy can admit other pods.
const (
	// SubmitterDrivers selects the pods with the label spark-role=driver. These pods reach the workers too.
	SubmitterDrivers = "Drivers"
	// SubmitterNamespace selects all pods of the cluster's namespace.
	SubmitterNamespace = "Namespace"
	// SubmitterAnyone selects all pods of all namespaces, and all other clients that reach the master's pod. The master
	// then has no policy.
	SubmitterAnyone = "Anyone"
)

// policy builds the workers' NetworkPolicy. The policy admits the cluster's pods, because the master requests
// executors, and the executors of other workers fetch shuffled data. The policy also admits drivers, because they fetch
// results. Every network plugin admits the kubelet's probes.
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

// masterPolicy builds the master's NetworkPolicy. A client that sends an application to the master runs code on the
// workers, so the master's port is open only to the cluster and the Submitters. The port of the REST API is open to the
// Submitters only if the configuration enables the API explicitly, because from Spark 4.0 on the API is enabled by
// default, without authentication. All other ports stay open: ports for the web UI and for metrics, and ports that the
// template adds.
func (d *draft) masterPolicy(o *Objects) {
	var submitters networkingv1.NetworkPolicyPeer
	switch d.r.Submitters {
	case SubmitterAnyone:
		return
	case SubmitterNamespace:
		submitters = fence.From(nil)
	default:
		submitters = fence.From(map[string]string{LabelRole: roleDriver})
	}

	web, rest := d.number(masterUIKey, masterUIPort), d.number(restKey, restPort)

	open := []int32{masterPort}
	if on, set := d.conf.Get(restEnabledKey); set && strings.EqualFold(strings.TrimSpace(on), "true") {
		open = append(open, rest)
	}

	o.MasterPolicy = &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: d.meta(StatefulSetName(d.r.Name, RoleMaster), "", Metadata{}),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: d.selector(RoleMaster)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: []networkingv1.NetworkPolicyPeer{fence.From(map[string]string{LabelClusterName: d.r.Name})}},
				{From: []networkingv1.NetworkPolicyPeer{submitters}, Ports: fence.Ports(open...)},
				{Ports: fence.PortsExcept([]int32{masterPort, rest}, []int32{web})},
			},
		},
	}
}

// number returns the port that key sets for the master, or else the default port. It adds no warning about an invalid
// port, because the draft's method daemon adds that warning.
func (d *draft) number(key string, number int32) int32 {
	silent := &draft{conf: d.conf}
	return silent.port("", key, number).number
}
