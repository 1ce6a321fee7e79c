package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// reasonWaiting is the Event's reason for what holds up a pass, where there is no better.
	reasonWaiting = "Waiting"
	// maxLookAgain bounds how long a pass that waits is put off.
	maxLookAgain = 15 * time.Second
	// waitGrace is how long something may hold up a pass before anybody is told: what is being deleted is mostly gone by then.
	waitGrace = 5 * time.Second
	// tellWaitAgain keeps the Event of a long wait from expiring, at a price that many applications can pay at once.
	tellWaitAgain = 10 * time.Minute
)

// waitError ends a pass without a fault of the application's: something is on its way out, or is to be put right by somebody, and the
// pass makes sense after that.
type waitError struct {
	after  time.Duration // at least
	reason string        // of the Event; empty for reasonWaiting
	why    string
}

// Error says what is waited for.
func (e *waitError) Error() string { return e.why }

// waitOf returns what an error wants to be waited for, or nil when it is weather.
func waitOf(err error) *waitError {
	if wait, ok := errors.AsType[*waitError](err); ok {
		return wait
	}
	if cause, _ := refusal(err); cause.Reason == reasonOperatorForbidden {
		return &waitError{after: lookAgain, reason: cause.Reason, why: cause.Message}
	}
	return nil
}

// wait logs and tells what holds up a pass, and returns when to try again. It grows with the time that was waited: the event of what
// is waited for, where there is one, is what really wakes the key.
func (r *Reconciler[T]) wait(ctx context.Context, key types.NamespacedName, p *pass[T], wait *waitError) time.Duration {
	r.metrics.Held(r.kind.Name, key, cmp.Or(wait.reason, reasonWaiting))
	waited, first, tell := r.waits.on(key, wait.why, p.now)
	logger := log.FromContext(ctx)
	if !first {
		logger = logger.V(1)
	}
	logger.Info("waiting", "cause", wait.why)
	if tell {
		r.events.Event(r.reference(p.stored), p.now, corev1.EventTypeWarning, cmp.Or(wait.reason, reasonWaiting), "waiting: "+wait.why)
	}
	return max(wait.after, min(max(waited, lookAgain), maxLookAgain))
}

// waits remembers what each key waits for: a few words a key, until it waits no more or is forgotten.
type waits struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]waitState
}

type waitState struct {
	begun time.Time         // of the first pass that was held up, whatever by; none since then went through
	why   [sha256.Size]byte // the words themselves may be the API server's, and long
	since time.Time         // of this cause
	told  time.Time
}

// on notes that a key waits. It returns for how long it has waited for the same thing, whether that is new, and whether it is to be told.
func (w *waits) on(key types.NamespacedName, why string, now time.Time) (waited time.Duration, first, tell bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := sha256.Sum256([]byte(why))
	state, found := w.keys[key]
	if !found {
		state.begun = now
	}
	if !found || state.why != said {
		state = waitState{begun: state.begun, why: said, since: now}
		first = true
	}
	waited = now.Sub(state.since)
	tell = waited > waitGrace && (state.told.IsZero() || now.Sub(state.told) > tellWaitAgain)
	if tell {
		state.told = now
	}
	if w.keys == nil {
		w.keys = map[types.NamespacedName]waitState{}
	}
	w.keys[key] = state
	return waited, first, tell
}

// begun returns when the first of the passes began that were held up, or now where none was.
func (w *waits) begun(key types.NamespacedName, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state, found := w.keys[key]; found {
		return state.begun
	}
	return now
}

func (w *waits) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.keys, key)
}
