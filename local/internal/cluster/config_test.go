package cluster

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/local/internal/registry"
	"github.com/sparkoperator/spark-operator/local/internal/supervise"
)

func withoutNode() *Spec {
	return &Spec{ID: "1", Dir: "/d", Kube: "/kube",
		Ports: Ports{API: 1, Etcd: 2, EtcdPeer: 3, Controllers: 4, Scheduler: 5}}
}

func withNode(major, minor int) *Spec {
	return &Spec{
		ID: "1", Dir: "/d", Kube: "/kube", CoreDNS: "/coredns", Ports: nodePorts,
		Node: &Node{
			Node: registry.Node{Index: 1, HostLink: "spark1", Cgroup: "sparklocal-1",
				Run: "/run/sparklocal/1"},
			ContainerdMajor: major, ContainerdMinor: minor, CNIBin: "/usr/lib/cni",
		},
	}
}

// render returns the component that the given function renders. It first issues the certificates, because the
// component's health check reads them. In the arguments, it replaces the directory of the cluster by /d.
func render(t *testing.T, s *Spec, component func(*Spec) (supervise.Component, error)) supervise.Component {
	t.Helper()

	s.Dir = t.TempDir()
	if err := s.issue(); err != nil {
		t.Fatal(err)
	}

	c, err := component(s)
	if err != nil {
		t.Fatal(err)
	}

	for i := range c.Args {
		c.Args[i] = strings.ReplaceAll(c.Args[i], s.Dir, "/d")
	}
	return c
}

var components = map[string]func(*Spec) (supervise.Component, error){
	"etcd": (*Spec).etcd, "kube-apiserver": (*Spec).apiserver, "kube-controller-manager": (*Spec).controllerManager,
	"kube-scheduler": (*Spec).scheduler, "kubelet": (*Spec).kubelet, "kube-proxy": (*Spec).proxy,
	"local-path-provisioner": (*Spec).localPath,
}

func TestComponentsListenOnTheirAddresses(t *testing.T) {
	for _, tt := range []struct {
		component string
		spec      *Spec
		want      []string
	}{
		{"etcd", withoutNode(), []string{"--listen-client-urls=https://127.0.0.1:2",
			"--listen-peer-urls=https://127.0.0.1:3"}},
		{"etcd", withNode(1, 6), []string{"--listen-client-urls=https://198.18.0.6:2379"}},
		{"kube-apiserver", withoutNode(), []string{
			"--bind-address=127.0.0.1", "--secure-port=1", "--etcd-servers=https://127.0.0.1:2",
			"--endpoint-reconciler-type=none",
		}},
		{"kube-apiserver", withNode(1, 6),
			[]string{"--bind-address=0.0.0.0", "--advertise-address=10.88.0.1", "--secure-port=6443"}},
		{"kube-controller-manager", withoutNode(), []string{"--bind-address=127.0.0.1", "--secure-port=4"}},
		{"kube-scheduler", withoutNode(), []string{"--bind-address=127.0.0.1", "--secure-port=5"}},
		{"kubelet", withNode(1, 6), []string{"--node-ip=198.18.0.6", "--kubeconfig=/d/pki/kubelet.kubeconfig"}},
		{"kube-proxy", withNode(1, 6), []string{"--cluster-cidr=10.88.0.0/16", "--conntrack-max-per-core=0"}},
		{"local-path-provisioner", withNode(1, 6), []string{"--dir=/d/node/volumes", "--node=sparklocal"}},
	} {
		c := render(t, tt.spec, components[tt.component])
		if c.Name != tt.component {
			t.Errorf("%s is called %s: the binary would run another program", tt.component, c.Name)
		}

		for _, want := range tt.want {
			if !slices.Contains(c.Args, want) {
				t.Errorf("%s has no %s in %q", tt.component, want, c.Args)
			}
		}
	}
}

