package standalone

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sparkoperator/spark-operator/test/kit/netpolicy"
)

// TestPolicyLetsSparkThrough checks the policies against the network flows of a standalone cluster.
func TestPolicyLetsSparkThrough(t *testing.T) {
	o := build(t, simple())
	if o.Policy.Name != "qa-worker" || len(o.Policy.Spec.PolicyTypes) != 1 ||
		o.Policy.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
		t.Errorf("the policy is %s for %v", o.Policy.Name, o.Policy.Spec.PolicyTypes)
	}

	pod := func(template corev1.PodTemplateSpec) netpolicy.Party {
		return netpolicy.Party{Namespace: "spark", Labels: template.Labels}
	}
	master, worker := pod(o.Master.Spec.Template), pod(o.Workers.Spec.Template)
	other := build(t, simple(func(r *Request) { r.Name = "prod" }))

	driver := netpolicy.Party{Namespace: "spark",
		Labels: map[string]string{"spark-role": "driver", "spark-app-name": "pi"}}
	for name, c := range map[string]struct {
		from, to netpolicy.Party
		port     int32
		want     bool
	}{
		"the master starts executors":                      {master, worker, 40001, true},
		"workers register":                                 {worker, master, masterPort, true},
		"executors fetch shuffle data from another worker": {worker, worker, 7337, true},
		"executors fetch blocks":                           {worker, worker, 40002, true},
		"a driver fetches results":                         {driver, worker, 40002, true},
		"a driver connects to the master":                  {driver, master, masterPort, true},
		"executors connect to a driver":                    {worker, driver, 7078, true},
		"every pod reaches the master's UI": {netpolicy.Party{Namespace: "default", Labels: nil}, master,
			masterUIPort, true},
		"a worker of another cluster":   {pod(other.Workers.Spec.Template), worker, 40002, false},
		"the master of another cluster": {pod(other.Master.Spec.Template), worker, 40001, false},
		"an executor of Kubernetes": {netpolicy.Party{Namespace: "spark",
			Labels: map[string]string{"spark-role": "executor"}}, worker, 40002, false},
		"a pod of the namespace": {netpolicy.Party{Namespace: "spark",
			Labels: map[string]string{"app": "web"}}, worker, workerUIPort, false},
		"a driver of another namespace": {netpolicy.Party{Namespace: "other", Labels: driver.Labels},
			worker, 40002, false},
		"a cluster of the name, another namespace": {netpolicy.Party{Namespace: "other", Labels: master.Labels},
			worker, 40001, false},
	} {
		got := netpolicy.Admits(t, o.Policy, c.from, c.to, c.port) &&
			netpolicy.Admits(t, o.MasterPolicy, c.from, c.to, c.port)
		if got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestMasterPolicy checks which clients reach which ports of a master, because a client that sends an application to a
// master can run code on its workers.
func TestMasterPolicy(t *testing.T) {
	in := func(namespace string, labels map[string]string) netpolicy.Party {
		return netpolicy.Party{Namespace: namespace, Labels: labels}
	}
	driver := in("spark", map[string]string{"spark-role": "driver"})

	pod, other := in("spark", map[string]string{"app": "web"}), in("other", driver.Labels)
	for name, c := range map[string]struct {
		submitters string
		conf       []string
		reach      map[int32][]netpolicy.Party
		shut       map[int32][]netpolicy.Party
	}{
		"drivers (the default)": {
			reach: map[int32][]netpolicy.Party{7077: {driver}, 8080: {driver, pod, other}, 9404: {other}},
			shut:  map[int32][]netpolicy.Party{7077: {pod, other}, 6066: {driver, pod, other}},
		},
		"the whole namespace": {
			submitters: SubmitterNamespace,
			reach:      map[int32][]netpolicy.Party{7077: {driver, pod}, 8080: {other}},
			shut:       map[int32][]netpolicy.Party{7077: {other}, 6066: {driver, pod, other}},
		},
		"REST API enabled explicitly": {
			conf: []string{"spark.master.rest.enabled", " True", "spark.master.rest.port", "6067",
				"spark.master.ui.port", "8081"},
			reach: map[int32][]netpolicy.Party{7077: {driver}, 6067: {driver}, 8081: {other}},
			shut:  map[int32][]netpolicy.Party{7077: {pod, other}, 6067: {pod, other}},
		},
	} {
		o := build(t, simple(func(r *Request) {
			r.Submitters = c.submitters
			for i := 0; i < len(c.conf); i += 2 {
				r.Conf.Set(c.conf[i], c.conf[i+1])
			}
		}))

		master := in("spark", o.Master.Spec.Template.Labels)
		for want, flows := range map[bool]map[int32][]netpolicy.Party{true: c.reach, false: c.shut} {
			for port, parties := range flows {
				for _, from := range parties {
					if got := netpolicy.Admits(t, o.MasterPolicy, from, master, port); got != want {
						t.Errorf("%s: %+v to port %d: %t, want %t", name, from, port, got, want)
					}
				}
			}
		}

		for _, port := range []int32{masterPort, restPort} {
			if worker := in("spark", o.Workers.Spec.Template.Labels); !netpolicy.Admits(t, o.MasterPolicy, worker,
				master, port) {
				t.Errorf("%s: a worker does not reach port %d", name, port)
			}
		}
	}

	if o := build(t, simple(func(r *Request) { r.Submitters = SubmitterAnyone })); o.MasterPolicy != nil {
		t.Errorf("anyone may submit, and there is %+v", o.MasterPolicy)
	}
}
