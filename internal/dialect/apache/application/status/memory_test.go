package status

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// FuzzMemory checks the law of every dialect: the memory that a decision stores is the memory that the next decision
// reads, also after the status was converted to JSON and back.
func FuzzMemory(f *testing.F) {
	f.Add("Waiting", "Failed", "OOMKilled", "it was too big", "pi-0", int32(3), int64(1_770_000_000_000_001), int64(0))
	f.Add("Unknown", "", "", "", "", int32(0), int64(0), int64(-5))
	f.Fuzz(func(t *testing.T, phase, outcome, reason, text, id string, n int32, at, later int64) {
		moment := func(us int64) time.Time {
			if us == 0 {
				return time.Time{}
			}
			return time.UnixMicro(us % (1 << 52)).UTC()
		}
		valid := func(text string) string { return string([]rune(text)) }
		m := lifecycle.Memory{
			Phase: lifecycle.Phase(valid(phase)), Since: moment(at), Attempt: n, AttemptID: valid(id), Runs: n,
			Submissions: n + 1, SuspendedRuns: n / 2,
			SubmittedAt: moment(at), UngatedAt: moment(at + 1), EndedAt: moment(later), NextAttempt: moment(at ^ later),
			ShortSince: moment(later + at), FailedExecutorCreatedAt: moment(at + 2),
			Restarts:           lifecycle.Restarts{Total: at, Failures: later, Rejections: int64(n)},
			PhaseBeforeUnknown: lifecycle.Phase(valid(outcome)),
			EnoughExecutors:    n / 3,
			Outcome:            lifecycle.Outcome(valid(outcome)),
			Cause:              lifecycle.Cause{Reason: valid(reason), Message: valid(text)},
		}
		var s sparkv1.ApplicationStatus
		remember(&s, m)

		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}

		var read sparkv1.ApplicationStatus
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(m, Memory(&read)); diff != "" {
			t.Errorf("remembered (-encoded +decoded):\n%s", diff)
		}
	})
}

// TestMemoryOfOtherStatuses checks the memory of statuses that this operator did not write, or that somebody edited.
func TestMemoryOfOtherStatuses(t *testing.T) {
	summary := &sparkv1.ApplicationAttemptSummary{AttemptInfo: &sparkv1.AttemptInfo{RestartCounter: 3,
		FailureRestartCounter: 2, SchedulingFailureRestartCounter: 1}}

	ours := &sparkv1.OperatorStatus{OperatorStatus: v1beta2.OperatorStatus{Phase: "Running", Attempt: 4},
		AttemptID: "pi-3", Runs: 4, Submissions: 5, Before: "Started"}
	for name, c := range map[string]struct {
		status sparkv1.ApplicationStatus
		want   lifecycle.Memory
	}{
		"no status": {sparkv1.ApplicationStatus{}, lifecycle.Memory{}},
		"counters of another operator": {sparkv1.ApplicationStatus{CurrentAttemptSummary: summary},
			lifecycle.Memory{}},
		"ours without a summary": {sparkv1.ApplicationStatus{Operator: ours},
			lifecycle.Memory{Phase: lifecycle.Running, Attempt: 4, AttemptID: "pi-3", Runs: 4, Submissions: 5,
				PhaseBeforeUnknown: lifecycle.Started}},
		"ours with a summary of nothing": {sparkv1.ApplicationStatus{Operator: ours,
			CurrentAttemptSummary: &sparkv1.ApplicationAttemptSummary{}},
			lifecycle.Memory{Phase: lifecycle.Running, Attempt: 4, AttemptID: "pi-3", Runs: 4, Submissions: 5,
				PhaseBeforeUnknown: lifecycle.Started}},
		"ours with the counters of restarts": {sparkv1.ApplicationStatus{Operator: ours,
			CurrentAttemptSummary: summary},
			lifecycle.Memory{Phase: lifecycle.Running, Attempt: 4, AttemptID: "pi-3", Runs: 4, Submissions: 5,
				PhaseBeforeUnknown: lifecycle.Started,
				Restarts:           lifecycle.Restarts{Total: 3, Failures: 2, Rejections: 1}}},
	} {
		if diff := cmp.Diff(c.want, Memory(&c.status)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
