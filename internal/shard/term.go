package shard

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// term is the time for which a replica may act: from the beginning of a session until the first moment at which it might be over for others. It is made
// longer by renewals, and once it is over it stays so: a replica that was stopped for longer than its lease finds it over when it wakes.
type term struct {
	holder string // what the Leases call it; no two terms have the same
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // fires when the term may be over
	ended  func()      // called once, after ctx is done

	mu     sync.Mutex
	end    time.Time
	over   bool
	passes int // in flight
}

// newTerm begins a term that is over at once unless it is made longer.
func newTerm(holder string, ended func(*term)) *term {
	t := &term{holder: holder}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	t.ended = sync.OnceFunc(func() { ended(t) })
	return t
}

// until makes the term last until a time, unless it is over already.
func (t *term) until(end time.Time) {
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

// lasts reports whether the term goes on, and ends it for good where it does not. Both clocks must agree that it does: the monotonic one may stand still
// while a machine sleeps, the other may be set back.
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

// stop ends the term for good, with all passes that are in flight.
func (t *term) stop() {
	t.mu.Lock()
	t.over = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.cancel(ErrOver)
	t.ended()
}

func (t *term) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.passes == 0
}

// add counts a pass that begins (1) or ends (-1).
func (t *term) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes += n
}

type termKey struct{}

// under is a context that ends with the term as well, and by which Gate knows of it.
func (t *term) under(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, termKey{}, t))
	unhook := context.AfterFunc(t.ctx, func() { cancel(ErrOver) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// Gate sends no request of a pass whose right to act is over. The pass's context ends then as well; but a process that wakes after a long stop may come to
// send before the context's timer fires.
func Gate(next http.RoundTripper) http.RoundTripper { return gate{next} }

type gate struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (g gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if t, bound := req.Context().Value(termKey{}).(*term); bound && !t.lasts() {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, ErrOver
	}
	return g.next.RoundTrip(req)
}
