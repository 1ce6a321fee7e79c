package status

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

func FuzzMemory(f *testing.F) {
	f.Add("Waiting", "Failed", "OOMKilled", "it was too big", "1:abc", int32(3), int64(1_770_000_000_000_001), int64(0))
	f.Add("Done", "", "", "", "", int32(0), int64(0), int64(-5))
	f.Fuzz(func(t *testing.T, phase, outcome, reason, message, digest string, n int32, at, later int64) {
		moment := func(us int64) time.Time {
			if us == 0 {
				return time.Time{}
			}
			return time.UnixMicro(us % (1 << 52)).UTC()
		}

		m := lifecycle.Memory{
			Phase: lifecycle.Phase(valid(phase)), Since: moment(at), Attempt: n, AttemptID: valid(digest), Runs: n,
			Submissions: n + 1, SuspendedRuns: n / 2,
			SubmittedAt: moment(at), UngatedAt: moment(at + 1), EndedAt: moment(later), NextAttempt: moment(at ^ later),
			ShortSince: moment(later + at), FailedExecutorCreatedAt: moment(at + 2),
			Outcome: lifecycle.Outcome(valid(outcome)),
			Cause:   lifecycle.Cause{Reason: valid(reason), Message: valid(message)},
		}
		if digest := valid(digest); digest != "" {
			m.SpecHash = fmt.Sprintf("%d:%s", 2, digest)
		}
		var s v1beta2.SparkApplicationStatus
		SetMemory(&s, m)
		sparkapp.RoundTrip(t, &s)

		if diff := cmp.Diff(m, Memory(&s)); diff != "" {
			t.Errorf("memory (-encoded +decoded):\n%s", diff)
		}
	})
}

// valid returns the text without the bytes that JSON cannot represent.
func valid(text string) string {
	quoted, _ := json.Marshal(text)
	_ = json.Unmarshal(quoted, &text)
	return text
}
