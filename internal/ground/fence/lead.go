// Package fence fences the actions of a leader: every pass and every request belongs to the term in which the pass
// began, and ends with that term.
//
// A term ends before another replica may lead. This process measures the term with its own clocks alone, and from a
// time before its request to renew the lease. The other replicas measure from the time when they see the renewal, which
// is later. docs/decisions/0015-sharding.md explains why that is enough, and which cases it does not cover.
package fence

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrOver is the error of a pass that was ended, or of a request that was not sent, because the replica's term has
// ended in the meantime.
var ErrOver = errors.New("the replica no longer leads: its lease was not renewed in time, so its work on this object ended")

// Leadership is a replica's right to act as the leader. It consists of consecutive terms, and a term lasts as long as
// the lease is renewed in time. A pass is bound to the term in which it began, even if a later term has begun, because
// another replica may have led in between.
type Leadership struct {
	mu    sync.Mutex
	term  *term  // nil before the first term
	terms uint64 // the number of terms that have begun
}

// Extend makes the current term last until the given time. If the current term is over, Extend begins a new term.
func (l *Leadership) Extend(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.term == nil || !l.term.lasts() {
		l.term = newTerm()
		l.terms++
	}

	l.term.extend(end)
}

// TermNumber returns the number of terms that have begun. State from an earlier term may be outdated, because another
// replica may have acted since then.
func (l *Leadership) TermNumber() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terms
}

// End ends the current term at once.
func (l *Leadership) End() {
	if t := l.current(); t != nil {
		t.stop()
	}
}

// Begin starts a pass. The result `leads` is true if the pass may run. In this case the pass must use the returned
// context, which ends with the term, and must call the function `done` after its last request.
func (l *Leadership) Begin(ctx context.Context) (_ context.Context, done func(), leads bool) {
	t := l.current()
	if t == nil {
		return ctx, func() {}, false
	}

	ctx, done = t.within(ctx)
	return ctx, done, true
}

// Leads reports whether a term lasts.
func (l *Leadership) Leads() bool { return l.current() != nil }

// current returns the term that lasts, or nil.
func (l *Leadership) current() *term {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.term == nil || !l.term.lasts() {
		return nil
	}
	return l.term
}
