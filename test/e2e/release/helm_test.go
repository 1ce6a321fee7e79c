// Package release tests a Helm release of the chart on a real API server: it installs, upgrades and uninstalls the
// release with Helm's own code, and runs the operator with the rights that the release grants. It needs no node.
package release

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	v1 "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	// The root of the repository, from which the control plane is built.
	if err := os.Chdir("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	kit.Main(m)
}

// name is the name of the release.
const name = "spark-operator"

// release is a Helm release of one test. The test's own namespace is both the release namespace and the only job
// namespace.
type release struct {
	t         testing.TB
	name      string
	namespace string
	api       client.Client
	cfg       *action.Configuration
	installed bool
}

// controller returns the name of the controller's Deployment, account and ConfigMap.
func (r *release) controller() string { return r.name + "-controller" }

func newRelease(t testing.TB) *release {
	t.Helper()

	r := &release{t: t, name: name, namespace: kit.Namespace(t), api: kit.Client(t), cfg: action.NewConfiguration()}
	if err := r.cfg.Init(&getter{rest: kit.Rest(t), namespace: r.namespace}, r.namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return r
}

// values returns the given values with the settings of the test. The release does not install custom resource
// definitions, because all tests share those of the API server. Unless the values name others, the job namespace is the
// release's own namespace.
func (r *release) values(text string) map[string]any {
	r.t.Helper()

	values := map[string]any{}
	if err := kyaml.Unmarshal([]byte(text), &values); err != nil {
		r.t.Fatal(err)
	}

	values["crds"] = map[string]any{"install": false}
	if values["spark"] == nil {
		values["spark"] = map[string]any{"jobNamespaces": []any{r.namespace}}
	}

	values["spark"].(map[string]any)["allowReleaseNamespace"] = true
	return values
}

func load(t testing.TB, dir string) *chart.Chart {
	t.Helper()

	c, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// currentChart is the directory of the chart, relative to the repository's root.
var currentChart = filepath.Join("charts", "spark-operator")

// install installs the release until the test ends.
func (r *release) install(dir, values string) {
	r.t.Helper()
	r.installChart(load(r.t, dir), values)
}

// installChart installs a chart until the test ends. All releases have objects of the same names in the cluster, so a
// release that stays would keep the next one from being installed.
func (r *release) installChart(c *chart.Chart, values string) {
	r.t.Helper()
	install := action.NewInstall(r.cfg)
	// No node runs the pods.
	install.ReleaseName, install.Namespace, install.WaitStrategy = r.name, r.namespace, kube.HookOnlyStrategy
	if _, err := install.Run(c, r.values(values)); err != nil {
		r.t.Fatalf("install with %s: %v", values, err)
	}

	r.installed = true
	r.t.Cleanup(r.uninstall)
}

func (r *release) upgrade(values string) {
	r.t.Helper()

	if _, err := r.tryUpgrade(values); err != nil {
		r.t.Fatalf("upgrade to %s: %v", values, err)
	}
}

// tryUpgrade upgrades the release and returns its notes.
func (r *release) tryUpgrade(values string) (notes string, err error) {
	r.t.Helper()
	upgrade := action.NewUpgrade(r.cfg)
	upgrade.Namespace, upgrade.WaitStrategy = r.namespace, kube.HookOnlyStrategy

	upgraded, err := upgrade.Run(r.name, load(r.t, currentChart), r.values(values))
	if err != nil {
		return "", err
	}
	return upgraded.(*v1.Release).Info.Notes, nil
}

// uninstall uninstalls the release, unless that is done.
func (r *release) uninstall() {
	r.t.Helper()

	if !r.installed {
		return
	}

	r.installed = false
	uninstall := action.NewUninstall(r.cfg)

	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run(r.name); err != nil {
		r.t.Fatal(err)
	}
}

// getter gives Helm the connection to the test's API server.
type getter struct {
	rest      *rest.Config
	namespace string
}

// ToRESTConfig returns the connection to the test's API server. The methods of getter implement Helm's interface
// action.RESTClientGetter.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.rest), nil }

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	client, err := discovery.NewDiscoveryClientForConfig(g.rest)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(client), nil
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(client), nil
}

func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}
