package application

import (
	"testing"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/admit"
	"github.com/sparkoperator/spark-operator/test/kit/calls"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestConfigurationIsComputedOnce checks how often each reader of a launch computes the Spark configuration: a decision
// with the objects of its launch, and a review with the pods for quotas. The rules of the platform read all that they
// can read, and the spec has parts about which the operator warns.
func TestConfigurationIsComputedOnce(t *testing.T) {
	d := underRules(func(s *dialect.Subject) []*dialect.FieldError {
		s.Settings()
		s.Workers()
		_, faults := s.Pods()
		return faults
	})
	d.Defaults = &platform.Settings{Version: "v1", SparkConf: map[string]string{"spark.ui.port": "4050"}}
	d.Admission = admit.Available{Webhook: true}

	const spec = `spec: {monitoring: {exposeDriverMetrics: true, prometheusServlet: true}, executor: {memoryLimit: 2g}, sparkConf: {spark.executor.instances: "9"}`
	for name, piece := range map[string]string{"native": spec + "}",
		"spark-submit": spec + ", submission: {mode: SparkSubmit}}"} {
		once := func() {
			if _, err := specification.Configuration(sparkapp.Of(t, piece)); err != nil {
				t.Fatal(err)
			}
		}
		for reader, read := range map[string]func(*v1beta2.SparkApplication){
			"a decision and its launch": func(app *v1beta2.SparkApplication) {
				plan := d.Decide(app, lifecycle.Observed{Confirmed: true}, sparkapp.T0)
				if _, err := d.Render(app, plan.Actions[0], sparkapp.T0); err != nil {
					t.Fatal(err)
				}
			},
			"a review with quotas": func(app *v1beta2.SparkApplication) {
				review := d.Review(app, sparkapp.T0)
				if len(review.Faults) > 0 || len(review.Pods()) != 2 || len(review.Warnings) == 0 {
					t.Fatalf("faults %v, %d pods, warnings %q", review.Faults, len(review.Pods()), review.Warnings)
				}
			},
			"an executor": func(app *v1beta2.SparkApplication) {
				if _, err := d.Executor(app, 1, 1, "", sparkapp.T0); err != nil {
					t.Fatal(err)
				}
			},
		} {
			app := sparkapp.Of(t, piece)

			const function = "github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/specification.Configuration"
			if n := calls.Of(t, function, once, func() { read(app) }); n != 1 {
				t.Errorf("%s, %s: the configuration was computed %d times", name, reader, n)
			}
		}
	}
}
