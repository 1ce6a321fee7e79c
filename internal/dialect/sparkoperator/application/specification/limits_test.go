package specification

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestRestartPolicy checks how the fields of a restart policy determine the rules of the state machine.
func TestRestartPolicy(t *testing.T) {
	const day = 24 * time.Hour
	absent := lifecycle.Restart{Policy: lifecycle.Never, FailureInterval: defaultInterval,
		SubmissionInterval: defaultInterval}

	with := func(change func(*lifecycle.Restart)) lifecycle.Restart {
		r := absent
		change(&r)
		return r
	}
	for _, c := range []struct {
		piece string
		want  lifecycle.Restart
	}{
		{`{}`, absent},
		{`{restartPolicy: {type: Never, onFailureRetries: 3}}`,
			with(func(r *lifecycle.Restart) { r.FailureRetries = 3 })},
		{`{restartPolicy: {type: Always}}`, with(func(r *lifecycle.Restart) { r.Policy = lifecycle.Always })},
		{`{restartPolicy: {type: OnFailure, onFailureRetries: 3, onFailureRetryInterval: 10, onSubmissionFailureRetries: 5, onSubmissionFailureRetryInterval: 20}}`,
			lifecycle.Restart{Policy: lifecycle.OnFailure, FailureRetries: 3, FailureInterval: 10 * time.Second,
				SubmissionRetries: 5, SubmissionInterval: 20 * time.Second}},
		{`{restartPolicy: {type: OnFailure, onFailureRetryInterval: 0}}`,
			with(func(r *lifecycle.Restart) { r.Policy, r.FailureInterval = lifecycle.OnFailure, 0 })},
		{`{restartPolicy: {type: OnFailure, backoff: {factor: 2, maxSeconds: 600}}}`,
			with(func(r *lifecycle.Restart) { r.Policy, r.Factor, r.Max = lifecycle.OnFailure, 2, 10*time.Minute })},
		{`{restartPolicy: {type: OnFailure, backoff: {factor: 3}}}`,
			with(func(r *lifecycle.Restart) { r.Policy, r.Factor = lifecycle.OnFailure, 3 })},
		{`{restartPolicy: {type: OnFailure, backoff: {maxSeconds: 86400}}}`,
			with(func(r *lifecycle.Restart) { r.Policy, r.Max = lifecycle.OnFailure, day })},
		{`{restartPolicy: {type: OnFailure, onFailureRetryInterval: 9007199254740991}}`,
			with(func(r *lifecycle.Restart) {
				r.Policy, r.FailureInterval = lifecycle.OnFailure, time.Duration(sparkoperator.MaxSeconds)*time.Second
			})},
		{`{failureRetries: 3, retryInterval: 9}`, absent}, // mean nothing, as ever
	} {
		if diff := cmp.Diff(c.want, Restart(&sparkapp.Of(t, "spec: "+c.piece).Spec.RestartPolicy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.piece, diff)
		}
	}
}
