package kit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestChooseRoad checks that the embedded control plane is the default, that each variable selects a different control
// plane, and that contradictory variables are an error.
func TestChooseRoad(t *testing.T) {
	for name, test := range map[string]struct {
		environment map[string]string
		want        road
		err         string
	}{
		"neither": {nil, road{kind: embedded}, ""},
		"empty": {map[string]string{"KUBEBUILDER_ASSETS": "", "TEST_KUBECONFIG": ""},
			road{kind: embedded}, ""},
		"assets":             {map[string]string{"KUBEBUILDER_ASSETS": "/assets"}, road{kind: assets, path: "/assets"}, ""},
		"a control plane":    {map[string]string{"TEST_KUBECONFIG": "/config"}, road{kind: existing, path: "/config"}, ""},
		"the oldest release": {map[string]string{"TEST_KUBERNETES": "oldest"}, road{kind: embedded, oldest: true}, ""},
		"another release":    {map[string]string{"TEST_KUBERNETES": "1.32"}, road{}, "the only value is oldest"},
		"a release of assets": {map[string]string{"TEST_KUBERNETES": "oldest", "KUBEBUILDER_ASSETS": "/assets"},
			road{}, "unset it"},
		"a cluster for other things": {map[string]string{"KUBECONFIG": "/production"}, road{kind: embedded}, ""},
		"both": {map[string]string{"KUBEBUILDER_ASSETS": "/assets", "TEST_KUBECONFIG": "/config"},
			road{}, "both set"},
	} {
		got, err := chooseRoad(func(name string) string { return test.environment[name] })
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", name, err, test.err)
		}

		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(road{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTakesPods checks that a cluster with a node that accepts pods is rejected, because the node's kubelet would run
// the tests' pods.
func TestTakesPods(t *testing.T) {
	node := func(name string, cordoned bool) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
	}
	for _, test := range []struct {
		nodes []corev1.Node
		want  string
	}{
		{nil, ""},
		{[]corev1.Node{node("a", true)}, ""},
		{[]corev1.Node{node("a", true), node("b", false)}, "the node b"},
	} {
		if err := takesPods(test.nodes); (err == nil) != (test.want == "") || err != nil &&
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%d nodes: %v, want %q", len(test.nodes), err, test.want)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://localhost:1": true, "https://[::1]:6443": true,
		"https://198.18.0.2:6443": false, "https://api.example": false, ":": false,
	} {
		if got := loopback(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
