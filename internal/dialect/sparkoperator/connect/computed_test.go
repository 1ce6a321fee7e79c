package connect

import (
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/calls"
)

// TestConfigurationIsComputedOnce checks how often each reader of a launch computes the Spark configuration: a decision
// with the objects of its server, and a review with the pods for quotas. The rules of the platform read all that they
// can read, and the server has a web UI.
func TestConfigurationIsComputedOnce(t *testing.T) {
	c := onPlatform(everyDefault())
	c.UI.Service = true

	c.Rules = ruleSet{faults: func(s *dialect.Subject) []*dialect.FieldError {
		s.Settings()
		s.Workers()
		_, faults := s.Pods()
		return faults
	}}
	for reader, read := range map[string]func(*v1alpha1.SparkConnect){
		"a decision and its server": func(sc *v1alpha1.SparkConnect) {
			plan := c.Decide(sc, lifecycle.Observed{Confirmed: true}, connectBegan)
			if _, err := c.Render(sc, plan.Actions[0], connectBegan); err != nil {
				t.Fatal(err)
			}
		},
		"a review with quotas": func(sc *v1alpha1.SparkConnect) {
			review := c.Review(sc)
			if len(review.Faults) > 0 || len(review.Pods()) != 2 {
				t.Fatalf("faults %v", review.Faults)
			}
		},
		"the objects of a running server": func(sc *v1alpha1.SparkConnect) {
			sc.Status.Operator = &v1alpha1.OperatorStatus{}
			if len(c.AuxiliaryObjects(sc).Objects) != 2 {
				t.Fatal("the server has other objects")
			}
		},
	} {
		sc := aConnect()

		const function = "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/connect.connectConf"
		if n := calls.Of(t, function, func() { connectConf(aConnect()) }, func() { read(sc) }); n != 1 {
			t.Errorf("%s: the configuration was computed %d times", reader, n)
		}
	}
}
