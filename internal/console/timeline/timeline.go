// Package timeline computes what an application did since its creation, from the history of its status.
package timeline

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Activity is what an application does in a phase, in as much detail as a timeline shows.
type Activity string

// These are the values of Activity.
const (
	Queued    Activity = "queued"   // a queue has not given quota yet
	Pending   Activity = "pending"  // the driver does not run yet
	Starting  Activity = "starting" // the driver runs; too few executors run
	Running   Activity = "running"
	Degraded  Activity = "degraded" // fewer executors run than wanted, or the node of the driver is lost
	Retrying  Activity = "retrying" // waits until the next attempt
	Stopping  Activity = "stopping"
	Paused    Activity = "paused" // suspended
	Succeeded Activity = "succeeded"
	Failed    Activity = "failed"
)

// Timeline is what an object did since its creation, oldest first and without gaps.
type Timeline struct {
	From time.Time `json:"from"`
	// To is the end of the last attempt or, if the object has not ended, the present.
	To       time.Time `json:"to"`
	Segments []Segment `json:"segments"`
	// Cut is true if the status no longer has the oldest phases.
	Cut bool `json:"cut,omitempty"`
}

// Segment is a time in which an object was in one phase.
type Segment struct {
	Activity Activity  `json:"activity"`
	Phase    string    `json:"phase"`
	Reason   string    `json:"reason,omitempty"`
	Attempt  int32     `json:"attempt,omitempty"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
}

// Attempt is the part of a timeline that belongs to one attempt.
type Attempt struct {
	Number   int32
	Segments []Segment
}

// Attempts returns the segments by attempt, the first attempt first.
func (t *Timeline) Attempts() (out []Attempt) {
	for _, s := range t.Segments {
		if len(out) == 0 || out[len(out)-1].Number != s.Attempt {
			out = append(out, Attempt{Number: s.Attempt})
		}

		last := &out[len(out)-1]
		last.Segments = append(last.Segments, s)
	}
	return out
}

// Of returns the timeline of an object whose status has a history.
func Of(object client.Object, now time.Time) Timeline {
	s := kube.Summarize(object)
	if s.Over() && !s.Ended.IsZero() {
		now = s.Ended
	}
	return Until(&s, now)
}

// Until returns the timeline of an object until a time.
func Until(s *kube.Summary, until time.Time) Timeline {
	t := Timeline{From: s.Created.UTC(), To: until.UTC()}

	history := slices.DeleteFunc(slices.Clone(s.History), func(h statusv1.OperatorTransition) bool { return h.At == nil })
	slices.SortStableFunc(history, func(a, b statusv1.OperatorTransition) int { return a.At.Compare(b.At.Time) })
	t.Cut = len(history) >= statusv1.MaxHistory

	if len(history) == 0 || history[0].At.After(t.From) && !t.Cut {
		first := statusv1.OperatorTransition{At: &metav1.MicroTime{Time: t.From}, Attempt: 1}
		history = slices.Insert(history, 0, first)
	} else if t.Cut {
		t.From = history[0].At.UTC()
	}

	for i := range history {
		h := &history[i]

		to := t.To
		if i+1 < len(history) {
			to = history[i+1].At.UTC()
		}

		from := latest(t.From, h.At.UTC())
		if to = earliest(to, t.To); !to.After(from) {
			continue
		}

		t.Segments = append(t.Segments, Segment{
			Activity: activityOf(h, s.Result), Phase: cmp.Or(bounds.Line(h.Phase), "New"), Reason: bounds.Line(h.Reason), Attempt: max(h.Attempt, 1), From: from, To: to,
		})
	}
	return t
}

// activityOf returns what an application does after a transition. The result of the object decides what an end is.
func activityOf(h *statusv1.OperatorTransition, result kube.Result) Activity {
	phase := lifecycle.Phase(h.Phase)
	switch {
	case phase == lifecycle.New, phase == lifecycle.Launched, phase == lifecycle.Resuming:
		if lifecycle.IsQuotaWait(h.Reason) {
			return Queued
		}
		return Pending
	case phase == lifecycle.Waiting && lifecycle.IsQuotaWait(h.Reason):
		return Queued
	case phase == lifecycle.Waiting:
		return Retrying
	case phase == lifecycle.Started, phase == lifecycle.Ready, phase == lifecycle.Scaling:
		return Starting
	case phase == lifecycle.Running:
		return Running
	case phase == lifecycle.Partial, phase == lifecycle.Below, phase == lifecycle.Unknown:
		return Degraded
	case phase == lifecycle.Suspended:
		return Paused
	case phase.Terminal() && result == kube.Succeeded:
		return Succeeded
	case phase.Terminal():
		return Failed
	}
	return Stopping
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
