package operator

import (
	"sync"
)

// rush detects that more schedules are due than the workers can handle at once, for example because a thousand
// schedules start runs in the same minute. During a rush, the operator first creates all due runs and launches the runs
// later. A launch takes several writes, so with equal priority the runs would be created half as fast.
type rush struct {
	mu     sync.Mutex
	queues map[string]func() int // the number of due keys of each kind with Runs, by the kind's name
	atOnce int
}

// watch adds the queue of a kind's controller. The function due returns the number of keys in the queue that are due.
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
