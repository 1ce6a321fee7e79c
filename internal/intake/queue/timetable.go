package queue

import (
	"container/heap"
	"time"
)

// timetable holds entries in the order of the times when they are due, the earliest first.
type timetable[E any] []row[E]

type row[E any] struct {
	entry E
	due   *due
}

// due is the time at which an entry becomes due, and the index of the entry in the timetable.
type due struct {
	at    time.Time
	index int
}

func (t *timetable[E]) add(entry E, d *due, at time.Time) {
	d.at = at
	heap.Push(t, row[E]{entry, d})
}

func (t *timetable[E]) remove(d *due) { heap.Remove(t, d.index) }

// next removes and returns the first entry if it is due.
func (t *timetable[E]) next(now time.Time) (entry E, isDue bool) {
	if len(*t) == 0 || (*t)[0].due.at.After(now) {
		return entry, false
	}
	return heap.Pop(t).(row[E]).entry, true
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (t timetable[E]) Len() int           { return len(t) }
func (t timetable[E]) Less(i, j int) bool { return t[i].due.at.Before(t[j].due.at) }

func (t timetable[E]) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].due.index, t[j].due.index = i, j
}

func (t *timetable[E]) Push(x any) {
	r := x.(row[E])
	r.due.index = len(*t)
	*t = append(*t, r)
}

func (t *timetable[E]) Pop() any {
	last := len(*t) - 1
	r := (*t)[last]
	(*t)[last] = row[E]{} // for the garbage collector
	*t = (*t)[:last]
	return r
}

// rewind sets the queue's timer to the time of the first entry.
func (q *Queue[T]) rewind() {
	if len(q.later) == 0 {
		return
	}

	after := time.Until(q.later[0].due.at)
	if q.timer == nil {
		q.timer = time.AfterFunc(after, q.arriveDue)
		return
	}

	q.timer.Reset(after)
}

// arriveDue makes the entries that are due wait for a worker.
func (q *Queue[T]) arriveDue() {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.down {
		return
	}

	now := time.Now()
	for e, ok := q.later.next(now); ok; e, ok = q.later.next(now) {
		q.arrive(e, now)
	}

	q.rewind()
}
