package standalone

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/test/kit/netpolicy"
)

// scraped returns a change of a request that opens a port of the workers to the pods with the label app=prometheus.
func scraped(port int64) func(*Request) {
	return func(r *Request) {
		r.Metrics = MetricsAccess{Port: port, From: []networkingv1.NetworkPolicyPeer{
			{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "prometheus"}}},
		}}
	}
}

// TestMetricsPort checks that the workers' policy opens exactly one port, and only to the given clients.
func TestMetricsPort(t *testing.T) {
	closed, o := build(t, simple()), build(t, simple(scraped(9404)))
	in := func(labels map[string]string) netpolicy.Party {
		return netpolicy.Party{Namespace: "spark", Labels: labels}
	}
	worker, prometheus := in(o.Workers.Spec.Template.Labels), in(map[string]string{"app": "prometheus"})

	for name, c := range map[string]struct {
		policy *networkingv1.NetworkPolicy
		from   netpolicy.Party
		port   int32
		want   bool
	}{
		"without the field":     {closed.Policy, prometheus, 9404, false},
		"the metrics":           {o.Policy, prometheus, 9404, true},
		"another client":        {o.Policy, in(map[string]string{"app": "web"}), 9404, false},
		"the web UI":            {o.Policy, prometheus, workerUIPort, false},
		"the shuffle service":   {o.Policy, prometheus, 7337, false},
		"a pod of the cluster":  {o.Policy, worker, 7337, true},
		"a driver, as before":   {o.Policy, in(map[string]string{LabelRole: roleDriver}), 40002, true},
		"another port than its": {o.Policy, prometheus, 9405, false},
	} {
		if got := netpolicy.Admits(t, c.policy, c.from, worker, c.port); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}

	empty := build(t, simple(func(r *Request) { r.Metrics = MetricsAccess{Port: 9404} }))
	if diff := cmp.Diff(closed.Policy, empty.Policy); diff != "" {
		t.Errorf("an empty list changes the policy (-without +with):\n%s", diff)
	}
}

// TestSparksPortsStayClosed checks that no port of Spark itself can be opened as a metrics port, whichever place sets
// that port, and that all other ports can.
func TestSparksPortsStayClosed(t *testing.T) {
	env := func(name, value string) func(*Request) {
		return func(r *Request) {
			r.Workers.StatefulSet = []byte(`{"template":{"spec":{"containers":[{"name":"worker","env":[{"name":"` + name + `","value":"` + value + `"}]}]}}}`)
		}
	}

	for name, c := range map[string]struct {
		port   int64
		change func(*Request)
		says   string // "" if the port can be opened
	}{
		"the web UI":                             {8081, with(), "worker's web UI"},
		"the web UI on another port":             {9999, with(workerUIKey, " 9999 "), "worker's web UI"},
		"the port that it left":                  {8081, with(workerUIKey, "9999"), ""},
		"a web UI on a port that is not fixed":   {9999, with(workerUIKey, "0"), ""},
		"the shuffle service":                    {7337, with(), "shuffle service"},
		"the shuffle service on another port":    {7400, with("spark.shuffle.service.port", "7400"), "shuffle service"},
		"the worker":                             {7078, env("SPARK_WORKER_PORT", "7078"), "port of the worker,"},
		"a worker on any port":                   {7078, with(), ""},
		"a worker on a port that nobody reads":   {7078, env("SPARK_WORKER_PORT", "x"), ""},
		"block managers":                         {7079, with("spark.blockManager.port", "7079"), "block managers"},
		"block managers of the next executors":   {7095, with("spark.blockManager.port", "7079"), "block managers"},
		"after the block managers":               {7096, with("spark.blockManager.port", "7079"), ""},
		"block managers, with fewer retries":     {7081, with("spark.blockManager.port", "7079", "spark.port.maxRetries", "1"), ""},
		"block managers on any port":             {7079, with("spark.blockManager.port", "0"), ""},
		"an exporter's port":                     {9404, with(), ""},
		"no port":                                {0, with(), "is not a port; use a number from 1 to 65535"},
		"beyond all ports":                       {65536, with(), "is not a port; use a number from 1 to 65535"},
		"the last port":                          {65535, with(), ""},
		"a port of the master, not of a worker":  {7077, with(), ""},
		"a port that a sidecar declares already": {9404, env("X", "y"), ""},
	} {
		_, err := Build(simple(c.change, scraped(c.port)))

		var wrong *Error
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.As(err, &wrong) || wrong.Field != fieldMetricsPort || !strings.Contains(wrong.Message, c.says)):
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestMetricsClients checks that clients are refused which the API server would refuse in the policy.
func TestMetricsClients(t *testing.T) {
	block := func(cidr string, except ...string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
	}
	all := &metav1.LabelSelector{}
	unreadable := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}

	for name, c := range map[string]struct {
		peer networkingv1.NetworkPolicyPeer
		says string
	}{
		"all pods of all namespaces":    {networkingv1.NetworkPolicyPeer{NamespaceSelector: all}, ""},
		"pods of some namespaces":       {networkingv1.NetworkPolicyPeer{NamespaceSelector: all, PodSelector: all}, ""},
		"addresses":                     {block("10.0.0.0/8", "10.1.0.0/16"), ""},
		"addresses of version 6":        {block("2001:db8::/32"), ""},
		"nothing":                       {networkingv1.NetworkPolicyPeer{}, "selects nothing"},
		"addresses and pods":            {networkingv1.NetworkPolicyPeer{PodSelector: all, IPBlock: block("10.0.0.0/8").IPBlock}, "a peer for each"},
		"no block":                      {block("10.0.0.1"), "ipBlock.cidr"},
		"an exception outside":          {block("10.0.0.0/8", "11.0.0.0/16"), "ipBlock.except"},
		"an exception that is no block": {block("10.0.0.0/8", "x"), "ipBlock.except"},
		"an exception of everything":    {block("10.0.0.0/8", "10.0.0.0/8"), "ipBlock.except"},
		"a selector of an unknown kind": {networkingv1.NetworkPolicyPeer{PodSelector: unreadable}, "Like"},
		"the same for namespaces":       {networkingv1.NetworkPolicyPeer{NamespaceSelector: unreadable}, "Like"},
	} {
		_, err := Build(simple(scraped(9404), func(r *Request) { r.Metrics.From = append(r.Metrics.From, c.peer) }))

		var wrong *Error
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.As(err, &wrong) || wrong.Field != fieldMetricsFrom+"[1]" || !strings.Contains(wrong.Message, c.says)):
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
