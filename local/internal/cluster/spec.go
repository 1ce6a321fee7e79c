// Package cluster knows which programs make a cluster, with which flags and files, and in which order they start and end.
package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sparkoperator/spark-operator/local/internal/proc"
	"github.com/sparkoperator/spark-operator/local/internal/registry"
)

// Addresses inside a cluster. They are the same in every cluster, since each has its own network namespace.
const (
	// gateway is the node's address for its pods. The API server is advertised under it, since pods reach nothing else of the node.
	gateway = "10.88.0.1"
	// podRange is where pod addresses come from.
	podRange = "10.88.0.0/16"
	// serviceRange is where service addresses come from, and apiService the first of it, which is the API server's own.
	serviceRange = "10.96.0.0/16"
	apiService   = "10.96.0.1"
	// NodeName is the one node's name.
	NodeName = "sparklocal"
	// DefaultStorageClass is the StorageClass of a cluster with a node.
	DefaultStorageClass = "standard"
)

// Spec is everything that the supervisor of a cluster is told, in the file cluster.json of the cluster's directory.
type Spec struct {
	// ID is the cluster's short name (registry.ID of Dir).
	ID string `json:"id"`
	// Dir is the cluster's state directory, absolute.
	Dir string `json:"dir"`
	// Kube and CoreDNS are the paths of the built programs; CoreDNS only with a node.
	Kube    string `json:"kube"`
	CoreDNS string `json:"coredns,omitempty"`
	// Scheduler asks for a kube-scheduler; a cluster with a node always has one.
	Scheduler bool `json:"scheduler,omitempty"`
	// Audit asks for audit.log.
	Audit bool `json:"audit,omitempty"`
	// AuditBodies asks for the bodies of users' writes in it; only with Audit.
	AuditBodies bool `json:"auditBodies,omitempty"`
	// Owner is the process whose end ends the cluster; zero: none.
	Owner proc.ID `json:"owner"`
	// Boot is the machine's run in which the cluster was started last.
	Boot string `json:"boot"`
	// Ports are the components' ports.
	Ports Ports `json:"ports"`
	// Node is nil for a control plane alone.
	Node *Node `json:"node,omitempty"`
}

// Ports are the ports that the control plane listens on.
type Ports struct {
	API         int `json:"api"`
	Etcd        int `json:"etcd"`
	EtcdPeer    int `json:"etcdPeer"`
	Controllers int `json:"controllers"`
	Scheduler   int `json:"scheduler"`
}

// portCount is how many ports a control plane takes, in the order of portsFrom.
const portCount = 5

func portsFrom(p []int) Ports {
	return Ports{API: p[0], Etcd: p[1], EtcdPeer: p[2], Controllers: p[3], Scheduler: p[4]}
}

// nodePorts are the ports inside a cluster's own network, where nothing else listens: the usual ones.
var nodePorts = Ports{API: 6443, Etcd: 2379, EtcdPeer: 2380, Controllers: 10257, Scheduler: 10259}

// Node is what a cluster with a node has besides.
type Node struct {
	registry.Node
	// PauseTar is the image that holds a pod's namespaces, as a tar to load.
	PauseTar string `json:"pauseTar"`
	// ContainerdMajor and ContainerdMinor are the installed containerd's version, which decides its configuration's form.
	ContainerdMajor int `json:"containerdMajor"`
	ContainerdMinor int `json:"containerdMinor"`
	// CNIBin is the directory of the network plugins.
	CNIBin string `json:"cniBin"`
}

// link is the cluster's /30.
func (n *Node) link() registry.Link { return registry.LinkAt(n.Index) }

// containerdSocket is the address of the cluster's own containerd, inside its mounts and outside.
func (n *Node) containerdSocket() string { return filepath.Join(n.Run, "containerd.sock") }

// host is the address that the control plane listens on and that the kubeconfig names.
func (s *Spec) host() string {
	if s.Node == nil {
		return "127.0.0.1"
	}
	return s.Node.link().Node.Addr().String()
}

// advertised is the address that the API server tells the cluster.
func (s *Spec) advertised() string {
	if s.Node == nil {
		return s.host()
	}
	return gateway
}

// endpoint is an https address of a component.
func (s *Spec) endpoint(port int) string {
	return "https://" + net.JoinHostPort(s.host(), strconv.Itoa(port))
}

func (s *Spec) path(elem ...string) string {
	return filepath.Join(append([]string{s.Dir}, elem...)...)
}

func (s *Spec) pki(file string) string { return s.path("pki", file) }

// Kubeconfig is the path of a cluster's administrator configuration.
func Kubeconfig(dir string) string { return filepath.Join(dir, "kubeconfig") }

func specFile(dir string) string { return filepath.Join(dir, "cluster.json") }

// ReadSpec returns the spec of the cluster in a directory, nil when there is none.
func ReadSpec(dir string) (*Spec, error) {
	b, err := os.ReadFile(specFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	var s Spec
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("cluster: %s: %w: remove the file to start anew", specFile(dir), err)
	}
	return &s, nil
}

func (s *Spec) write() error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := os.WriteFile(specFile(s.Dir), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}
