package node

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// act is what is done to a pod at a moment.
type act int

const (
	start  act = iota // the kubelet has its container running
	ask               // the driver creates its executors
	end               // its program ends
	remove            // the kubelet takes a pod away whose deletion was asked for
)

// task is an act that is due. What waits is that and no more: 60,000 pods that run for hours are as many tasks, no goroutine and no timer of their own.
type task struct {
	due   time.Time
	pod   types.UID
	act   act
	tries int
}

// timeline has the tasks of all pods in the order in which they are due.
type timeline struct {
	mu    sync.Mutex
	tasks tasks
	wake  chan struct{} // holds one word: there is a task that is due before all others
}

func newTimeline() *timeline { return &timeline{wake: make(chan struct{}, 1)} }

// add never waits for anything, so that whoever carries out a task may add the next.
func (t *timeline) add(task task) {
	t.mu.Lock()
	heap.Push(&t.tasks, task)
	first := t.tasks[0] == task
	t.mu.Unlock()
	if first {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// next takes the first task if it is due by now; else it says how long that takes. Without a task that is for ever, about.
func (t *timeline) next(now time.Time) (due task, wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tasks) == 0 {
		return task{}, time.Hour, false
	}
	if wait := t.tasks[0].due.Sub(now); wait > 0 {
		return task{}, wait, false
	}
	return heap.Pop(&t.tasks).(task), 0, true
}

func (t *timeline) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.tasks)
}

// tasks are a heap.Interface.
type tasks []task

func (t tasks) Len() int           { return len(t) }
func (t tasks) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t tasks) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *tasks) Push(x any)        { *t = append(*t, x.(task)) }
func (t *tasks) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
