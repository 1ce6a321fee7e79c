// Package queue is the work queue of a controller. It keeps the contract of client-go's workqueue: an item is queued
// once, is never in work at two workers, and is queued again if it is added while it is in work. The queue orders items
// by class, is fair between tenants, and bounds how long a class waits. A tenant has at most half of the workers while
// others wait. docs/decisions/0014-queue.md gives the reasons.
package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// patience is the default of Options.Patience.
	patience = 100 * time.Millisecond
	// doubt is how long the queue trusts the class of an item. A class that was determined longer ago may be too high
	// by now.
	doubt = 10 * time.Second
)

// Options are the settings of a queue.
type Options[T comparable] struct {
	// Name is the name of the queue in the metrics workqueue_*. If it is empty, nothing is measured.
	Name string
	// Limiter decides how long an item waits after AddRateLimited.
	Limiter workqueue.TypedRateLimiter[T]
	// Class returns the urgency of an item now. Callers of Add and of Get call it concurrently.
	Class func(T) Class
	// Tenant returns the tenant of an item. Tenants take turns within a class, however many items each has.
	Tenant func(T) string
	// Patience is how long a class waits for higher classes until it is overdue and gets some of the turns. Default:
	// 100 ms.
	Patience time.Duration
	// Workers is the largest number of items in work at a time; 0 means any number. While another tenant has ready
	// items, a tenant with half of the workers (rounded up) gets no more. A tenant may use all workers while no other
	// tenant has ready items. If another tenant gets items then, the goroutines of Reserve work on them, so that
	// endless work of one tenant leaves half of the workers to the others.
	Workers int
	// FreshAtOnce is the largest number of Fresh items in work at a time; 0 means any number. A first pass may take
	// seconds, and without this limit first passes could keep all workers from other items. Tenants share these places
	// as they share the workers.
	FreshAtOnce int
}

// Reserve returns how many goroutines must call Get in addition to Workers. These goroutines serve other tenants if one
// tenant has more than half of the workers.
func Reserve(workers int) int { return workers / 2 }

// Queue hands out items to workers. It is safe for concurrent use.
type Queue[T comparable] struct {
	options Options[T]
	meter   *meter
	doubt   time.Duration

	mu      sync.Mutex
	more    *sync.Cond           // signals that an item may be taken, or that the queue is shut down
	idle    *sync.Cond           // signals that no item is in work
	entries map[T]*entry[T]      // items to be worked on, now or later
	working map[T]work           // items in work
	ready   order[T]             // entries that a worker can take
	held    int                  // number of entries that wait and cannot be taken yet: isHeld, isDoubted
	later   timetable[*entry[T]] // entries whose time has not come
	timer   *time.Timer          // fires at the first entry of later
	down    bool
	end     chan struct{} // closed when the queue is shut down
}

// entry is an item to be worked on.
type entry[T comparable] struct {
	key        T
	tenant     string
	class      Class
	classified time.Time // when the item got its class
	state      state
	since      time.Time // when it started to wait for a worker
	claim      Class     // in state isDoubted: the highest class with which the item was added
	place      place     // the entry's position in the ready items
	due        due       // the entry's position in the timetable
}

// work describes an item in work.
type work struct {
	since  time.Time
	class  Class // the item's class when it was handed out
	tenant string
}

type state int

const (
	isReady   state = iota
	isHeld          // the item is in work, and becomes ready after that
	isDoubted       // it is the item's turn, and its class is computed again
	isLater
)

var _ workqueue.TypedRateLimitingInterface[string] = &Queue[string]{}

// New returns a new queue. The queue updates its metrics until it is shut down.
func New[T comparable](options Options[T]) *Queue[T] {
	if options.Patience == 0 {
		options.Patience = patience
	}

	q := &Queue[T]{
		options: options, meter: newMeter(options.Name), doubt: doubt,
		ready:   order[T]{patience: options.Patience, workers: quota{places: options.Workers}, fresh: quota{places: options.FreshAtOnce}},
		entries: map[T]*entry[T]{}, working: map[T]work{}, end: make(chan struct{}),
	}

	q.more, q.idle = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	if q.meter != nil {
		go q.measureWork()
	}
	return q
}

// Add queues an item at once. An item that is already queued keeps one entry and gets the higher class.
func (q *Queue[T]) Add(key T) { q.put(key, q.options.Class(key), 0) }

// AddAfter queues an item for a later time. The item becomes ready sooner if it is already queued for an earlier time
// or is added in the meantime.
func (q *Queue[T]) AddAfter(key T, after time.Duration) {
	class := q.options.Class(key)
	if after > 0 {
		q.meter.countRetry()

		class = begun(class)
	}

	q.put(key, class, after)
}

// AddRateLimited queues an item for the time that the rate limiter sets.
func (q *Queue[T]) AddRateLimited(key T) { q.AddAfter(key, q.options.Limiter.When(key)) }

// Forget resets the rate limiter for an item.
func (q *Queue[T]) Forget(key T) { q.options.Limiter.Forget(key) }

// NumRequeues returns how often AddRateLimited was called for an item since Forget.
func (q *Queue[T]) NumRequeues(key T) int { return q.options.Limiter.NumRequeues(key) }

// begun returns the class of an item whose first pass has begun: Changed instead of Fresh. The first pass changes the
// object itself, so a second pass follows. The second pass, and the passes for all later changes, must not wait behind
// all Fresh items.
func begun(class Class) Class {
	if class == Fresh {
		return Changed
	}
	return class
}

