package cluster

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubectlDependsOnTheCluster checks which kubectl and kubeconfig the tests use. For an existing cluster they use
// its kubeconfig and the kubectl on PATH, and for an embedded cluster they use sparklocal.
func TestKubectlDependsOnTheCluster(t *testing.T) {
	for name, test := range map[string]struct {
		kubeconfig string
		embedded   bool
		config     string
		kubectl    []string
	}{
		"embedded": {"", true, "/d/cluster/kubeconfig",
			[]string{"/d/sparklocal", "kubectl", "--dir", "/d/cluster", "get", "pods"}},
		"existing": {"/kind.yaml", false, "/kind.yaml",
			[]string{"kubectl", "--kubeconfig", "/kind.yaml", "get", "pods"}},
	} {
		c := &Cluster{Dir: "/d", local: filepath.Join("/d", "sparklocal"),
			options: Options{Kubeconfig: test.kubeconfig}}

		program, args := c.kubectl("get", "pods")
		if c.Embedded() != test.embedded || c.Kubeconfig() != test.config {
			t.Errorf("%s: embedded %v, kubeconfig %s", name, c.Embedded(), c.Kubeconfig())
		}

		if diff := cmp.Diff(test.kubectl, append([]string{program}, args...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestExistingClusterIsNotChanged checks that an existing cluster stays as it is. Tests neither stop its programs nor
// build images for it, and Close removes only the objects that Start installed.
func TestExistingClusterIsNotChanged(t *testing.T) {
	c := &Cluster{Dir: t.TempDir(), options: Options{Kubeconfig: "/kind.yaml"}}
	if _, err := c.SuspendComponent(t.Context(), "kubelet"); err == nil {
		t.Error("the kubelet was stopped")
	}

	if image, err := c.LoadSpark(t.Context(), "4.0.5"); err != nil || image != "docker.io/apache/spark:4.0.5" {
		t.Errorf("the image is %s, %v", image, err)
	}

	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
