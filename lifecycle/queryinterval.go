package lifecycle

import "time"

const (
	minQueryInterval = 4 * time.Second
	maxQueryInterval = time.Minute
)

// QueryInterval returns the interval between two queries about a problem that has lasted for the given time.
//
// It is 4 s for the first minute: a cause is then known within 5 s of Kubernetes reporting it. Afterwards it is a
// fifteenth of the time, at most a minute. A queue may hold hundreds of drivers for hours; a cause that appears after
// such a time is reported up to a minute late.
func QueryInterval(amiss time.Duration) time.Duration {
	return min(max(amiss/15, minQueryInterval), maxQueryInterval)
}