func TestNoComponentSkipsVerification(t *testing.T) {
	for name, component := range components {
		c := render(t, withNode(1, 6), component)
		for _, arg := range append(c.Args, c.Env...) {
			if strings.Contains(arg, "insecure") || strings.Contains(arg, "http://") ||
				strings.Contains(strings.ToLower(arg), "proxy=") {
				t.Errorf("%s has %s", name, arg)
			}
		}

		if c.Ready == nil && name != "local-path-provisioner" {
			t.Errorf("%s has no health check", name)
		}
	}
}

func TestEtcdAcceptsOnlyItsOwnAuthority(t *testing.T) {
	c := render(t, withoutNode(), (*Spec).etcd)
	for _, want := range []string{
		"--client-cert-auth=true", "--trusted-ca-file=/d/pki/etcd-ca.crt", "--peer-client-cert-auth=true",
		"--peer-trusted-ca-file=/d/pki/etcd-ca.crt",
	} {
		if !slices.Contains(c.Args, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestAuditLogIsOptional(t *testing.T) {
	audit := func(args []string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--audit") })
	}
	if audit(render(t, withoutNode(), (*Spec).apiserver).Args) {
		t.Error("the audit log is on without the option")
	}

	s := withoutNode()

	s.Audit = true
	if !audit(render(t, s, (*Spec).apiserver).Args) {
		t.Error("no audit log")
	}
}

func TestBodiesInTheAuditLogAreOptional(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string // the audit policy; empty: none
	}{
		{Options{ControlPlaneOnly: true}, ""},
		{Options{ControlPlaneOnly: true, Audit: true}, auditPolicy},
		{Options{ControlPlaneOnly: true, AuditBodies: true}, auditPolicyBodies},
	} {
		tt.o.Dir = t.TempDir()

		s, err := newSpec(tt.o)
		if err != nil {
			t.Fatal(err)
		}

		if err := s.writeControlPlaneFiles(); err != nil {
			t.Fatal(err)
		}

		if got, _ := os.ReadFile(s.path("audit-policy.yaml")); string(got) != tt.want || s.Audit != (tt.want != "") {
			t.Errorf("%+v: audit log %t, policy\n%s", tt.o, s.Audit, got)
		}
	}
}

func TestContainerdConfigMatchesTheVersion(t *testing.T) {
	for _, tt := range []struct {
		name         string
		major, minor int
		want, not    []string
	}{
		{"1.6", 1, 6, []string{"version = 2\n", `"io.containerd.grpc.v1.cri"`, `sandbox_image = "localhost/pause:1"`,
			`bin_dir = "/usr/lib/cni"`}, []string{"v1.runtime", "bin_dirs"}},
		{"1.7", 1, 7, []string{"version = 2\n"}, []string{"v1.runtime"}},
		{"2.0", 2, 0, []string{"version = 3\n", `sandbox = "localhost/pause:1"`, `bin_dir = "/usr/lib/cni"`},
			[]string{"grpc.v1.cri", "sandbox_image", "bin_dirs"}},
		{"2.1", 2, 1, []string{"version = 3\n", `bin_dirs = ["/usr/lib/cni"]`}, []string{"bin_dir ="}},
		{"3.0", 3, 0, []string{`bin_dirs = ["/usr/lib/cni"]`}, []string{"bin_dir ="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := withNode(tt.major, tt.minor).containerdConfig()

			common := []string{`address = "/run/sparklocal/1/containerd.sock"`, `root = "/d/node/containerd"`,
				"disable_apparmor = true", `config_path = "/d/node/etc/registries"`}
			for _, want := range append(tt.want, common...) {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}

			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%q in\n%s", not, got)
				}
			}
		})
	}
}

func TestContainerdVersionIsParsed(t *testing.T) {
	for _, tt := range []struct {
		line         string
		major, minor int
		ok           bool
	}{
		{"containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n", 1, 6, true},
		{"containerd github.com/containerd/containerd 1.7.12 \n", 1, 7, true},
		{"containerd containerd.io 1.7.24 88bf19b2105c8b17560993bee28a01ddc2f97182", 1, 7, true},
		{"containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193e4e490e9fbdc236c0e811ccaba3376", 2, 1, true},
		{"containerd github.com/containerd/containerd 1.4.13~ds1", 0, 0, false},
		{"containerd: unknown", 0, 0, false},
		{"", 0, 0, false},
	} {
		major, minor, err := containerdVersion(tt.line)
		if (err == nil) != tt.ok || major != tt.major || minor != tt.minor {
			t.Errorf("containerdVersion(%q) = %d, %d, %v", tt.line, major, minor, err)
		}
	}
}

