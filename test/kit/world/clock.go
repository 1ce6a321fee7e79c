package world

import (
	"sync/atomic"
	"time"
)

// Later is a clock that advances by itself, and that a test can also advance. The field readCount is the number of
// times that the operator has read the clock; every pass reads it.
type Later struct{ offset, ReadCount atomic.Int64 }

// Now returns the present time of the clock.
func (l *Later) Now() time.Time {
	l.ReadCount.Add(1)
	return time.Now().Add(time.Duration(l.offset.Load()))
}

// Advance moves the clock forward.
func (l *Later) Advance(step time.Duration) { l.offset.Add(int64(step)) }
