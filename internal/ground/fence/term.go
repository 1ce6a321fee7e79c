package fence

import (
	"context"
	"sync"
	"time"
)

// term is a period in which this replica may act. Renewals extend it. A term that is over stays over, so a process that
// was stopped for longer than its lease finds the term over when it wakes.
type term struct {
	ctx    context.Context // done when the term is over, with the cause ErrOver
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // ends the term at its end; nil before the first extension
	end   time.Time
	over  bool
}

// newTerm returns a term without an end time. The caller must extend the term before its first use. Otherwise the term
// counts as over.
func newTerm() *term {
	t := &term{}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	return t
}

// extend makes the term last until the given time, unless the term is over already.
func (t *term) extend(end time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.over || !end.After(t.end) {
		return
	}

	t.end = end

	left := time.Until(end)
	if t.timer == nil {
		t.timer = time.AfterFunc(left, func() { t.lasts() })
		return
	}

	t.timer.Reset(left)
}

// lasts reports whether the term lasts, and ends the term permanently if its time is up. Both the monotonic clock and
// the wall clock must show that time is left, because the monotonic clock may stop while a machine sleeps, and the wall
// clock may be set back.
func (t *term) lasts() bool {
	now := time.Now()

	t.mu.Lock()
	if !t.over && (!now.Before(t.end) || !now.Round(0).Before(t.end.Round(0))) {
		t.over = true
	}

	over := t.over
	t.mu.Unlock()

	if over {
		t.stop()
	}
	return !over
}

// stop ends the term permanently, and with it all passes in flight.
func (t *term) stop() {
	t.mu.Lock()

	t.over = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.cancel(ErrOver)
}

type termKey struct{}

// within returns a context that ends when ctx or the term ends. The context contains the term, which Gate checks before
// it sends a request.
func (t *term) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, termKey{}, t))
	unhook := context.AfterFunc(t.ctx, func() { cancel(ErrOver) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}
