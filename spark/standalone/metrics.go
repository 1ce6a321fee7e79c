package standalone

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/fence"
)

// The fields of Request.Metrics.
const (
	fieldMetricsPort = "Metrics.Port"
	fieldMetricsFrom = "Metrics.From"
)

// workerPorts lists the ports at which Spark itself listens in the pods of workers. A visitor of the web UI may end
// executors, and the other ports belong to protocols that trust their clients unless the configuration sets a secret.
// Ports that the configuration does not fix are left out: Spark chooses them from thousands.
var workerPorts = []struct {
	what string
	// key is the configuration key, and env the variable of the container, that sets the port. The fallback applies if
	// neither does; 0 means that Spark chooses a port.
	key, env string
	fallback int32
	// several is true if each executor in the pod has such a port. Spark then tries the next numbers too.
	several bool
}{
	{what: "worker's web UI", key: workerUIKey, fallback: workerUIPort},
	{what: "worker", env: "SPARK_WORKER_PORT"},
	{what: "shuffle service", key: "spark.shuffle.service.port", fallback: 7337},
	{what: "executors' block managers", key: "spark.blockManager.port", several: true},
}

// defaultRetries is Spark's default number of further ports that it tries (spark.port.maxRetries).
const defaultRetries = 16

// openMetrics adds a rule to the workers' NetworkPolicy that lets the clients of Request.Metrics connect to their port.
func (d *draft) openMetrics(o *Objects) error {
	m := d.r.Metrics
	if m.Port == 0 && len(m.From) == 0 {
		return nil
	}

	if m.Port < 1 || m.Port > 65535 {
		return fieldError(fieldMetricsPort, "%d is not a port; use a number from 1 to 65535", m.Port)
	}

	for _, p := range workerPorts {
		first, set := d.fixedPort(o, p.key, p.env, p.fallback)

		last := first
		if p.several {
			last += d.retries()
		}

		if set && m.Port >= first && m.Port <= last {
			return fieldError(fieldMetricsPort, "%d is a port of the %s, which must not be open to other clients; use the port of a metrics exporter in the workers' pods, "+
				"or admit the clients by a NetworkPolicy of your own", m.Port, p.what)
		}
	}

	for i := range m.From {
		if err := checkPeer(&m.From[i]); err != nil {
			return fieldError(fmt.Sprintf("%s[%d]", fieldMetricsFrom, i), "%v", err)
		}
	}

	if len(m.From) > 0 {
		o.Policy.Spec.Ingress = append(o.Policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: m.From, Ports: fence.Ports(int32(m.Port))})
	}
	return nil
}

// fixedPort returns the port of a worker that a key of the configuration or a variable of the worker's container sets,
// or else the fallback. The second result is false if Spark chooses the port.
func (d *draft) fixedPort(o *Objects, key, env string, fallback int32) (int64, bool) {
	text, _ := d.conf.Get(key)
	if env != "" {
		for _, c := range o.Workers.Spec.Template.Spec.Containers {
			if e := envOf(&c, env); e != nil && c.Name == RoleWorker {
				text = e.Value
			}
		}
	}

	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16); err == nil && n > 0 {
		return int64(n), true
	}
	return int64(fallback), fallback > 0 && text == ""
}

// retries returns how many ports after a fixed port Spark tries.
func (d *draft) retries() int64 {
	text, _ := d.conf.Get("spark.port.maxRetries")
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16); err == nil {
		return int64(n)
	}
	return defaultRetries
}

// checkPeer returns an error for a peer that the API server would refuse.
func checkPeer(peer *networkingv1.NetworkPolicyPeer) error {
	for _, selector := range []*metav1.LabelSelector{peer.PodSelector, peer.NamespaceSelector} {
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			return err
		}
	}

	selects := peer.PodSelector != nil || peer.NamespaceSelector != nil
	switch {
	case peer.IPBlock == nil && !selects:
		return fmt.Errorf("selects nothing; set podSelector, namespaceSelector or ipBlock")
	case peer.IPBlock == nil:
		return nil
	case selects:
		return fmt.Errorf("has an ipBlock and a selector; use a peer for each of them")
	}

	block, err := netip.ParsePrefix(peer.IPBlock.CIDR)
	if err != nil {
		return fmt.Errorf("ipBlock.cidr is not a block of addresses such as 10.0.0.0/8: %w", err)
	}

	for _, text := range peer.IPBlock.Except {
		if except, err := netip.ParsePrefix(text); err != nil || !block.Contains(except.Addr()) || except.Bits() <= block.Bits() {
			return fmt.Errorf("ipBlock.except: %q is not a smaller block within %s", text, block)
		}
	}
	return nil
}
