package lifecycle

import "time"

const (
	minQueryInterval = 4 * time.Second
	maxQueryInterval = time.Minute
)

// QueryInterval returns the interval until the next query about a problem that has lasted for the given time.
//
// During the first minute the interval is 4 s, so that a cause is found at most 5 s after Kubernetes reports it. After
// that, the interval is a fifteenth of the time that the problem has lasted, but at most a minute. It must grow because
// a queue may block hundreds of drivers for hours. A cause that appears late is therefore found up to a minute later.
func QueryInterval(amiss time.Duration) time.Duration {
	return min(max(amiss/15, minQueryInterval), maxQueryInterval)
}
