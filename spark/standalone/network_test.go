package standalone

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sparkoperator/spark-operator/internal/testkit/netpolicy"
)

// TestPolicyLetsSparkThrough evaluates the policy against the flows of a standalone cluster.
func TestPolicyLetsSparkThrough(t *testing.T) {
	o := build(t, simple())
	if o.Policy.Name != "qa-worker" || len(o.Policy.Spec.PolicyTypes) != 1 || o.Policy.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
		t.Errorf("the policy is %s for %v", o.Policy.Name, o.Policy.Spec.PolicyTypes)
	}
	pod := func(template corev1.PodTemplateSpec) netpolicy.Party {
		return netpolicy.Party{Namespace: "spark", Labels: template.Labels}
	}
	master, worker := pod(o.Master.Spec.Template), pod(o.Workers.Spec.Template)
	other := build(t, simple(func(r *Request) { r.Name = "prod" }))
	driver := netpolicy.Party{Namespace: "spark", Labels: map[string]string{"spark-role": "driver", "spark-app-name": "pi"}}
	for name, c := range map[string]struct {
		from, to netpolicy.Party
		port     int32
		want     bool
	}{
		"the master asks for executors":            {master, worker, 40001, true},
		"workers register":                         {worker, master, masterPort, true},
		"executors fetch what was shuffled":        {worker, worker, 7337, true},
		"executors fetch blocks":                   {worker, worker, 40002, true},
		"a driver fetches results":                 {driver, worker, 40002, true},
		"a driver asks the master":                 {driver, master, masterPort, true},
		"executors answer a driver":                {worker, driver, 7078, true},
		"anybody sees the master's UI":             {netpolicy.Party{Namespace: "default", Labels: nil}, master, masterUIPort, true},
		"a worker of another cluster":              {pod(other.Workers.Spec.Template), worker, 40002, false},
		"the master of another cluster":            {pod(other.Master.Spec.Template), worker, 40001, false},
		"an executor of Kubernetes":                {netpolicy.Party{Namespace: "spark", Labels: map[string]string{"spark-role": "executor"}}, worker, 40002, false},
		"a pod of the namespace":                   {netpolicy.Party{Namespace: "spark", Labels: map[string]string{"app": "web"}}, worker, workerUIPort, false},
		"a driver of another namespace":            {netpolicy.Party{Namespace: "other", Labels: driver.Labels}, worker, 40002, false},
		"a cluster of the name, another namespace": {netpolicy.Party{Namespace: "other", Labels: master.Labels}, worker, 40001, false},
	} {
		if got := netpolicy.Admits(t, o.Policy, c.from, c.to, c.port); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
