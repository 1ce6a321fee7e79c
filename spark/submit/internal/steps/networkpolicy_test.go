package steps_test

import (
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

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
			r := kit.Minimal()

			r.AppID, r.SparkVersion, r.ExecutorPorts = "ID", test.version, test.ports
			if test.excluded {
				r.Conf.Set("spark.kubernetes.driver.pod.excludedFeatureSteps",
					draft.FeaturePackage+"NetworkPolicyFeatureStep")
			}

			got := kit.PolicyOf(t, kit.Build(t, r).Before)
			if test.want == "" {
				if got != nil {
					t.Errorf("there is a policy: %+v", got.Spec)
				}
				return
			}

			kit.WantPolicy(t, got, test.want)
		})
	}
}
