package standalone

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// party is a pod, as a NetworkPolicy sees one.
type party struct {
	namespace string
	labels    map[string]string
}

// admits reports whether a policy lets a pod reach another: policies that select nobody's pod isolate nobody.
func admits(t *testing.T, p *networkingv1.NetworkPolicy, from, to party, port int32) bool {
	t.Helper()
	matches := func(s *metav1.LabelSelector, pod party) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		return selector.Matches(labels.Set(pod.labels))
	}
	if to.namespace != p.Namespace || !matches(&p.Spec.PodSelector, to) {
		return true
	}
	for _, rule := range p.Spec.Ingress {
		open := len(rule.Ports) == 0
		for _, one := range rule.Ports {
			open = open || one.Port.IntVal == port
		}
		for _, peer := range rule.From {
			if peer.IPBlock != nil || peer.NamespaceSelector != nil {
				t.Fatal("the rule is of a kind that this test does not know")
			}
			if open && from.namespace == p.Namespace && matches(peer.PodSelector, from) {
				return true
			}
		}
	}
	return false
}

// TestPolicyLetsSparkThrough evaluates the policy against the flows of a standalone cluster.
func TestPolicyLetsSparkThrough(t *testing.T) {
	o := build(t, simple())
	if o.Policy.Name != "qa-worker" || len(o.Policy.Spec.PolicyTypes) != 1 || o.Policy.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
		t.Errorf("the policy is %s for %v", o.Policy.Name, o.Policy.Spec.PolicyTypes)
	}
	pod := func(template corev1.PodTemplateSpec) party { return party{"spark", template.Labels} }
	master, worker := pod(o.Master.Spec.Template), pod(o.Workers.Spec.Template)
	other := build(t, simple(func(r *Request) { r.Name = "prod" }))
	driver := party{"spark", map[string]string{"spark-role": "driver", "spark-app-name": "pi"}}
	for name, c := range map[string]struct {
		from, to party
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
		"anybody sees the master's UI":             {party{"default", nil}, master, masterUIPort, true},
		"a worker of another cluster":              {pod(other.Workers.Spec.Template), worker, 40002, false},
		"the master of another cluster":            {pod(other.Master.Spec.Template), worker, 40001, false},
		"an executor of Kubernetes":                {party{"spark", map[string]string{"spark-role": "executor"}}, worker, 40002, false},
		"a pod of the namespace":                   {party{"spark", map[string]string{"app": "web"}}, worker, workerUIPort, false},
		"a driver of another namespace":            {party{"other", driver.labels}, worker, 40002, false},
		"a cluster of the name, another namespace": {party{"other", master.labels}, worker, 40001, false},
	} {
		if got := admits(t, o.Policy, c.from, c.to, c.port); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
