package v1beta2_test

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/testkit/crd"
)

const (
	applications = "sparkoperator.k8s.io_sparkapplications.yaml"
	schedules    = "sparkoperator.k8s.io_scheduledsparkapplications.yaml"
	version      = "v1beta2"
)

// deliberate are the gaps between the peer's definitions and ours that are meant, known by the path's end and the finding's beginning.
// Whoever adds one may break somebody's manifest: the reason must be that no such manifest ever ran.
var deliberate = []struct{ path, what, why string }{
	{"driver.memory", "rule", "Spark cannot parse it: the driver never starts"},
	{"executor.memory", "rule", "Spark cannot parse it: the driver ends when it reads its configuration"},
	{"driver.memoryOverhead", "rule", "as memory"},
	{"executor.memoryOverhead", "rule", "as memory"},
	{"driver.podName", "rule", "no pod of another name can be made; the peer's own pattern means the same, but matches anywhere"},
	{".port", "minimum -2.147483648e+09", "Go's IntOrString holds an int32: the peer's own operator cannot decode it"},
	{".port", "maximum 2.147483647e+09", "as its minimum"},
	{"", "pattern " + strictQuantity, "no quantity has a fraction in its exponent: the peer's own operator cannot decode it"},
	{"Time", "pattern ^[^tz]*$", "Go's times have a capital T and Z: the peer's own operator cannot decode others"},
	{"Run", "pattern ^[^tz]*$", "as all times"},
}

const strictQuantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$`

// The peer's users bring their manifests: whatever the peer's definitions accept, ours accept and keep.
func TestPeersManifestsAreAccepted(t *testing.T) {
	met := make([]bool, len(deliberate))
	for _, file := range []string{applications, schedules} {
		for _, gap := range crd.Gaps(crd.Theirs(t, file), crd.Ours(t, file)) {
			meant := false
			for i, d := range deliberate {
				if strings.HasSuffix(gap.Path, d.path) && strings.HasPrefix(gap.What, d.what) {
					meant, met[i] = true, true
				}
			}
			if !meant {
				t.Errorf("%s: %s: %s", file, gap.Path, gap.What)
			}
		}
	}
	for i, d := range deliberate {
		if !met[i] {
			t.Errorf("%q %q is listed as deliberate, but there is no such gap", d.path, d.what)
		}
	}
}

// Group kinds whose name ends with k8s.io are only installed with this annotation, and it must be the one that upgrades from the peer find.
func TestApprovalIsThePeers(t *testing.T) {
	const approved = "api-approved.kubernetes.io"
	for _, file := range []string{applications, schedules} {
		if got, want := crd.Ours(t, file).Annotations[approved], crd.Theirs(t, file).Annotations[approved]; got != want {
			t.Errorf("%s: %s is %q, the peer's is %q", file, approved, got, want)
		}
	}
}