// put adds an item for the given delay, or updates its entry if the item is queued already.
func (q *Queue[T]) put(key T, class Class, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.down {
		return
	}

	now := time.Now()

	if _, worked := q.working[key]; worked {
		class = begun(class)
	}

	e, known := q.entries[key]
	switch {
	case !known:
		e = &entry[T]{key: key, tenant: q.options.Tenant(key), class: class, classified: now}
		q.entries[key] = e
	case e.state == isLater:
		if class > e.class {
			e.class, e.classified = class, now
		}

		if after > 0 && !now.Add(after).Before(e.due.at) {
			return
		}

		q.later.remove(&e.due)
	default:
		q.raise(e, class, now)
		return
	}

	if after > 0 {
		e.state = isLater
		q.later.add(e, &e.due, now.Add(after))
		q.rewind()
		return
	}

	q.arrive(e, now)
}

// raise gives a waiting entry the given class if that is higher.
func (q *Queue[T]) raise(e *entry[T], class Class, now time.Time) {
	if e.state == isDoubted {
		e.claim = max(e.claim, class)
		return
	}

	if class <= e.class {
		return
	}

	if e.state == isHeld {
		q.setClass(e, class, now)
		return
	}

	q.ready.remove(e)
	q.setClass(e, class, now)
	q.ready.add(e, now)
	q.more.Signal() // its old class may not have been available
}

// setClass changes the class of a waiting entry.
func (q *Queue[T]) setClass(e *entry[T], class Class, now time.Time) {
	q.meter.countMove(e.class, class)
	e.class, e.classified = class, now
}

// arrive makes an entry wait for a worker. If the item is in work, the entry waits for that work to end.
func (q *Queue[T]) arrive(e *entry[T], now time.Time) {
	e.since = now
	q.meter.countArrival(e.class)

	if _, worked := q.working[e.key]; worked {
		e.state = isHeld
		q.held++
		return
	}

	e.state = isReady
	q.ready.add(e, now)
	q.more.Signal()
}

// Get waits until an item is ready and hands it out. The caller must call Done after its work. After ShutDown, Get
// hands out the ready items and then reports shutdown.
func (q *Queue[T]) Get() (key T, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for {
		for !q.ready.open() && !q.down {
			q.more.Wait()
		}

		if !q.ready.open() {
			return key, true
		}

		if e, stands := q.take(); stands {
			now := time.Now()

			delete(q.entries, e.key)
			q.working[e.key] = work{now, e.class, e.tenant}
			q.ready.countTurn(e.class)
			q.wake() // an item that waited for this tenant's turn may be available
			q.meter.countTaken(e.class, now.Sub(e.since))
			return e.key, false
		}
	}
}

// take removes and returns the next ready item, unless the class of the item is out of date: if the class is lower now,
// take puts the item back and returns false.
//
// The class of an item may be days old, because the queue of a standby replica fills with Fresh items and no worker
// takes them. When the replica becomes the leader, most of these applications have ended. They must not be handed out
// before applications that are still Fresh.
func (q *Queue[T]) take() (e *entry[T], stands bool) {
	e = q.ready.take(time.Now())
	if time.Since(e.classified) <= q.doubt {
		return e, true
	}

	class := q.classify(e)
	if class >= e.class {
		return e, true
	}

	now := time.Now()

	q.ready.release(e.tenant, e.class)
	q.setClass(e, class, now)
	e.state = isReady
	q.ready.add(e, now)
	q.wake()
	return nil, false
}

// wake wakes a waiting worker if an item may be taken.
func (q *Queue[T]) wake() {
	if q.ready.open() {
		q.more.Signal()
	}
}

// classify returns the present class of an entry. The queue is unlocked while that class is computed. If the item is
// added with a higher class in the meantime, classify returns the higher class.
func (q *Queue[T]) classify(e *entry[T]) Class {
	e.state, e.claim = isDoubted, Settled
	q.held++
	class := q.classUnlocked(e.key)
	q.held--
	return max(class, e.claim)
}

func (q *Queue[T]) classUnlocked(key T) Class {
	q.mu.Unlock()
	defer q.mu.Lock()
	return q.options.Class(key)
}

// Done ends the work on an item. If the item was added during the work, it becomes ready again.
func (q *Queue[T]) Done(key T) {
	q.mu.Lock()
	defer q.mu.Unlock()

	now := time.Now()

	had, worked := q.working[key]
	if !worked {
		return
	}

	delete(q.working, key)
	q.ready.release(had.tenant, had.class)
	q.meter.countWork(now.Sub(had.since))

	if e := q.entries[key]; e != nil && e.state == isHeld {
		q.held--
		e.state = isReady
		q.ready.add(e, now)
	}

	q.wake()

	if len(q.working) == 0 {
		q.idle.Broadcast()
	}
}

// Len returns how many items wait for a worker, including items that are in work and were added again.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.size + q.held
}

// ShutDown makes the queue drop new items and items that are queued for later.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.shut()
}

// ShutDownWithDrain shuts the queue down as ShutDown does, and then waits until no item is in work.
func (q *Queue[T]) ShutDownWithDrain() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.shut()

	for len(q.working) > 0 {
		q.idle.Wait()
	}
}

// ShuttingDown reports whether the queue is shut down.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.down
}

func (q *Queue[T]) shut() {
	if q.down {
		return
	}

	q.down = true
	q.ready.workers.free() // all ready items become available
	q.ready.fresh.free()
	close(q.end)

	if q.timer != nil {
		q.timer.Stop()
	}

	q.more.Broadcast()
}
