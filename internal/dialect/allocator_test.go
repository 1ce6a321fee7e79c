package dialect

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// TestAllocatorWarnings checks that a driver without the rights that its allocator needs causes a warning with the way
// out.
func TestAllocatorWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		allocator string
		granted   bool
		says      string
	}{
		"pods that the driver creates itself": {"direct", false, ""},
		"no allocator":                        {"", false, ""},
		"StatefulSets":                        {"statefulset", false, "spark.rbac.statefulSets"},
		"StatefulSets, with the right":        {"statefulset", true, ""},
		"Deployments":                         {"deployment", true, "a Role of your own"},
		"a class":                             {"org.example.Allocator", false, ""},
	} {
		got := strings.Join(AllocatorWarnings(conf.FromMap(map[string]string{AllocatorKey: c.allocator}), c.granted), "; ")
		if (c.says == "") != (got == "") || !strings.Contains(got, c.says) || got != "" && !strings.HasPrefix(got, "spec.sparkConf["+AllocatorKey+"]: ") {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
