package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

const (
	// reasonWaiting is the Event's reason for what holds up a pass, where there is no better.
	reasonWaiting = "Waiting"
	// maxLookAgain bounds how long a pass that waits is put off.
	maxLookAgain = 15 * time.Second
	// waitGrace is how long something may hold up a pass before anybody is told: what is being deleted, or a server that is being started anew, is
	// mostly over by then.
	waitGrace = 3 * time.Second
	// tellWaitAgain keeps the Event of a long wait from expiring, at a price that many applications can pay at once.
	tellWaitAgain = 10 * time.Minute
)

// hold is what held up a pass.
type hold struct {
	apianswer.Wait
	err    error         // of weather; nil where nothing failed
	since  time.Time     // when the first of the passes began that were held up, by whatever
	waited time.Duration // since then
	first  bool          // the cause is news
}

// holdOf notes what the error of a pass means for a key; nil where there is none.
func (r *Reconciler) holdOf(key types.NamespacedName, p *pass, err error) *hold {
	if err == nil {
		return nil
	}
	h := &hold{}
	var what string
	if wait := apianswer.WaitOf(err); wait != nil {
		h.Wait, what = *wait, wait.Message
	} else {
		// Each failure may be worded anew.
		h.err, h.Wait, what = err, apianswer.Wait{Reason: apianswer.TransientReason(err), Message: err.Error()}, apianswer.TransientReason(err)
	}
	h.Reason, h.Message = cmp.Or(h.Reason, reasonWaiting), brief(h.Message)
	h.since, h.first = r.waits.on(key, what, p.now)
	h.waited = r.clock().Sub(h.since) // also what it took to fail
	return h
}

// lasts reports whether it has been for so long that people are told.
func (h *hold) lasts() bool { return h.waited >= waitGrace }

// weather is the fact that a hold is to decisions once it lasts.
func (h *hold) weather() *lifecycle.Weather {
	return &lifecycle.Weather{Cause: lifecycle.Cause{Reason: h.Reason, Message: h.Message}, Since: h.since}
}

// wait logs and tells what holds up a pass, and returns when to try again. That grows with the time that was waited: the event of what
// is waited for, where there is one, is what really wakes the key. Weather is an error in its first second, most is over by then.
func (r *Reconciler) wait(ctx context.Context, key types.NamespacedName, p *pass, h *hold) (time.Duration, error) {
	r.metrics.Held(r.kind.Name, key, h.Reason)
	if h.err != nil && h.waited < lookAgain {
		return 0, h.err
	}
	tell := r.waits.tell(key, r.clock())
	logger := log.FromContext(ctx)
	if !h.first && (!tell || h.err == nil) {
		logger = logger.V(1)
	}
	logger.Info("waiting", "cause", h.Message)
	if tell {
		r.events.Event(r.reference(p.stored), p.now, corev1.EventTypeWarning, h.Reason, "waiting: "+conf.HideAddresses(h.Message))
	}
	after := max(h.After, min(max(h.waited, lookAgain), maxLookAgain))
	if left := waitGrace - h.waited; left > 0 {
		after = min(after, left) // when it is to be told
	}
	return after, nil
}

// maxWhy bounds what is told of a hold, in bytes: as much as an Event can hold.
const maxWhy = 1000

func brief(why string) string {
	if len(why) > maxWhy {
		return strings.ToValidUTF8(why[:maxWhy], "") + "..."
	}
	return why
}

// waits remembers what each key waits for, until it waits no more.
type waits struct {
	memory.ByKey[types.NamespacedName, waitState]
}

type waitState struct {
	begun time.Time         // of the first pass that was held up, whatever by; none since then went through
	why   [sha256.Size]byte // the words themselves may be the API server's, and long
	since time.Time         // of this cause
	told  time.Time
}

// on notes that a key waits, in a pass that began at a time. It returns when the first of the passes began that were held up, and whether the
// cause is another than before.
func (w *waits) on(key types.NamespacedName, why string, began time.Time) (since time.Time, first bool) {
	said := sha256.Sum256([]byte(why))
	w.Update(key, func(state waitState, known bool) (waitState, bool) {
		if !known {
			state.begun = began
		}
		if first = !known || state.why != said; first {
			state = waitState{begun: state.begun, why: said, since: began}
		}
		since = state.begun
		return state, true
	})
	return since, first
}

// tell reports whether what a key waits for is to be told now: once it has lasted, and again from time to time.
func (w *waits) tell(key types.NamespacedName, now time.Time) (due bool) {
	w.Update(key, func(state waitState, known bool) (waitState, bool) {
		due = known && now.Sub(state.since) >= waitGrace && (state.told.IsZero() || now.Sub(state.told) > tellWaitAgain)
		if due {
			state.told = now
		}
		return state, known
	})
	return due
}

// begun returns when the first of the passes began that were held up, or now where none was.
func (w *waits) begun(key types.NamespacedName, now time.Time) time.Time {
	if state, known := w.Get(key); known {
		return state.begun
	}
	return now
}
