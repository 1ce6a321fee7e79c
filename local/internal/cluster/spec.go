// Package cluster defines the programs of a cluster with their flags and files, and the order in which the programs
// start and end.
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

// Addresses inside a cluster. They are the same in all clusters, which is possible because each cluster has its own
// network namespace.
const (
	// gateway is the node's address for its pods. The API server advertises it, because pods reach no other address of
	// the node.
	gateway = "10.88.0.1"
	// podRange contains the addresses of pods.
	podRange = "10.88.0.0/16"
	// serviceRange contains the addresses of Services. apiService is the first of these addresses, which belongs to the
	// API server.
	serviceRange = "10.96.0.0/16"
	apiService   = "10.96.0.1"
	// NodeName is the name of the only node.
	NodeName = "sparklocal"
	// DefaultStorageClass is the StorageClass of a cluster with a node.
	DefaultStorageClass = "standard"
)

// Spec is the input of a cluster's supervisor. It is stored in the file cluster.json in the cluster's directory.
type Spec struct {
	// ID is the cluster's short name (registry.ID of Dir).
	ID string `json:"id"`
	// Dir is the absolute path of the cluster's state directory.
	Dir string `json:"dir"`
	// Kube and CoreDNS are the paths of the built programs. CoreDNS is set only with a node.
	Kube    string `json:"kube"`
	CoreDNS string `json:"coredns,omitempty"`
	// Oldest is true if Kube is the oldest supported Kubernetes release.
	Oldest bool `json:"oldest,omitempty"`
	// Scheduler adds a kube-scheduler to a control plane without a node. A cluster with a node always has a
	// kube-scheduler.
	Scheduler bool `json:"scheduler,omitempty"`
	// Audit enables audit.log.
	Audit bool `json:"audit,omitempty"`
	// AuditBodies adds the bodies of users' writes to audit.log. It has an effect only with Audit.
	AuditBodies bool `json:"auditBodies,omitempty"`
	// Owner is a process. When it ends, the cluster ends too. The zero value means that the cluster has no owner.
	Owner proc.ID `json:"owner"`
	// Boot identifies the boot of the machine in which the cluster was last started (proc.BootID).
	Boot string `json:"boot"`
	// Ports are the components' ports.
	Ports Ports `json:"ports"`
	// Node is nil for a control plane without a node.
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

// portCount is the number of ports of a control plane. portsFrom defines their order.
const portCount = 5

func portsFrom(p []int) Ports {
	return Ports{API: p[0], Etcd: p[1], EtcdPeer: p[2], Controllers: p[3], Scheduler: p[4]}
}

// nodePorts are Kubernetes' usual ports. In a cluster with a node they are always free, because such a cluster has its
// own network namespace, in which no other program runs.
var nodePorts = Ports{API: 6443, Etcd: 2379, EtcdPeer: 2380, Controllers: 10257, Scheduler: 10259}

// Node holds the settings that only a cluster with a node has.
type Node struct {
	registry.Node
	// PauseTar is the path of the pause image, whose program holds the namespaces of a pod.
	PauseTar string `json:"pauseTar"`
	// ContainerdMajor and ContainerdMinor are the version of the installed containerd. The version determines the
	// format of containerd's configuration.
	ContainerdMajor int `json:"containerdMajor"`
	ContainerdMinor int `json:"containerdMinor"`
	// CPUs is the number of allocatable CPUs if it is not that of the machine. Otherwise it is 0.
	CPUs int `json:"cpus,omitempty"`
	// CNIBin is the directory of the network plugins.
	CNIBin string `json:"cniBin"`
}

// link returns the /30 network between the host and the cluster.
func (n *Node) link() registry.Link { return registry.LinkAt(n.Index) }

// containerdSocket returns the path of the socket of the cluster's own containerd. The path is the same inside and
// outside the cluster's mount namespace.
func (n *Node) containerdSocket() string { return filepath.Join(n.Run, "containerd.sock") }

// host returns the address on which the control plane listens. The kubeconfig contains the same address.
func (s *Spec) host() string {
	if s.Node == nil {
		return "127.0.0.1"
	}
	return s.Node.link().Node.Addr().String()
}

// advertised returns the address under which the API server is reachable inside the cluster.
func (s *Spec) advertised() string {
	if s.Node == nil {
		return s.host()
	}
	return gateway
}

// endpoint returns the HTTPS URL of a component.
func (s *Spec) endpoint(port int) string {
	return "https://" + net.JoinHostPort(s.host(), strconv.Itoa(port))
}

func (s *Spec) path(elem ...string) string {
	return filepath.Join(append([]string{s.Dir}, elem...)...)
}

func (s *Spec) pki(file string) string { return s.path("pki", file) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func Kubeconfig(dir string) string { return filepath.Join(dir, "kubeconfig") }

func specFile(dir string) string { return filepath.Join(dir, "cluster.json") }

// ReadSpec returns the spec of the cluster in a directory, or nil if the directory has none.
func ReadSpec(dir string) (*Spec, error) {
	b, err := os.ReadFile(specFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the cluster's spec: %w", err)
	}

	var s Spec
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("cluster spec %s is not valid JSON: %w: remove the file to start a new cluster", specFile(dir), err)
	}
	return &s, nil
}

func (s *Spec) write() error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the cluster's spec: %w", err)
	}

	if err := os.WriteFile(specFile(s.Dir), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the cluster's spec: %w", err)
	}
	return nil
}
