// Package hold remembers what holds up the passes over a custom resource, and since when.
package hold

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

const (
	// reasonWaiting is the Event's reason for what holds up a pass, where there is no better.
	reasonWaiting = "Waiting"
	// MaxLookAgain bounds how long a pass that waits is put off.
	MaxLookAgain = 15 * time.Second
	// lookAgain is the shortest time until a pass that waits is tried again, and how long weather is returned as the error that it is.
	lookAgain = time.Second
	// grace is how long something may hold up a pass before anybody is told: what is being deleted, or a server that is being started anew, is
	// mostly over by then.
	grace = 3 * time.Second
	// tellAgain keeps the Event of a long wait from expiring, at a price that many applications can pay at once.
	tellAgain = 10 * time.Minute
	// maxWhy bounds what is told of a hold, in bytes: as much as an Event can hold.
	maxWhy = 1000
)

// Hold is what held up a pass.
type Hold struct {
	apianswer.Wait
	Err    error         // of weather; nil where nothing failed
	Since  time.Time     // when the first of the passes began that were held up, by whatever
	Waited time.Duration // since then
	First  bool          // the cause is news
}

// Lasts reports whether it has been for so long that people are told.
func (h *Hold) Lasts() bool { return h.Waited >= grace }

// Weather is the fact that a hold is to decisions once it lasts.
func (h *Hold) Weather() *lifecycle.Weather {
	return &lifecycle.Weather{Cause: lifecycle.Cause{Reason: h.Reason, Message: h.Message}, Since: h.Since}
}

// Passing returns the error of weather in its first second; nil of any other hold.
func (h *Hold) Passing() error {
	if h.Waited < lookAgain {
		return h.Err
	}
	return nil
}

// Again is when to try again. That grows with the time that was waited: the event of what is waited for, where there is one, is what
// really wakes the key.
func (h *Hold) Again() time.Duration {
	after := max(h.After, min(max(h.Waited, lookAgain), MaxLookAgain))
	if left := grace - h.Waited; left > 0 {
		after = min(after, left) // when it is to be told
	}
	return after
}

// Memory remembers what each key waits for, until it waits no more.
type Memory struct {
	memory.ByKey[types.NamespacedName, state]
}

type state struct {
	begun time.Time         // of the first pass that was held up, whatever by; none since then went through
	why   [sha256.Size]byte // the words themselves may be the API server's, and long
	since time.Time         // of this cause
	told  time.Time
}

// Note notes what the error means of a pass that began at a time, and failed by now; nil where there is no error.
func (m *Memory) Note(key types.NamespacedName, began, now time.Time, err error) *Hold {
	if err == nil {
		return nil
	}
	h := &Hold{}
	var what string
	if wait := apianswer.WaitOf(err); wait != nil {
		h.Wait, what = *wait, wait.Message
	} else {
		// Each failure may be worded anew.
		h.Err, h.Wait, what = err, apianswer.Wait{Reason: apianswer.TransientReason(err), Message: err.Error()}, apianswer.TransientReason(err)
	}
	h.Reason, h.Message = cmp.Or(h.Reason, reasonWaiting), brief(h.Message)
	h.Since, h.First = m.on(key, what, began)
	h.Waited = now.Sub(h.Since) // also what it took to fail
	return h
}

func brief(why string) string {
	if len(why) > maxWhy {
		return strings.ToValidUTF8(why[:maxWhy], "") + "..."
	}
	return why
}

// on notes that a key waits, in a pass that began at a time. It returns when the first of the passes began that were held up, and whether the
// cause is another than before.
func (m *Memory) on(key types.NamespacedName, why string, began time.Time) (since time.Time, first bool) {
	said := sha256.Sum256([]byte(why))
	m.Update(key, func(is state, known bool) (state, bool) {
		if !known {
			is.begun = began
		}
		if first = !known || is.why != said; first {
			is = state{begun: is.begun, why: said, since: began}
		}
		since = is.begun
		return is, true
	})
	return since, first
}

// Tell reports whether what a key waits for is to be told now: once it has lasted, and again from time to time.
func (m *Memory) Tell(key types.NamespacedName, now time.Time) (due bool) {
	m.Update(key, func(is state, known bool) (state, bool) {
		due = known && now.Sub(is.since) >= grace && (is.told.IsZero() || now.Sub(is.told) > tellAgain)
		if due {
			is.told = now
		}
		return is, known
	})
	return due
}

// Begun returns when the first of the passes began that were held up, or now where none was.
func (m *Memory) Begun(key types.NamespacedName, now time.Time) time.Time {
	if is, known := m.Get(key); known {
		return is.begun
	}
	return now
}
