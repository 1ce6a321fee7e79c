package image

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress writes lines, each of which starts with the seconds since the progress was created. It is safe for
// concurrent use.
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

// step writes a line at the start of a step of the build. The caller must call the returned function at the end of the
// step, which writes another line with the duration.
func (p *progress) step(format string, args ...any) (done func()) {
	name, begin := fmt.Sprintf(format, args...), time.Now()
	p.printf("%s ...", name)
	return func() { p.printf("%s: done in %.1fs", name, time.Since(begin).Seconds()) }
}
