package runner

import (
	"maps"
	"slices"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

// TestRunnerOpensPorts checks that Build returns a NetworkPolicy for Request.ExecutorPorts, because the policy of
// spark-submit does not open these ports. Build's policy must not close a port that spark-submit leaves open.
func TestRunnerOpensPorts(t *testing.T) {
	runner := func(version string, ports ...int32) submit.Request {
		r := kit.Minimal()
		r.SparkVersion, r.ExecutorPorts, r.Labels = version, ports, map[string]string{"a": "b", "c": "d"}
		return r
	}
	r := runner("4.2.1", 8090)
	o := buildRunner(t, r)
	kit.WantPolicy(t, o.Policy, `{podSelector: {matchLabels: {a: b, c: d, spark-role: executor}},
ingress: [{from: [{podSelector: {matchLabels: {a: b, c: d}}}]}, {ports: [{protocol: TCP, port: 8090}]}]}`)

	if o.Policy.Namespace != r.Namespace || len(o.Policy.OwnerReferences) != 1 ||
		!maps.Equal(o.Policy.Labels, r.Labels) {
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
	excluded.Conf.Set("spark.kubernetes.driver.pod.excludedFeatureSteps",
		draft.FeaturePackage+"NetworkPolicyFeatureStep")

	unlabelled := runner("4.3.0", 8090)

	unlabelled.Labels = nil
	for name, r := range map[string]submit.Request{
		"before 4.2": runner("4.1.4", 8090), "no ports": runner("4.2.1"), "excluded step": excluded,
		"no labels to select pods": unlabelled,
	} {
		if o := buildRunner(t, r); o.Policy != nil {
			t.Errorf("%s: %+v", name, o.Policy.Spec)
		}
	}
}

// TestRunnerIsNotScraped checks that the runner pod does not get the annotations with which Prometheus scrapes the
// driver.
func TestRunnerIsNotScraped(t *testing.T) {
	r := kit.With("spark.kubernetes.driver.annotation.prometheus.io/scrape", "true",
		"spark.kubernetes.driver.annotation.mine", "kept")
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
