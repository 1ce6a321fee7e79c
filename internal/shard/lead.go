package shard

import (
	"context"
	"sync"
	"time"
)

// Lead is the right to act of a replica that leads, where the work is not shared: one term after the other, each for as long as the lease is renewed in time. A
// pass keeps to the term in which it began, also where there is a next: another may have led in between.
type Lead struct {
	mu    sync.Mutex
	term  *term  // nil before the first
	terms uint64 // that there were
}

// Until makes the right last until a time, and gives it anew where it was over.
func (l *Lead) Until(end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term == nil || !l.term.lasts() {
		l.term = newTerm("", func(*term) {})
		l.terms++
	}
	l.term.until(end)
}

// Terms is how many times the right was given: what was known in an earlier term may be another's doing since.
func (l *Lead) Terms() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terms
}

// End ends the right at once.
func (l *Lead) End() {
	if t := l.now(); t != nil {
		t.stop()
	}
}

// Begin asks for the right to make a pass. Where that is given, the pass must keep to the context, which ends with the right, and call done when it has sent its
// last request.
func (l *Lead) Begin(ctx context.Context) (_ context.Context, done func(), given bool) {
	t := l.now()
	if t == nil || !t.lasts() {
		return ctx, func() {}, false
	}
	ctx, done = t.under(ctx)
	return ctx, done, true
}

func (l *Lead) now() *term {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}
