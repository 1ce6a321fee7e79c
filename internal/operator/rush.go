package operator

import (
	"sync"
)

// rush detects that more schedules are due than the workers can handle at once: a thousand schedules may be due in the
// same minute. The launch of a run takes several writes. If launches had the same priority, each schedule's run would
// be created half as fast. So runs that the clock demands are created first.
type rush struct {
	mu     sync.Mutex
	queues map[string]func() int // the number of due keys of each kind with Runs, by the kind's name
	atOnce int
}

// watch adds a controller's queue.
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
