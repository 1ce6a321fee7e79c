package operator

import (
	"sync"
)

// rush tells whether more is due of a kind that starts runs than its workers can take at once: a thousand schedules may be due at one minute. A run's launch is
// several writes, and as many launches as starts at a time would let each schedule's run come half as fast. What is asked for by the clock is started first.
type rush struct {
	mu     sync.Mutex
	queues map[string]func() int // of the kinds with Runs, by name: how many of them are due
	atOnce int
}

// watch minds how long a controller's queue is.
func (u *rush) watch(name string, due func() int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.queues == nil {
		u.queues = map[string]func() int{}
	}
	u.queues[name] = due
}

func (u *rush) on() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, due := range u.queues {
		if due() > u.atOnce {
			return true
		}
	}
	return false
}
