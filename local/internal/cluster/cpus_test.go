package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/local/internal/isolate"
)

func TestCPUsThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{ControlPlaneOnly: true}, ""},
		{Options{CPUs: 16}, ""},
		{Options{CPUs: -1}, "between 1 and 1024"},
		{Options{CPUs: 1025}, "between 1 and 1024"},
		{Options{CPUs: 16, ControlPlaneOnly: true}, "--control-plane-only"},
	} {
		test.o.Dir = t.TempDir()
		_, err := newSpec(test.o)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d CPUs, control plane only %v: %v, want %q", test.o.CPUs, test.o.ControlPlaneOnly, err, test.want)
		}
	}
}

// TestCPUBinds: the kubelet counts CPUs in two directories of /sys. It finds as many as were asked for, and none of a former start.
func TestCPUBinds(t *testing.T) {
	s := withNode(2, 0)
	s.Dir = t.TempDir()
	if binds, err := s.cpuBinds(); binds != nil || err != nil {
		t.Errorf("without a number: %v, %v", binds, err)
	}
	want := []isolate.Bind{{From: s.path("node", "sys", "cpu"), To: allCPUs}}
	if _, err := os.Stat(numaNodes); err == nil {
		want = append(want, isolate.Bind{From: s.path("node", "sys", "node"), To: numaNodes})
	}
	for _, s.Node.CPUs = range []int{16, 3} {
		binds, err := s.cpuBinds()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, binds); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for file, content := range map[string]string{"core_id": "2\n", "physical_package_id": "0\n"} {
			got, err := os.ReadFile(s.path("node", "sys", "cpu", "cpu2", "topology", file))
			if err != nil || string(got) != content {
				t.Errorf("%s is %q, %v, want %q", file, got, err, content)
			}
		}
		cpus, err := filepath.Glob(s.path("node", "sys", "cpu", "cpu[0-9]*"))
		if err != nil || len(cpus) != s.Node.CPUs {
			t.Errorf("there are %d CPUs, %v, want %d", len(cpus), err, s.Node.CPUs)
		}
	}
	for _, bind := range want[1:] {
		if inside, err := os.ReadDir(bind.From); err != nil || len(inside) != 0 {
			t.Errorf("%s shows %v, %v", bind.To, inside, err)
		}
	}
}
