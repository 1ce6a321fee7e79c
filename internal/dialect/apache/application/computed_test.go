package application

import (
	"testing"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/apache/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/calls"
)

// curiousRules are rules of the platform that read all that they can read.
type curiousRules struct{}

func (curiousRules) Faults(s *dialect.Subject) []*dialect.FieldError {
	s.Settings()
	s.Workers()
	_, faults := s.Pods()
	return faults
}

func (curiousRules) ExposureFaults(*dialect.Exposing) []*dialect.FieldError { return nil }

// TestConfigurationIsComputedOnce checks how often each reader of a launch computes the Spark configuration: a decision
// with the objects of its launch, and a review with the pods for quotas.
func TestConfigurationIsComputedOnce(t *testing.T) {
	for name, mode := range map[string]dialect.SubmissionMode{"native": dialect.SubmissionAuto,
		"spark-submit": dialect.SubmissionSparkSubmit} {
		a := Applications{Options{Submission: mode, Rules: curiousRules{}, Defaults: platformDefaults()}}

		once := func() {
			if _, wrong := sparkConf(a.next(written(t), 1, noon).Attempt.app, fields.Program{}); wrong != nil {
				t.Fatal(wrong)
			}
		}
		for reader, read := range map[string]func(*sparkv1.SparkApplication){
			"a decision and its launch": func(app *sparkv1.SparkApplication) {
				plan := a.Decide(app, lifecycle.Observed{Confirmed: true}, noon)
				if _, err := a.Render(app, plan.Actions[0], noon); err != nil {
					t.Fatal(err)
				}
			},
			"a review with quotas": func(app *sparkv1.SparkApplication) {
				review := a.Review(app, noon)
				if len(review.Faults) > 0 || len(review.Pods()) != 2 {
					t.Fatalf("faults %v", review.Faults)
				}
			},
		} {
			app := written(t)

			const function = "github.com/sparkoperator/spark-operator/internal/dialect/apache/application.sparkConf"
			if n := calls.Of(t, function, once, func() { read(app) }); n != 1 {
				t.Errorf("%s, %s: the configuration was computed %d times", name, reader, n)
			}
		}
	}
}
