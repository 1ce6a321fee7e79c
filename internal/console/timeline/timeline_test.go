package timeline_test

import (
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/console/timeline"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var now = time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)

var phases = []lifecycle.Phase{
	lifecycle.New, lifecycle.Waiting, lifecycle.Launched, lifecycle.Started, lifecycle.Ready, lifecycle.Scaling, lifecycle.Running, lifecycle.Partial, lifecycle.Below,
	lifecycle.Unknown, lifecycle.Ended, lifecycle.Retained, lifecycle.Done, lifecycle.Suspending, lifecycle.Suspended, lifecycle.Resuming, lifecycle.Editing,
}

// TestTimelineHasNoGaps checks with random histories that the segments of a timeline follow each other from its start
// to its end, whatever a status contains.
func TestTimelineHasNoGaps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))

	for i := range 2000 {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
		o := &statusv1.OperatorStatus{Attempt: 1}
		app.Status.Operator = o

		for range random.IntN(statusv1.MaxHistory + 1) {
			h := statusv1.OperatorTransition{Phase: string(phases[random.IntN(len(phases))]), Attempt: int32(random.IntN(3))}
			if random.IntN(10) > 0 {
				h.At = &metav1.MicroTime{Time: now.Add(-time.Duration(random.IntN(3700)) * time.Second)}
			}

			o.History = append(o.History, h)
		}

		if random.IntN(3) == 0 {
			o.EndedAt = &metav1.MicroTime{Time: now.Add(-time.Duration(random.IntN(600)) * time.Second)}
			app.Status.Conditions = []metav1.Condition{{Type: "Failed", Status: metav1.ConditionTrue}}
		}

		line := timeline.Of(app, now)
		if len(line.Segments) == 0 {
			t.Fatalf("life %d: no segment of %+v", i, o.History)
		}

		at := line.From
		for _, s := range line.Segments {
			if !s.From.Equal(at) || !s.To.After(s.From) || s.Attempt < 1 {
				t.Fatalf("life %d: a segment from %v to %v after %v", i, s.From, s.To, at)
			}

			at = s.To
		}

		if !at.Equal(line.To) {
			t.Fatalf("life %d: the last segment ends at %v, the timeline at %v", i, at, line.To)
		}
	}
}

// TestActivities checks what an application does in the phases that mean different things.
func TestActivities(t *testing.T) {
	for phase, want := range map[statusv1.OperatorTransition]timeline.Activity{
		{Phase: ""}: timeline.Pending, {Phase: "Launched"}: timeline.Pending, {Phase: "Waiting", Reason: "OOMKilled"}: timeline.Retrying, {Phase: "Waiting", Reason: lifecycle.ReasonQuotaPending}: timeline.Queued,
		{Phase: "Scaling"}: timeline.Starting, {Phase: "Running"}: timeline.Running, {Phase: "Below"}: timeline.Degraded, {Phase: "Unknown"}: timeline.Degraded, {Phase: "Suspended"}: timeline.Paused,
		{Phase: "Ended"}: timeline.Stopping, {Phase: "Done"}: timeline.Failed,
	} {
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
		phase.At, phase.Attempt = &metav1.MicroTime{Time: now.Add(-time.Minute)}, 1
		app.Status.Operator = &statusv1.OperatorStatus{Attempt: 1, History: []statusv1.OperatorTransition{phase}}

		segments := timeline.Of(app, now).Segments
		if got := segments[len(segments)-1].Activity; got != want {
			t.Errorf("%s %s: %s, want %s", phase.Phase, phase.Reason, got, want)
		}
	}
}
