package submit

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// policyOf returns the NetworkPolicy among the objects of a submission, or nil if there is none.
func policyOf(t *testing.T, objects []Object) (found *networkingv1.NetworkPolicy) {
	t.Helper()
	for _, o := range objects {
		if policy, ok := o.(*networkingv1.NetworkPolicy); ok {
			if found != nil {
				t.Fatal("two policies")
			}
			found = policy
		}
	}
	return found
}

func wantPolicy(t *testing.T, got *networkingv1.NetworkPolicy, want string) {
	t.Helper()
	var spec networkingv1.NetworkPolicySpec
	if err := yaml.UnmarshalStrict([]byte(want), &spec); err != nil {
		t.Fatal(err)
	}
	if got == nil {
		t.Fatal("there is no policy")
	}
	if diff := cmp.Diff(spec, got.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOpenPorts checks the NetworkPolicy with which Spark isolates executors from version 4.2 on. The policy opens
// Request.ExecutorPorts to all clients. If Spark does not isolate executors, Build returns no policy.
func TestOpenPorts(t *testing.T) {
	const closed = `{podSelector: {matchLabels: {spark-role: executor, spark-app-selector: ID}},
ingress: [{from: [{podSelector: {matchLabels: {spark-app-selector: ID}}}]}]}`
	const open = `{podSelector: {matchLabels: {spark-role: executor, spark-app-selector: ID}},
ingress: [{from: [{podSelector: {matchLabels: {spark-app-selector: ID}}}]}, {ports: [{protocol: TCP, port: 8090}, {protocol: TCP, port: 9999}]}]}`
	for _, test := range []struct {
		name, version string
		ports         []int32
		excluded      bool
		want          string
	}{
		{"before 4.2", "4.1.4", []int32{8090}, false, ""},
		{"no ports", "4.2.1", nil, false, closed},
		{"two ports", "4.2.1", []int32{8090, 9999}, false, open},
		{"a later version", "4.3.0", []int32{8090, 9999}, false, open},
		{"excluded step", "4.3.0", []int32{8090}, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := minimal()
			r.AppID, r.SparkVersion, r.ExecutorPorts = "ID", test.version, test.ports
			if test.excluded {
				r.Conf.Set("spark.kubernetes.driver.pod.excludedFeatureSteps", featurePackage+"NetworkPolicyFeatureStep")
			}
			got := policyOf(t, build(t, r).Before)
			if test.want == "" {
				if got != nil {
					t.Errorf("there is a policy: %+v", got.Spec)
				}
				return
			}
			wantPolicy(t, got, test.want)
		})
	}
}

// TestRunnerOpensPorts checks that BuildRunner returns a NetworkPolicy for Request.ExecutorPorts, because the policy of
// spark-submit does not open these ports. BuildRunner's policy must not close a port that spark-submit leaves open.
func TestRunnerOpensPorts(t *testing.T) {
	runner := func(version string, ports ...int32) Request {
		r := minimal()
		r.SparkVersion, r.ExecutorPorts, r.Labels = version, ports, map[string]string{"a": "b", "c": "d"}
		return r
	}
	r := runner("4.2.1", 8090)
	o := buildRunner(t, r)
	wantPolicy(t, o.Policy, `{podSelector: {matchLabels: {a: b, c: d, spark-role: executor}},
ingress: [{from: [{podSelector: {matchLabels: {a: b, c: d}}}]}, {ports: [{protocol: TCP, port: 8090}]}]}`)
	if o.Policy.Namespace != r.Namespace || len(o.Policy.OwnerReferences) != 1 || !maps.Equal(o.Policy.Labels, r.Labels) {
		t.Errorf("metadata of the policy: %+v", o.Policy.ObjectMeta)
	}
	// The policy selects pods by labels that the configuration of spark-submit sets.
	props := runnerProps(t, o)
	for _, role := range []string{"driver", "executor"} {
		for key, value := range r.Labels {
			if props["spark.kubernetes."+role+".label."+key] != value {
				t.Errorf("the %s has no label %s", role, key)
			}
		}
	}
	excluded := runner("4.3.0", 8090)
	excluded.Conf.Set("spark.kubernetes.driver.pod.excludedFeatureSteps", featurePackage+"NetworkPolicyFeatureStep")
	unlabelled := runner("4.3.0", 8090)
	unlabelled.Labels = nil
	for name, r := range map[string]Request{
		"before 4.2": runner("4.1.4", 8090), "no ports": runner("4.2.1"), "excluded step": excluded, "no labels to select pods": unlabelled,
	} {
		if o := buildRunner(t, r); o.Policy != nil {
			t.Errorf("%s: %+v", name, o.Policy.Spec)
		}
	}
}

// TestRunnerIsNotScraped checks that the runner pod does not get the annotations with which Prometheus scrapes the
// driver.
func TestRunnerIsNotScraped(t *testing.T) {
	r := with("spark.kubernetes.driver.annotation.prometheus.io/scrape", "true", "spark.kubernetes.driver.annotation.mine", "kept")
	r.Driver.Annotations = map[string]string{"prometheus.io/port": "8090"}
	o := buildRunner(t, r)
	if got := slices.Sorted(maps.Keys(o.Pod.Annotations)); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("annotations of the runner: %v", got)
	}
	if props := runnerProps(t, o); props["spark.kubernetes.driver.annotation.prometheus.io/scrape"] != "true" {
		t.Error("the driver has lost the annotation")
	}
	if template := runnerTemplate(t, o, "driver.json"); template.Annotations["prometheus.io/port"] != "8090" {
		t.Errorf("annotations of the driver's template: %v", template.Annotations)
	}
}
