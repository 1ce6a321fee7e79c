package lifecycle

import "time"

const (
	minQueryInterval = 4 * time.Second
	maxQueryInterval = time.Minute
)

// QueryInterval returns the interval until the next query about a problem that has lasted for the duration amiss.
//
// The interval is 4 s during the first minute, so a cause is found at most 5 s after Kubernetes reports it. Afterwards
// the interval is a fifteenth of amiss, but at most a minute, because a queue may block hundreds of drivers for hours.
// A cause that appears after such a long time is found up to a minute late.
func QueryInterval(amiss time.Duration) time.Duration {
	return min(max(amiss/15, minQueryInterval), maxQueryInterval)
}
