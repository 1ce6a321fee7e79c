package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/local/internal/image"
)

const (
	kubeletPort = 10250
	proxyPort   = 10256
	dnsPort     = 8181
)

// writeNodeFiles writes the configuration of the node's components below node/etc.
func (s *Spec) writeNodeFiles() error {
	for name, text := range map[string]string{
		"containerd.toml":      s.containerdConfig(),
		"net/10-pods.conflist": s.networkConfig(),
		"kubelet.yaml":         s.kubeletConfig(),
		"Corefile":             s.corefile(),
		"resolv.conf":          "nameserver " + gateway + "\n",
	} {
		path := s.path("node", "etc", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write the node's configuration: %w", err)
		}

		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the node's configuration: %w", err)
		}
	}
	return nil
}

// containerdConfig returns containerd's configuration in the format that the installed version reads. containerd 1.6
// and 1.7 read format 2. From 2.0 on, containerd reads format 3, in which the CRI plugin is split into two plugins. The
// state directory is below /run, which is private to the cluster in its mount namespace. At each pull, containerd reads
// the address of the registry from node/etc/registries.
func (s *Spec) containerdConfig() string {
	head := fmt.Sprintf("root = %q\nstate = \"/run/containerd\"\n[grpc]\n  address = %q\n", s.path("node", "containerd"), s.Node.containerdSocket())
	if s.Node.ContainerdMajor < 2 {
		return "version = 2\n" + head + fmt.Sprintf(`[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = %q
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, image.PauseTag, s.path("node", "etc", "registries"), s.Node.CNIBin, s.path("node", "etc", "net"))
	}
	// From 2.1 on, containerd accepts several plugin directories and deprecates the single one.
	bin := fmt.Sprintf("bin_dirs = [%q]", s.Node.CNIBin)
	if s.Node.ContainerdMajor == 2 && s.Node.ContainerdMinor == 0 {
		bin = fmt.Sprintf("bin_dir = %q", s.Node.CNIBin)
	}
	return "version = 3\n" + head + fmt.Sprintf(`[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %q
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = %q
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    %s
    conf_dir = %q
`, image.PauseTag, s.path("node", "etc", "registries"), bin, s.path("node", "etc", "net"))
}

// networkConfig returns the CNI configuration. It uses the ptp plugin, which gives every pod its own routed link. A
// bridge would not work on every machine, because packets between ports of a bridge bypass the service rules unless the
// kernel has br_netfilter.
func (s *Spec) networkConfig() string {
	return fmt.Sprintf(`{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "/var/lib/cni/addresses",
        "ranges": [[{"subnet": %q, "gateway": %q}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}, "snat": true}
  ]
}
`, podRange, gateway)
}

// kubeletConfig returns the kubelet's configuration. Image garbage collection is off, because the cluster could not
// pull a deleted image again. Eviction starts only when little disk space is free, because the disk also holds the
// user's other files, which the cluster cannot free.
func (s *Spec) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://%s
cgroupDriver: cgroupfs
cgroupRoot: /%s
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %q}
authorization: {mode: Webhook}
tlsCertFile: %q
tlsPrivateKeyFile: %q
address: 0.0.0.0
port: %d
readOnlyPort: 0
healthzPort: 0
clusterDNS: [%s]
clusterDomain: cluster.local
resolvConf: %q
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
serializeImagePulls: false
maxPods: 500
`, s.Node.containerdSocket(), s.Node.Cgroup, s.pki(clusterCA+".crt"), s.pki("kubelet.crt"), s.pki("kubelet.key"), kubeletPort, gateway,
		s.path("node", "etc", "resolv.conf"))
}

// corefile returns CoreDNS's configuration. CoreDNS resolves only the cluster's names, because the cluster cannot reach
// other networks.
func (s *Spec) corefile() string {
	return fmt.Sprintf(`.:53 {
    bind %s
    ready %s:%d
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig %s sparklocal
    }
}
`, gateway, s.host(), dnsPort, quoteCaddy(s.pki("coredns.kubeconfig")))
}

// quoteCaddy returns a word for a Corefile. It quotes a word that contains blanks, quotes or braces, which would
// otherwise end the word.
func quoteCaddy(word string) string {
	if !strings.ContainsAny(word, " \t\"{}") {
		return word
	}
	return strconv.Quote(word)
}
