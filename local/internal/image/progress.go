package image

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress writes lines that begin with the seconds since its making. It may be used by several goroutines.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

func newProgress(out io.Writer) *progress {
	if out == nil {
		out = io.Discard
	}
	return &progress{out: out, start: time.Now()}
}

func (p *progress) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

// step tells that a piece of work begins and returns what tells that it is done.
func (p *progress) step(format string, args ...any) (done func()) {
	what, begin := fmt.Sprintf(format, args...), time.Now()
	p.printf("%s ...", what)
	return func() { p.printf("%s: done in %.1fs", what, time.Since(begin).Seconds()) }
}
