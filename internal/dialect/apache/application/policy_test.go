package application

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect/apache/application/naming"
	"github.com/sparkoperator/spark-operator/test/kit/netpolicy"
)

// TestPolicyLetsSparkThrough checks that the NetworkPolicy of an attempt (from Spark 4.2 on) allows the attempt's own
// traffic, and access to the driver's UI. Pods of other attempts and applications must not reach the executors.
func TestPolicyLetsSparkThrough(t *testing.T) {
	pods := func(name string, attempt int32) (p *networkingv1.NetworkPolicy, driver, executor netpolicy.Party) {
		app := written(t)
		app.Name = name
		o := rendered(t, Applications{}, app, attempt)

		pod, err := Applications{}.Executor(app, attempt, 1, "driver", noon)
		if err != nil {
			t.Fatal(err)
		}

		policy := named[*networkingv1.NetworkPolicy](t, o, naming.ID(app, attempt)+"-policy")
		return policy, netpolicy.Party{Namespace: app.Namespace, Labels: o.Driver.Labels},
			netpolicy.Party{Namespace: app.Namespace, Labels: pod.Labels}
	}
	policy, driver, executor := pods("pi", 1)
	_, nextDriver, nextExecutor := pods("pi", 2)
	_, otherDriver, otherExecutor := pods("tau", 1)
	elsewhere := netpolicy.Party{Namespace: "elsewhere", Labels: driver.Labels}

	const rpc, blocks, ui = 7078, 7079, 4040
	for name, c := range map[string]struct {
		from, to netpolicy.Party
		port     int32
		want     bool
	}{
		"executors register":              {executor, driver, rpc, true},
		"executors fetch from the driver": {executor, driver, blocks, true},
		"somebody sees the UI": {netpolicy.Party{Namespace: "elsewhere"}, driver,
			ui, true},
		"the driver sends tasks":         {driver, executor, 40001, true},
		"the driver fetches results":     {driver, executor, 40002, true},
		"executors fetch shuffle data":   {executor, executor, 40002, true},
		"another application's driver":   {otherDriver, executor, 40002, false},
		"another application's executor": {otherExecutor, executor, 40002, false},
		"the next attempt's driver":      {nextDriver, executor, 40002, false},
		"the next attempt's executor":    {nextExecutor, executor, 40002, false},
		"a pod of the namespace": {netpolicy.Party{Namespace: driver.Namespace}, executor,
			40002, false},
		"a driver with the same labels in another namespace": {elsewhere, executor, 40002, false},
	} {
		if got := netpolicy.Admits(t, policy, c.from, c.to, c.port); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
