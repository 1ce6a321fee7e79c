package image

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress writes lines that start with the seconds since its creation. It is safe for concurrent use.
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

// step writes a line for the start of a step. The caller calls done to write a line for its end.
func (p *progress) step(format string, args ...any) (done func()) {
	name, begin := fmt.Sprintf(format, args...), time.Now()
	p.printf("%s ...", name)
	return func() { p.printf("%s: done in %.1fs", name, time.Since(begin).Seconds()) }
}
