package specification

import (
	"time"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// defaultInterval is the time before a retry if the application sets no interval. The webhook of this API's original
// operator sets the same default.
const defaultInterval = 5 * time.Second

// Restart converts spec.restartPolicy.
func Restart(p *v1beta2.RestartPolicy) lifecycle.Restart {
	r := lifecycle.Restart{
		Policy:             lifecycle.Never,
		FailureInterval:    sparkoperator.Seconds(p.OnFailureRetryInterval, defaultInterval),
		SubmissionInterval: sparkoperator.Seconds(p.OnSubmissionFailureRetryInterval, defaultInterval),
	}
	switch p.Type {
	case v1beta2.RestartPolicyAlways:
		r.Policy = lifecycle.Always
	case v1beta2.RestartPolicyOnFailure:
		r.Policy = lifecycle.OnFailure
	}

	if p.OnFailureRetries != nil {
		r.FailureRetries = *p.OnFailureRetries
	}

	if p.OnSubmissionFailureRetries != nil {
		r.SubmissionRetries = *p.OnSubmissionFailureRetries
	}

	if b := p.Backoff; b != nil {
		if b.Factor != nil {
			r.Factor = float64(*b.Factor)
		}

		r.Max = sparkoperator.Seconds(b.MaxSeconds, 0)
	}
	return r
}

// Deadlines converts spec.timeouts. The deadlines that it does not set are those of the argument d.
func Deadlines(t *v1beta2.Timeouts, d lifecycle.Deadlines) lifecycle.Deadlines {
	if t == nil {
		return d
	}
	return lifecycle.Deadlines{
		DriverStart:    sparkoperator.Seconds(t.DriverStartSeconds, d.DriverStart),
		DriverReady:    sparkoperator.Seconds(t.DriverReadySeconds, d.DriverReady),
		ExecutorsStart: sparkoperator.Seconds(t.ExecutorsStartSeconds, d.ExecutorsStart),
		Run:            sparkoperator.Seconds(t.RunSeconds, d.Run),
	}
}

// Timeouts converts the timeouts of the platform's defaults.
func Timeouts(t platform.Timeouts) *v1beta2.Timeouts {
	return &v1beta2.Timeouts{
		DriverStartSeconds: t.DriverStartSeconds, DriverReadySeconds: t.DriverReadySeconds,
		ExecutorsStartSeconds: t.ExecutorsStartSeconds, RunSeconds: t.RunSeconds,
	}
}