func TestKubeletAuthorizesWithTheAPIServer(t *testing.T) {
	got := withNode(1, 6).kubeletConfig()
	for _, want := range []string{
		"anonymous: {enabled: false}", "webhook: {enabled: true}", "authorization: {mode: Webhook}", "readOnlyPort: 0",
		"cgroupRoot: /sparklocal-1\n", "failCgroupV1: false", "failSwapOn: false", "imageGCHighThresholdPercent: 100",
		"nodefs.available: 1%,",
		"clusterDNS: [10.88.0.1]", `tlsCertFile: "/d/pki/kubelet.crt"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestCorefileNamesAreQuoted(t *testing.T) {
	s := withNode(1, 6)

	s.Dir = "/my clusters/a"
	if got := s.corefile(); !strings.Contains(got, `kubeconfig "/my clusters/a/pki/coredns.kubeconfig" sparklocal`) {
		t.Errorf("the path falls apart:\n%s", got)
	}

	if got := quoteCaddy("/plain"); got != "/plain" {
		t.Errorf("quoteCaddy(/plain) = %s", got)
	}
}

func TestParseImportReturnsImageNames(t *testing.T) {
	out := "unpacking docker.io/apache/spark:4.1.4 (sha256:ab)...done\nunpacking docker.io/library/spark:4.1.4 (sha256:ab)...\nsomething else\n"
	if diff := cmp.Diff([]string{"docker.io/apache/spark:4.1.4", "docker.io/library/spark:4.1.4"},
		parseImport(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseImageListReturnsDigests(t *testing.T) {
	out := "REF TYPE DIGEST SIZE PLATFORMS LABELS\n" +
		"localhost/pause:1 application/vnd.docker.distribution.manifest.v2+json sha256:25 1.4 MiB linux/amd64 a=b\n" +
		"sha256:a5 application/vnd.docker.distribution.manifest.v2+json sha256:25 1.4 MiB linux/amd64 a=b\n"

	want := map[string]string{"localhost/pause:1": "sha256:25", "sha256:a5": "sha256:25"}
	if diff := cmp.Diff(want, parseImageList(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodeIsReadyWithoutTaints(t *testing.T) {
	type taint = struct{ Key string }
	type condition = struct{ Type, Status, Message string }
	node := func(taints []taint, conditions ...condition) nodeObject {
		var n nodeObject
		n.Spec.Taints, n.Status.Conditions = taints, conditions
		return n
	}

	good := condition{Type: "Ready", Status: "True"}
	for name, tt := range map[string]struct {
		node nodeObject
		ok   bool
	}{
		"new":              {node(nil), false},
		"ready":            {node(nil, condition{Type: "DiskPressure", Status: "False"}, good), true},
		"not ready":        {node(nil, condition{Type: "Ready", Status: "False", Message: "cni"}), false},
		"taint still on":   {node([]taint{{"node.kubernetes.io/not-ready"}}, good), false},
		"a taint of yours": {node([]taint{{"example.com/spot"}}, good), true},
	} {
		tt.node.Status.Allocatable.CPU = "8"
		if err := tt.node.ready(4); err == nil {
			t.Errorf("%s: a node with 8 CPUs counts as one with 4", name)
		}

		if err := errors.Join(tt.node.ready(0), tt.node.ready(8)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestComponentsGetNoVariablesOfTheUserButGOGC(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com")
	t.Setenv("GOGC", "400")

	want := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/d", "LANG=C.UTF-8",
		"GOGC=400"}
	if diff := cmp.Diff(want, withoutNode().environment()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
