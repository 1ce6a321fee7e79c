package connect

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/fence"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// executorBlockKey is the key of the port on which executors listen for block transfers. On the server, the key for the
// port of the driver's block manager overrides executorBlockKey.
const executorBlockKey = "spark.blockManager.port"

// Policy returns the NetworkPolicy of a server and its executors. The RPC port and the block managers are reachable
// only from pods of the same server. All other ports (for clients and the web UI, and ports that the templates add) are
// reachable from anywhere or, if namespaceOnly is true, from all pods of the namespace. If executors use a random port
// for block transfers, that port stays open. The error is a *submit.Error.
func Policy(r Request, namespaceOnly bool) (*networkingv1.NetworkPolicy, error) {
	d, err := newDraft(r)
	if err != nil {
		return nil, err
	}

	blocks, err := d.conf.Int(executorBlockKey, BlockManagerPort)
	if err != nil {
		return nil, submit.AsError(err)
	}

	closed := []int32{}
	for _, p := range d.ports[:innerPorts] {
		closed = append(closed, p.number)
	}

	if used := clientPorts(d.ports); blocks > 0 && blocks <= 65535 && int32(blocks) != used[0] && int32(blocks) != used[1] {
		closed = append(closed, int32(blocks))
	}

	others := networkingv1.NetworkPolicyIngressRule{Ports: fence.PortsExcept(closed, clientPorts(d.ports))}
	if namespaceOnly {
		others.From = []networkingv1.NetworkPolicyPeer{fence.From(nil)}
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ServerName(r.Name), Namespace: r.Namespace, OwnerReferences: submit.Owners(r.Owner), Labels: merged(r.ObjectLabels),
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: merged(r.Selector)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{fence.From(merged(r.Selector))}}, others},
		},
	}, nil
}

// clientPorts returns the server's ports for the web UI and for clients: all ports except those that only executors
// use.
func clientPorts(ports []port) []int32 {
	return []int32{uiPort(ports).number, serverPort(ports)}
}
