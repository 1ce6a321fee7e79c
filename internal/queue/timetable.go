package queue

import (
	"container/heap"
	"time"
)

// timetable holds what comes at a time of its own, the next of it first.
type timetable[E any] []row[E]

type row[E any] struct {
	entry E
	due   *due
}

// due is when something comes, and where in the timetable it is.
type due struct {
	at    time.Time
	index int
}

func (t *timetable[E]) add(entry E, d *due, at time.Time) {
	d.at = at
	heap.Push(t, row[E]{entry, d})
}

func (t *timetable[E]) remove(d *due) { heap.Remove(t, d.index) }

// next takes what has come first, if it is time.
func (t *timetable[E]) next(now time.Time) (entry E, came bool) {
	if len(*t) == 0 || (*t)[0].due.at.After(now) {
		return entry, false
	}
	return heap.Pop(t).(row[E]).entry, true
}

// Len, Less, Swap, Push and Pop are heap.Interface's.
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
	(*t)[last] = row[E]{} // what has come is not kept from the garbage collector
	*t = (*t)[:last]
	return r
}

// rewind sets the timer to what comes next.
func (q *Queue[T]) rewind() {
	if len(q.later) == 0 {
		return
	}
	after := time.Until(q.later[0].due.at)
	if q.timer == nil {
		q.timer = time.AfterFunc(after, q.comeLater)
		return
	}
	q.timer.Reset(after)
}

// comeLater makes wait for a worker what has come in time.
func (q *Queue[T]) comeLater() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	now := time.Now()
	for e, came := q.later.next(now); came; e, came = q.later.next(now) {
		q.come(e, now)
	}
	q.rewind()
}
