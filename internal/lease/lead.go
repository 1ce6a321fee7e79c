// Package lease fences what a leader does: every pass and every request belongs to the term in which the pass began,
// and ends with that term.
//
// A term ends a while before another replica may lead, by the clocks of this process alone: it counts from before the
// renewal of the lease was requested, and the other replicas count from after that. docs/decisions/0015-sharding.md
// says why that is enough, and what it is not enough for.
package lease

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrOver is why a pass was ended, or why a request was not sent: the replica's right to act has ended in the meantime.
var ErrOver = errors.New("the right to act on this object is over: the replica's lease was not renewed in time")

// Leadership is the right of a leader to act: one term after the other, each for as long as the lease is renewed in
// time. A pass is bound to the term in which it began, even if there is a next term: another replica may have led in
// between.
type Leadership struct {
	mu    sync.Mutex
	term  *term  // nil before the first
	terms uint64 // that there were
}

// Extend makes the current term last until end. If no term lasts, it begins a new one.
func (l *Leadership) Extend(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term == nil || !l.term.lasts() {
		l.term = newTerm()
		l.terms++
	}
	l.term.extend(end)
}

// TermNumber is the number of terms that have begun. State from an earlier term may be outdated: another replica may
// have acted since.
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

// Begin asks for the right to make a pass. If the right is given, the pass must keep to the returned context, which
// ends with the term, and must call done after its last request.
func (l *Leadership) Begin(ctx context.Context) (_ context.Context, done func(), given bool) {
	t := l.current()
	if t == nil || !t.lasts() {
		return ctx, func() {}, false
	}
	ctx, done = t.within(ctx)
	return ctx, done, true
}

func (l *Leadership) current() *term {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}
