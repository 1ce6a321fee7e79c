package kit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Environment variables that select a control plane other than the embedded one.
const (
	// assetsVariable names a directory with kube-apiserver and etcd, such as the directory that setup-envtest prints.
	assetsVariable = "KUBEBUILDER_ASSETS"
	// kubeconfigVariable names the administrator's kubeconfig of an existing control plane. It is not KUBECONFIG, so
	// that tests never use a cluster by mistake.
	kubeconfigVariable = "TEST_KUBECONFIG"
	// kubernetesVariable selects the release of the embedded control plane: "oldest" is the oldest supported release.
	kubernetesVariable = "TEST_KUBERNETES"
)

// road is the control plane that the tests use.
type road struct {
	kind   roadKind
	path   string // of the assets or the kubeconfig
	oldest bool   // the embedded control plane has the oldest supported release
}

type roadKind string

const (
	embedded roadKind = "the embedded control plane"
	assets   roadKind = "a control plane of " + assetsVariable
	existing roadKind = "the control plane of " + kubeconfigVariable
)

// chooseRoad returns the control plane that the environment variables select, by default the embedded one. It returns
// an error if more than one variable is set.
func chooseRoad(environment func(string) string) (road, error) {
	directory, kubeconfig, release := environment(assetsVariable), environment(kubeconfigVariable), environment(kubernetesVariable)
	switch {
	case directory != "" && kubeconfig != "":
		return road{}, fmt.Errorf("%s and %s are both set: unset one", assetsVariable, kubeconfigVariable)
	case release != "" && directory+kubeconfig != "":
		return road{}, fmt.Errorf("%s selects a release of the embedded control plane: unset it or %s and %s",
			kubernetesVariable, assetsVariable, kubeconfigVariable)
	case release != "" && release != "oldest":
		return road{}, fmt.Errorf("%s=%s: the only value is oldest", kubernetesVariable, release)
	case directory != "":
		return road{kind: assets, path: directory}, nil
	case kubeconfig != "":
		return road{kind: existing, path: kubeconfig}, nil
	}
	return road{kind: embedded, oldest: release != ""}, nil
}

// ExistingCluster returns the path of the kubeconfig of the cluster that end-to-end tests use, or an empty string if
// they start their own cluster. End-to-end tests need nodes, so they cannot use KUBEBUILDER_ASSETS, which provides only
// kube-apiserver and etcd.
func ExistingCluster(environment func(string) string) string { return environment(kubeconfigVariable) }

// withoutControllers reports whether the control plane has no kube-controller-manager.
func (r road) withoutControllers() bool { return r.kind == assets }

// NeedsControllers skips a test if no kube-controller-manager runs, as with envtest. The argument what names the work
// of kube-controller-manager that the test needs, such as "garbage collection".
func NeedsControllers(t testing.TB, what string) {
	t.Helper()
	Rest(t)

	if controlPlane.road.withoutControllers() {
		t.Skipf("needs %s, which kube-controller-manager does; %s has none: unset %s", what, controlPlane.road.kind, assetsVariable)
	}
}

// StatusRatchets is the first minor version of Kubernetes whose API server ignores errors in unchanged fields when a
// status is written. Until then, no status can be written to a custom resource that was stored under another definition
// and that our definition refuses.
const StatusRatchets = 33

// NeedsKubernetes skips a test if the API server is older than a minor version of Kubernetes 1, such as 36. The
// argument what names the part of the API that the test needs.
func NeedsKubernetes(t testing.TB, minor int, what string) {
	t.Helper()

	if !SinceKubernetes(t, minor) {
		t.Skipf("needs %s, which Kubernetes 1.%d has, and the API server is older", what, minor)
	}
}

// SinceKubernetes reports whether the API server has at least a minor version of Kubernetes 1.
func SinceKubernetes(t testing.TB, minor int) bool {
	t.Helper()

	discovered, err := discovery.NewDiscoveryClientForConfig(Rest(t))
	if err != nil {
		t.Fatal(err)
	}

	version, err := discovered.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}

	// Some providers append a plus sign to the minor version.
	served, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err != nil {
		t.Fatalf("the API server has the version %s.%s: %v", version.Major, version.Minor, err)
	}

	return served >= minor
}

// NeedsLoopback skips a test if the API server runs elsewhere and cannot call the test's own server at 127.0.0.1.
func NeedsLoopback(t testing.TB) {
	t.Helper()

	if rc := Rest(t); controlPlane.road.kind == existing && !loopback(rc.Host) {
		t.Skipf("needs an API server that reaches 127.0.0.1 of this process; that of %s is at %s", kubeconfigVariable, rc.Host)
	}
}

func loopback(host string) bool {
	address, err := url.Parse(host)
	if err != nil {
		return false
	}

	ip := net.ParseIP(address.Hostname())
	return address.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// startAssets starts kube-apiserver and etcd from the programs in a directory, with the same admission configuration as
// the embedded control plane. It returns the connection and a function that stops both programs.
func startAssets(directory string) (*rest.Config, func() error, error) {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return nil, nil, err
	}

	env := &envtest.Environment{BinaryAssetsDirectory: directory, UseExistingCluster: new(false)}
	env.ControlPlane.GetAPIServer().Configure().
		Disable("disable-admission-plugins"). // envtest disables the check of pods' service accounts
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		Append("allow-privileged", "true")

	rc, err := env.Start()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the programs of %s=%s: %w", assetsVariable, directory, err), env.Stop())
	}
	return rc, env.Stop, nil
}

// useExisting returns the connection that a kubeconfig describes. It returns an error if the cluster has a node that
// accepts pods, because the tests simulate the kubelet.
func useExisting(ctx context.Context, path string) (*rest.Config, error) {
	rc, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfigVariable, err)
	}

	core, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfigVariable, err)
	}

	nodes, err := core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s=%s: list nodes: %w", kubeconfigVariable, path, err)
	}
	return rc, takesPods(nodes.Items)
}

func takesPods(nodes []corev1.Node) error {
	for _, node := range nodes {
		if !node.Spec.Unschedulable {
			return fmt.Errorf("the cluster of %s has the node %s, whose kubelet would run the pods that the tests play: cordon it, "+
				"or take a control plane without nodes", kubeconfigVariable, node.Name)
		}
	}
	return nil
}
