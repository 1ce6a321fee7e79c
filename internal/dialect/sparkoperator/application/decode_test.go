package application

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestRestartPolicy checks how the fields of a restart policy determine the rules of the state machine.
func TestRestartPolicy(t *testing.T) {
	const day = 24 * time.Hour
	absent := lifecycle.Restart{Policy: lifecycle.Never, FailureInterval: defaultInterval, SubmissionInterval: defaultInterval}

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
		{`{restartPolicy: {type: Never, onFailureRetries: 3}}`, with(func(r *lifecycle.Restart) { r.FailureRetries = 3 })},
		{`{restartPolicy: {type: Always}}`, with(func(r *lifecycle.Restart) { r.Policy = lifecycle.Always })},
		{`{restartPolicy: {type: OnFailure, onFailureRetries: 3, onFailureRetryInterval: 10, onSubmissionFailureRetries: 5, onSubmissionFailureRetryInterval: 20}}`,
			lifecycle.Restart{Policy: lifecycle.OnFailure, FailureRetries: 3, FailureInterval: 10 * time.Second, SubmissionRetries: 5, SubmissionInterval: 20 * time.Second}},
		{`{restartPolicy: {type: OnFailure, onFailureRetryInterval: 0}}`, with(func(r *lifecycle.Restart) { r.Policy, r.FailureInterval = lifecycle.OnFailure, 0 })},
		{`{restartPolicy: {type: OnFailure, backoff: {factor: 2, maxSeconds: 600}}}`,
			with(func(r *lifecycle.Restart) { r.Policy, r.Factor, r.Max = lifecycle.OnFailure, 2, 10*time.Minute })},
		{`{restartPolicy: {type: OnFailure, backoff: {factor: 3}}}`, with(func(r *lifecycle.Restart) { r.Policy, r.Factor = lifecycle.OnFailure, 3 })},
		{`{restartPolicy: {type: OnFailure, backoff: {maxSeconds: 86400}}}`, with(func(r *lifecycle.Restart) { r.Policy, r.Max = lifecycle.OnFailure, day })},
		{`{restartPolicy: {type: OnFailure, onFailureRetryInterval: 9007199254740991}}`,
			with(func(r *lifecycle.Restart) {
				r.Policy, r.FailureInterval = lifecycle.OnFailure, time.Duration(sparkoperator.MaxSeconds)*time.Second
			})},
		{`{failureRetries: 3, retryInterval: 9}`, absent}, // mean nothing, as ever
	} {
		if diff := cmp.Diff(c.want, usual.app(appOf(t, "spec: "+c.piece)).Restart); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.piece, diff)
		}
	}
}

// TestTimeouts checks the deadlines of an application. A deadline that the application sets or disables overrides the
// operator's default.
func TestTimeouts(t *testing.T) {
	operators := lifecycle.Deadlines{DriverStart: time.Minute, DriverReady: 2 * time.Minute, ExecutorsStart: 3 * time.Minute, Run: time.Hour}
	for _, c := range []struct {
		piece    string
		operator lifecycle.Deadlines
		want     lifecycle.Deadlines
	}{
		{`{}`, lifecycle.Deadlines{}, lifecycle.Deadlines{}},
		{`{}`, operators, operators},
		{`{timeouts: {}}`, operators, operators},
		{`{timeouts: {driverStartSeconds: 1, driverReadySeconds: 2, executorsStartSeconds: 3, runSeconds: 4}}`, operators,
			lifecycle.Deadlines{DriverStart: time.Second, DriverReady: 2 * time.Second, ExecutorsStart: 3 * time.Second, Run: 4 * time.Second}},
		{`{timeouts: {runSeconds: 4}}`, operators, lifecycle.Deadlines{DriverStart: time.Minute, DriverReady: 2 * time.Minute, ExecutorsStart: 3 * time.Minute, Run: 4 * time.Second}},
		{`{timeouts: {driverStartSeconds: 0, runSeconds: 0}}`, operators, lifecycle.Deadlines{DriverReady: 2 * time.Minute, ExecutorsStart: 3 * time.Minute}},
	} {
		d := Dialect{Options{Limits: c.operator}}
		if diff := cmp.Diff(c.want, d.app(appOf(t, "spec: "+c.piece)).Deadlines); diff != "" {
			t.Errorf("%s, the operator's %+v (-want +got):\n%s", c.piece, c.operator, diff)
		}
	}
}

// TestTimeToLive checks that a finished application without timeToLiveSeconds is kept for ever, and that 0 means
// immediate deletion.
func TestTimeToLive(t *testing.T) {
	for _, c := range []struct {
		piece    string
		operator time.Duration
		want     *time.Duration
	}{
		{`{}`, 0, nil},
		{`{}`, time.Minute, new(time.Minute)},
		{`{timeToLiveSeconds: 9}`, time.Minute, new(9 * time.Second)},
		{`{timeToLiveSeconds: 0}`, time.Minute, new(time.Duration(0))},
	} {
		d := Dialect{Options{DefaultTTL: c.operator}}
		if diff := cmp.Diff(c.want, d.app(appOf(t, "spec: "+c.piece)).TTL); diff != "" {
			t.Errorf("%s, the operator's %s (-want +got):\n%s", c.piece, c.operator, diff)
		}
	}
}

// TestEdited checks that an application counts as edited if its generation is above 1. The API server creates objects
// with generation 1, and each edit of the spec increases the generation.
func TestEdited(t *testing.T) {
	app := appOf(t, "spec: {}")
	for generation, want := range map[int64]bool{1: false, 2: true} {
		if app.Generation = generation; usual.app(app).Edited != want {
			t.Errorf("generation %d is read as edited: %t", generation, !want)
		}
	}
}
