package connect

import (
	"testing"

	"github.com/sparkoperator/spark-operator/test/kit/netpolicy"
)

// TestPolicyLetsSparkThrough evaluates the policy against the flows of a Connect server.
func TestPolicyLetsSparkThrough(t *testing.T) {
	custom := minimal("spark.driver.port", "1001", "spark.driver.blockManager.port", "1002", "spark.blockManager.port",
		"1003", "spark.ui.port", "1004",
		"spark.connect.grpc.binding.port", "1005")
	random := minimal("spark.blockManager.port", "0")
	podOf := func(role string, name string) netpolicy.Party {
		return netpolicy.Party{Namespace: "ns",
			Labels: map[string]string{"example.org/server": name, "spark-role": role}}
	}
	server, executor := podOf("connect-server", "sc"), podOf("executor", "sc")

	pod, outside := netpolicy.Party{Namespace: "ns"}, netpolicy.Party{Namespace: "ingress"}
	for name, c := range map[string]struct {
		r            Request
		from, to     netpolicy.Party
		port         int32
		want, fromNS bool
	}{
		"executors register":                   {minimal(), executor, server, 7078, true, true},
		"executors fetch blocks of the server": {minimal(), executor, server, 7079, true, true},
		"executors fetch blocks of each other": {minimal(), executor, executor, 7079, true, true},
		"the server fetches blocks":            {minimal(), server, executor, 7079, true, true},
		"clients of the namespace":             {minimal(), pod, server, 15002, true, true},
		"clients of another namespace":         {minimal(), outside, server, 15002, true, false},
		"an Ingress to the web UI":             {minimal(), outside, server, 4040, true, false},
		"a proxy beside the server":            {minimal(), outside, server, 8443, true, false},
		"metrics of an executor":               {minimal(), outside, executor, 8090, true, false},
		"a pod of the namespace, RPC":          {minimal(), pod, server, 7078, false, false},
		"a pod of the namespace, blocks":       {minimal(), pod, server, 7079, false, false},
		"a pod of the namespace, executor":     {minimal(), pod, executor, 7079, false, false},
		"another server's executor, RPC":       {minimal(), podOf("executor", "other"), server, 7078, false, false},
		"another server's executor, blocks":    {minimal(), podOf("executor", "other"), executor, 7079, false, false},
		"the same labels in another namespace": {minimal(),
			netpolicy.Party{Namespace: "other", Labels: executor.Labels}, server, 7078, false, false},
		"other ports, executors register":     {custom, executor, server, 1001, true, true},
		"other ports, clients":                {custom, outside, server, 1005, true, false},
		"other ports, the web UI":             {custom, outside, server, 1004, true, false},
		"other ports, RPC":                    {custom, pod, server, 1001, false, false},
		"other ports, blocks of the server":   {custom, pod, server, 1002, false, false},
		"other ports, blocks of an executor":  {custom, pod, executor, 1003, false, false},
		"random ports of executors stay open": {random, pod, executor, 40000, true, true},
		"random ports of executors, RPC":      {random, pod, server, 7078, false, false},
	} {
		for namespaceOnly, want := range map[bool]bool{false: c.want, true: c.fromNS} {
			policy, err := Policy(c.r, namespaceOnly)
			if err != nil {
				t.Fatal(err)
			}

			if got := netpolicy.Admits(t, policy, c.from, c.to, c.port); got != want {
				t.Errorf("%s (from the namespace alone: %t): %t, want %t", name, namespaceOnly, got, want)
			}
		}
	}

	if policy, _ := Policy(minimal(), true); netpolicy.Admits(t, policy, podOf("executor", "other"), podOf("x", "y"),
		1) != true || policy.Name != "sc-server" {
		t.Errorf("the policy %s is for pods of others", policy.Name)
	}
}
