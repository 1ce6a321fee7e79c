package lifecycle

import "time"

const (
	minAsk = 4 * time.Second
	maxAsk = time.Minute
)

// AskAgain is after how long to ask again about what has been amiss for a while: within 4 s for the first minute, so that a cause is known within 5 s
// of Kubernetes saying it, then after a fifteenth of the time, a minute at most. A queue may hold hundreds of drivers for hours, and what comes up
// after such a time is told up to a minute late.
func AskAgain(amiss time.Duration) time.Duration { return min(max(amiss/15, minAsk), maxAsk) }
