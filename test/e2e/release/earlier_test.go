package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kyaml "sigs.k8s.io/yaml"
)

// TestUpgradeOfEarlierCharts installs each chart that users may have and upgrades it with --reuse-values, which keeps
// all values of the earlier chart, also its defaults. Values that the earlier chart lacks can be set, those that the
// user had set are kept, and a rollback brings the earlier objects back.
func TestUpgradeOfEarlierCharts(t *testing.T) {
	for name, earlier := range earlierCharts(t) {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			r.installChart(earlier, "controller: {workers: 7}")

			before := r.stored()
			if !strings.Contains(before, "workers: 7") {
				t.Fatalf("the configuration lacks the number of workers:\n%s", before)
			}

			upgrade := action.NewUpgrade(r.cfg)
			upgrade.Namespace, upgrade.WaitStrategy, upgrade.ReuseValues = r.namespace, kube.HookOnlyStrategy, true

			added := map[string]any{"console": map[string]any{"enable": true}}
			if _, err := upgrade.Run(r.name, load(t, currentChart), added); err != nil {
				t.Fatal(err)
			}

			if after := r.stored(); !strings.Contains(after, "workers: 7") {
				t.Errorf("the configuration lost the number of workers:\n%s", after)
			}

			console := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.name + "-console"}}
			if err := r.api.Get(t.Context(), client.ObjectKeyFromObject(console), console); err != nil {
				t.Fatal(err)
			}

			rollback := action.NewRollback(r.cfg)

			rollback.WaitStrategy = kube.HookOnlyStrategy
			if err := rollback.Run(r.name); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(before, r.stored()); diff != "" {
				t.Errorf("the rollback changed the configuration (-before +after):\n%s", diff)
			}

			if err := r.api.Get(t.Context(), client.ObjectKeyFromObject(console), console); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("after the rollback, the console exists: %v", err)
			}
		})
	}
}

// earlierCharts returns the charts of all releases, and one for each set of default values before the first release.
// The templates of the latter are today's, because --reuse-values takes over nothing but values.
func earlierCharts(t *testing.T) map[string]*chart.Chart {
	t.Helper()

	tests := filepath.Join("test", "e2e")
	charts := map[string]*chart.Chart{}

	for _, file := range matches(t, filepath.Join(tests, "release", "testdata", "released", "*.tgz")) {
		earlier, err := loader.LoadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		charts[earlier.Metadata.Version] = earlier
	}

	values := matches(t, filepath.Join(tests, "chart", "testdata", "earlier", "*.yaml"))
	if os.Getenv("EARLIER_CHARTS") != "all" { // `make e2e` upgrades from all
		values = values[len(values)-1:]
	}

	for _, file := range values {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		earlier := load(t, currentChart)

		earlier.Values = map[string]any{}
		if err := kyaml.Unmarshal(text, &earlier.Values); err != nil {
			t.Fatal(err)
		}

		charts["before "+filepath.Base(file)] = earlier
	}
	return charts
}

// matches returns the files that match a pattern, which are at least one.
func matches(t *testing.T, pattern string) []string {
	t.Helper()

	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files
}

// stored returns the operator's configuration file in the cluster.
func (r *release) stored() string {
	r.t.Helper()

	file := &corev1.ConfigMap{}
	if err := r.api.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: r.controller()}, file); err != nil {
		r.t.Fatal(err)
	}
	return file.Data["config.yaml"]
}
