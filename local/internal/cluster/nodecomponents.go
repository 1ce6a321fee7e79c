package cluster

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/local/internal/kubeapi"
	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

// withNode starts all components of a cluster with a node. It starts the container runtime and the control plane at the
// same time, because the container runtime does not need the control plane.
func (r *runner) withNode(ctx context.Context) error {
	err := concurrently(
		func() error { return r.controlPlane(ctx) },
		func() error {
			if err := r.component(ctx, r.containerd); err != nil {
				return err
			}

			began := time.Now()

			if err := r.Spec.load(ctx, r.Node.PauseTar); err != nil {
				return err
			}

			r.sup.Step("pause image", began)
			return nil
		},
	)
	if err != nil {
		return err
	}

	if err := r.bootstrap(ctx); err != nil {
		return err
	}
	return concurrently(
		func() error { return r.component(ctx, r.kubelet) },
		func() error { return r.component(ctx, r.proxy) },
		func() error { return r.component(ctx, r.coredns) },
		func() error { return r.component(ctx, r.localPath) },
	)
}

func (s *Spec) containerd() (supervise.Component, error) {
	path, err := exec.LookPath("containerd")
	if err != nil {
		return supervise.Component{}, fmt.Errorf("find containerd: %w", err)
	}
	return supervise.Component{
		Name: "containerd", Path: path, Env: s.environment(),
		Args:  []string{"--config", s.path("node", "etc", "containerd.toml"), "--log-level", "info"},
		Ready: listening("unix", s.Node.containerdSocket()),
	}, nil
}

// kubelet returns the kubelet as a component. The kubelet is ready if four conditions are met: its health check
// passes, its Node has the condition Ready in the API server, the Node has no taint of Kubernetes any more, and it has
// the number of CPUs that the user wants. The condition Ready alone is not enough, because after a crash the Node still
// has its old conditions.
func (s *Spec) kubelet() (supervise.Component, error) {
	admin, err := s.Admin()
	if err != nil {
		return supervise.Component{}, err
	}

	healthy, err := s.health(kubeletPort, "/healthz", clusterCA, "kubelet-client")
	if err != nil {
		return supervise.Component{}, err
	}

	ready := func(ctx context.Context) error {
		if err := healthy(ctx); err != nil {
			return err
		}

		var node nodeObject
		if err := admin.Get(ctx, "/api/v1/nodes/"+NodeName, &node); err != nil {
			return err
		}
		return node.ready(s.Node.CPUs)
	}
	return s.kube("kubelet", ready,
		"--config="+s.path("node", "etc", "kubelet.yaml"),
		"--kubeconfig="+s.pki("kubelet.kubeconfig"),
		"--cert-dir="+s.pki("kubelet"),
		"--hostname-override="+NodeName, "--node-ip="+s.host(),
	), nil
}

// nodeObject holds the fields of a Node that sparklocal reads.
type nodeObject struct {
	Spec struct {
		Taints []struct{ Key string }
	}
	Status struct {
		Allocatable struct{ CPU string }
		Conditions  []struct{ Type, Status, Message string }
	}
}

// ready returns an error if the node is not ready. The argument cpus is the number of allocatable CPUs that the node
// must have; 0 means any number.
func (n nodeObject) ready(cpus int) error {
	if err := n.hasCPUs(cpus); err != nil {
		return err
	}

	for _, t := range n.Spec.Taints {
		if strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			return fmt.Errorf("the node has the taint %s", t.Key)
		}
	}

	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return nil
		}

		if c.Type == "Ready" {
			return fmt.Errorf("the node is not ready: %s", c.Message)
		}
	}
	return fmt.Errorf("the node has no Ready condition yet")
}

// hasCPUs returns an error unless the node has the given number of allocatable CPUs; 0 means any number.
func (n nodeObject) hasCPUs(cpus int) error {
	if got := n.Status.Allocatable.CPU; cpus > 0 && got != strconv.Itoa(cpus) {
		return fmt.Errorf("the node has %q allocatable CPUs, not yet %d", got, cpus)
	}
	return nil
}

// plainHealth returns a health check that requests a path on a port without TLS.
func (s *Spec) plainHealth(port int, path string) func(context.Context) error {
	client := kubeapi.New("http://"+net.JoinHostPort(s.host(), strconv.Itoa(port)), nil)
	return func(ctx context.Context) error { return client.Get(ctx, path, nil) }
}

func (s *Spec) proxy() (supervise.Component, error) {
	return s.kube("kube-proxy", s.plainHealth(proxyPort, "/healthz"),
		"--kubeconfig="+s.pki("kube-proxy.kubeconfig"),
		"--proxy-mode=iptables", "--hostname-override="+NodeName, "--cluster-cidr="+podRange,
		// The connection table belongs to the host, so kube-proxy must not change its size or timeouts.
		"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		"--healthz-bind-address="+net.JoinHostPort(s.host(), strconv.Itoa(proxyPort)),
	), nil
}

func (s *Spec) coredns() (supervise.Component, error) {
	return supervise.Component{
		Name: "coredns", Path: s.CoreDNS, Env: s.environment(),
		Args:  []string{"-conf", s.path("node", "etc", "Corefile")},
		Ready: s.plainHealth(dnsPort, "/ready"),
	}, nil
}

func (s *Spec) localPath() (supervise.Component, error) {
	return s.kube("local-path-provisioner", nil,
		"--kubeconfig="+s.pki("local-path.kubeconfig"), "--dir="+s.path("node", "volumes"), "--node="+NodeName,
	), nil
}
