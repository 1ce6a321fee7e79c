package cause_test

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/lifecycle/cause"
)

// TestAdviceFitsTheMessage checks the advice about messages of a real scheduler and a real API server: it is about what
// the message names, and a command in it has the account of the message.
func TestAdviceFitsTheMessage(t *testing.T) {
	const preemption = ". no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
	for _, c := range []struct{ reason, message, has string }{
		{"Unschedulable", `0/1 nodes are available: persistentvolumeclaim "warehouse" not found. not found`,
			"create the PersistentVolumeClaim"},
		{"Unschedulable", `0/1 nodes are available: persistentvolumeclaim "warehouse" is being deleted` + preemption,
			"PersistentVolumeClaim"},
		{"Unschedulable", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims" + preemption,
			"describe pvc"},
		{"Unschedulable", "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind" +
			preemption, "describe pvc"},
		{"Unschedulable", "0/3 nodes are available: 3 node(s) had volume node affinity conflict" + preemption,
			"describe pvc"},
		{"Unschedulable", "executor pod a-exec-1 waits: 0/1 nodes are available: 1 Insufficient memory" + preemption,
			"request less"},
		{"FailedScheduling", "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient nvidia.com/gpu" + preemption, "request less"},
		{"Unschedulable", "0/3 nodes are available: 1 Too many pods, 2 node(s) didn't match Pod's node affinity/selector" + preemption, "request less"},
		{"Unschedulable", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector" + preemption,
			"--show-labels"},
		{"Unschedulable", "0/1 nodes are available: 1 node(s) had untolerated taint {dedicated: gpu}" + preemption,
			"toleration"},
		{"Unschedulable", "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules" + preemption,
			"hostPort"},
		{"Unschedulable", "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints" +
			preemption, "hostPort"},
		{"Unschedulable", "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports" +
			preemption, "hostPort"},
		{"Unschedulable", "0/1 nodes are available: 1 node(s) were unschedulable" + preemption, "uncordon"},
		{"Unschedulable", "no nodes available to schedule pods", "add a node"},
		{"ServiceAccountNotFound", `pods "a-driver" is forbidden: error looking up service account data/etl-runner: serviceaccount "etl-runner" not found`,
			"kubectl create serviceaccount etl-runner -n NAMESPACE && kubectl create rolebinding spark-driver-etl-runner "},
		{"Forbidden", `pods is forbidden: User "system:serviceaccount:data:etl" cannot create resource "pods"`,
			"--serviceaccount=NAMESPACE:etl "},
		{"Forbidden", "the API server does not name the account", "NAMESPACE:ACCOUNT"},
		{"FailedMount", `MountVolume.SetUp failed for volume "a" : configmap "b" not found`,
			"create the volume, ConfigMap or Secret"},
	} {
		if got := cause.Advice(c.reason, c.message); !strings.Contains(got, c.has) {
			t.Errorf("%s: %s\nhas the advice %q, want %q", c.reason, c.message, got, c.has)
		}
	}

	if got := cause.Advice("AwaitingExecutors", "0 of 1 executors run"); got != "" {
		t.Errorf("a wait that is no problem has the advice %q", got)
	}

	if got := cause.Of("", `io.fabric8.kubernetes.client.KubernetesClientException: pods is forbidden: User "system:serviceaccount:data:etl" cannot create resource "pods"`).Advice; !strings.Contains(got, "spark-driver-etl --clusterrole") {
		t.Errorf("the advice about a log does not have its account: %q", got)
	}
}
