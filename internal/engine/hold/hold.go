// Package hold remembers why the passes over a custom resource have to wait, and since when.
package hold

import (
	"cmp"
	"crypto/sha256"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

const (
	// reasonWaiting is the reason in the Event about a wait that has no reason of its own.
	reasonWaiting = "Waiting"
	// maxRequeueDelay is the longest time after which a pass that had to wait is repeated.
	maxRequeueDelay = 15 * time.Second
	// minRequeueDelay is the shortest time after which a pass that had to wait is repeated. Until a wait has lasted for
	// this time, its transient error is returned as an error.
	minRequeueDelay = time.Second
	// unwatchedShare is the part of a wait without a watch after which its pass is repeated.
	unwatchedShare = 30
	// grace is the time after which a wait is reported. Most deletions and restarts of servers take less.
	grace = 3 * time.Second
	// reportInterval is the time after which a wait is reported again, so that its Event does not expire.
	reportInterval = 10 * time.Minute
	// maxMessage is the largest size of a reported message in bytes. It is about the size that an Event can hold.
	maxMessage = 1000
)

// Hold describes why a pass had to wait, and since when.
type Hold struct {
	apianswer.Wait
	Err    error         // a transient error; nil if nothing failed
	Since  time.Time     // the start of the first consecutive pass that had to wait, for any reason
	Waited time.Duration // the time since then
	First  bool          // the reason differs from that of the previous pass
	Status bool          // the write of the status failed
}

// Lasts reports whether the wait is long enough to be reported.
func (h *Hold) Lasts() bool { return h.Waited >= grace }

// TransientError returns the reason and the start of the wait in the form in which decisions read them
// (Observed.TransientError).
func (h *Hold) TransientError() *lifecycle.TransientError {
	return &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: h.Reason, Message: h.Message}, Since: h.Since}
}

// RecentError returns the transient error that caused the wait if the wait is shorter than a second. Otherwise it
// returns nil.
func (h *Hold) RecentError() error {
	if h.Waited < minRequeueDelay {
		return h.Err
	}
	return nil
}

// RequeueAfter returns the time until the next pass, which grows with the duration of the wait. It may be long, because
// an event that ends the wait queues the key at once. If no event will, the time is a small part of the wait: a pod of
// another owner is usually gone within its grace period of 30 s, and the next pass then follows within a second.
func (h *Hold) RequeueAfter() time.Duration {
	waited := h.Waited
	if h.Unwatched {
		waited /= unwatchedShare
	}

	after := max(h.After, min(max(waited, minRequeueDelay), maxRequeueDelay))
	if left := grace - h.Waited; left > 0 {
		after = min(after, left) // repeat the pass when the wait is to be reported
	}
	return after
}

// Memory remembers the wait of each key. The caller forgets a key when nothing holds it up any more.
type Memory struct {
	bykey.ByKey[types.NamespacedName, state]
}

type state struct {
	begun    time.Time         // the start of the first consecutive pass that had to wait, for any reason
	why      [sha256.Size]byte // a digest of the reason, because a message of the API server can be long
	since    time.Time         // the start of the first consecutive pass that waited for this reason
	reported time.Time
}

// Note remembers and returns the wait that follows from the error of a pass. It returns nil if err is nil.
func (m *Memory) Note(key types.NamespacedName, began, now time.Time, err error) *Hold {
	if err == nil {
		return nil
	}

	h := &Hold{}

	var what string
	if wait := apianswer.WaitOf(err); wait != nil {
		h.Wait, what = *wait, wait.Message
	} else {
		// The message of a transient error may differ each time, so only the reason shows whether the error is the
		// same.
		h.Err, h.Wait, what = err, apianswer.Wait{Reason: apianswer.TransientReason(err), Message: err.Error()}, apianswer.TransientReason(err)
	}

	h.Reason, h.Message = cmp.Or(h.Reason, reasonWaiting), lifecycle.Cut(h.Message, maxMessage)
	h.Since, h.First = m.begin(key, what, began)
	h.Waited = now.Sub(h.Since) // includes the time that the pass took
	return h
}

// begin remembers that a pass had to wait, and returns two facts. The result since is the time at which the wait began:
// the start of the first pass that had to wait after the key was forgotten. The result first is true if the reason
// differs from the reason of the previous pass.
func (m *Memory) begin(key types.NamespacedName, why string, began time.Time) (since time.Time, first bool) {
	digest := sha256.Sum256([]byte(why))
	m.Update(key, func(current state, known bool) (state, bool) {
		if !known {
			current.begun = began
		}

		if first = !known || current.why != digest; first {
			current = state{begun: current.begun, why: digest, since: began}
		}

		since = current.begun
		return current, true
	})
	return since, first
}

// ShouldReport reports whether the operator should report the wait of a key now. The first report is due when the wait
// reason has lasted for 3 s, and further reports every 10 minutes. ShouldReport remembers a report that is due as sent.
func (m *Memory) ShouldReport(key types.NamespacedName, now time.Time) (due bool) {
	m.Update(key, func(current state, known bool) (state, bool) {
		due = known && now.Sub(current.since) >= grace && (current.reported.IsZero() || now.Sub(current.reported) > reportInterval)
		if due {
			current.reported = now
		}
		return current, known
	})
	return due
}

// Begun returns the time at which the wait of a key began: the start of the first pass that had to wait after the key
// was forgotten. If the key does not wait, Begun returns the given time.
func (m *Memory) Begun(key types.NamespacedName, now time.Time) time.Time {
	if current, known := m.Get(key); known {
		return current.begun
	}
	return now
}
