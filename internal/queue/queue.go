// Package queue is the queue of a controller: what is looked at next. It promises what client-go's workqueue does (an item is there once, never at two workers,
// and one that is added while it is worked on comes again), and has an order of its own: by class, fair between
// tenants, of which one has at most half of the workers while others wait, and with a bound on how long a class is put
// off. docs/decisions/0014-queue.md says why.
package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// Patience is how long a class waits for higher ones before it has turns among them, where Options do not say.
	Patience = 100 * time.Millisecond
	// Doubt is how long the class that an item was given is believed. One that has it for longer may be less urgent by now.
	Doubt = 10 * time.Second
)

// Options of a queue.
type Options[T comparable] struct {
	// Name of the queue, as the metrics workqueue_* call it. Nothing is measured without.
	Name string
	// Limiter says how long an item waits that is added by AddRateLimited.
	Limiter workqueue.TypedRateLimiter[T]
	// Class tells how urgent an item is now. It is called by whoever adds, and by whoever takes what has waited for long: several at a time.
	Class func(T) Class
	// Tenant tells whose an item is. Tenants take turns within a class, however many items each has.
	Tenant func(T) string
	// Patience is how long a class waits for higher ones before it has turns among them. Default 100 ms.
	Patience time.Duration
	// Workers is how many items are worked on at a time; 0 means any number. While another tenant has something ready, a
	// tenant with half of them (rounded up) gets no more. A tenant that is alone may have all. Then the others have the
	// Reserve, so that work that does not end leaves them half of the workers.
	Workers int
	// FreshAtOnce is how many items that are Fresh are worked on at a time at most; 0 means any number. A first look may wait for seconds, and where all workers are at
	// first looks nothing else is looked at, whatever its turn. Tenants share them as they share the workers.
	FreshAtOnce int
}

// Reserve is how many goroutines are to call Get beyond Workers: for the tenants that find one with more than half of the workers.
func Reserve(workers int) int { return workers / 2 }

// Queue hands out items to workers. It is safe for use by many.
type Queue[T comparable] struct {
	options Options[T]
	meter   *meter
	doubt   time.Duration

	mu      sync.Mutex
	more    *sync.Cond           // an item may be taken, or the queue is shut down
	idle    *sync.Cond           // nothing is worked on
	entries map[T]*entry[T]      // what is to be worked on, now or later
	working map[T]work           // what is worked on
	ready   order[T]             // of the entries, those that a worker can take
	held    int                  // how many entries wait that no worker can take yet: isHeld, isDoubted
	later   timetable[*entry[T]] // of the entries, those whose time has not come
	timer   *time.Timer          // fires when the first of these comes
	down    bool
	end     chan struct{} // closed when the queue is shut down
}

// entry is an item that is to be worked on.
type entry[T comparable] struct {
	key    T
	tenant string
	class  Class
	told   time.Time // when it was given its class
	state  state
	since  time.Time // when it came to wait for a worker
	claim  Class     // while it is doubted: the highest class that it was added with
	place  place     // among those that are ready
	due    due       // among those whose time has not come
}

// work is an item that is worked on.
type work struct {
	since  time.Time
	class  Class // that it was handed out with
	tenant string
}

// state of an entry.
type state int

const (
	isReady   state = iota
	isHeld          // it is worked on, and comes again after that
	isDoubted       // its turn has come, and its class is asked for once more
	isLater
)

var _ workqueue.TypedRateLimitingInterface[string] = &Queue[string]{}

// New makes a queue. It measures itself until it is shut down.
func New[T comparable](options Options[T]) *Queue[T] {
	if options.Patience == 0 {
		options.Patience = Patience
	}
	q := &Queue[T]{
		options: options, meter: newMeter(options.Name), doubt: Doubt,
		ready:   order[T]{patience: options.Patience, workers: quota{places: options.Workers}, fresh: quota{places: options.FreshAtOnce}},
		entries: map[T]*entry[T]{}, working: map[T]work{}, end: make(chan struct{}),
	}
	q.more, q.idle = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	if q.meter != nil {
		go q.measureWork()
	}
	return q
}

// Add asks for an item to be worked on now. One that is there already is not there twice, and has the higher of its classes.
func (q *Queue[T]) Add(key T) { q.put(key, q.options.Class(key), 0) }

// AddAfter asks for an item to be worked on when some time has passed, or sooner if it is there already or is added meanwhile.
func (q *Queue[T]) AddAfter(key T, after time.Duration) {
	class := q.options.Class(key)
	if after > 0 {
		q.meter.retried()
		class = begun(class)
	}
	q.put(key, class, after)
}

// AddRateLimited asks for an item to be worked on when the limiter allows it.
func (q *Queue[T]) AddRateLimited(key T) { q.AddAfter(key, q.options.Limiter.When(key)) }

// Forget ends the limiter's memory of an item.
func (q *Queue[T]) Forget(key T) { q.options.Limiter.Forget(key) }

// NumRequeues tells how often an item was added by AddRateLimited since it was forgotten.
func (q *Queue[T]) NumRequeues(key T) int { return q.options.Limiter.NumRequeues(key) }

// begun is the class of an item that somebody looks at, or has looked at. The first look at what is Fresh makes changes of its own: its second look must not
// stand in line behind whatever else is Fresh, and all that changes of it meanwhile with it.
func begun(class Class) Class {
	if class == Fresh {
		return Changed
	}
	return class
}

// put takes an item in, or what is new about one that is there.
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
		e = &entry[T]{key: key, tenant: q.options.Tenant(key), class: class, told: now}
		q.entries[key] = e
	case e.state == isLater:
		if class > e.class {
			e.class, e.told = class, now
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
	q.come(e, now)
}

// raise gives an entry that waits for a worker a higher class, if it is one.
func (q *Queue[T]) raise(e *entry[T], class Class, now time.Time) {
	if e.state == isDoubted {
		e.claim = max(e.claim, class)
		return
	}
	if class <= e.class {
		return
	}
	if e.state == isHeld {
		q.give(e, class, now)
		return
	}
	q.ready.remove(e)
	q.give(e, class, now)
	q.ready.add(e, now)
	q.more.Signal() // it may not have been one that may be taken
}

// give gives an entry that waits for a worker another class.
func (q *Queue[T]) give(e *entry[T], class Class, now time.Time) {
	q.meter.moved(e.class, class)
	e.class, e.told = class, now
}

// come makes an entry wait for a worker: for its own, where it is worked on now.
func (q *Queue[T]) come(e *entry[T], now time.Time) {
	e.since = now
	q.meter.came(e.class)
	if _, worked := q.working[e.key]; worked {
		e.state = isHeld
		q.held++
		return
	}
	e.state = isReady
	q.ready.add(e, now)
	q.more.Signal()
}

// Get waits for an item and hands it out. Whoever has it says Done. After ShutDown what is ready is still handed out, and then nothing any more.
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
			q.ready.had(e.class)
			q.wake() // what waited for this tenant's turn may be taken by another
			q.meter.took(e.class, now.Sub(e.since))
			return e.key, false
		}
	}
}

// take takes what comes next out of what is ready, and reports whether it is still as urgent as when it was given its class. Where it is not, it has been put
// back: an operator that stands by fills its queue for days with what is new, and finds it all over when it takes over, before what is new by then.
func (q *Queue[T]) take() (e *entry[T], stands bool) {
	e = q.ready.take(time.Now())
	if time.Since(e.told) <= q.doubt {
		return e, true
	}
	class := q.ask(e)
	if class >= e.class {
		return e, true
	}
	now := time.Now()
	q.ready.back(e.tenant, e.class)
	q.give(e, class, now)
	e.state = isReady
	q.ready.add(e, now)
	q.wake()
	return nil, false
}

// wake wakes a worker if there is something that it may take.
func (q *Queue[T]) wake() {
	if q.ready.open() {
		q.more.Signal()
	}
}

// ask tells the class of an entry as it is now, or as it was added meanwhile. The queue is not locked while it is asked for.
func (q *Queue[T]) ask(e *entry[T]) Class {
	e.state, e.claim = isDoubted, Settled
	q.held++
	class := q.unlocked(e.key)
	q.held--
	return max(class, e.claim)
}

func (q *Queue[T]) unlocked(key T) Class {
	q.mu.Unlock()
	defer q.mu.Lock()
	return q.options.Class(key)
}

// Done says that an item is not worked on any more. It comes again if it was added meanwhile.
func (q *Queue[T]) Done(key T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	had, worked := q.working[key]
	if !worked {
		return
	}
	delete(q.working, key)
	q.ready.back(had.tenant, had.class)
	q.meter.worked(now.Sub(had.since))
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

// Len tells how many items wait for a worker, those that are worked on now and come again included.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.size + q.held
}

// ShutDown takes in nothing any more, and lets go of what was to come later.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut()
}

// ShutDownWithDrain is ShutDown, and waits until nothing is worked on.
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
	q.ready.workers.free() // nothing that is ready waits any longer
	q.ready.fresh.free()
	close(q.end)
	if q.timer != nil {
		q.timer.Stop()
	}
	q.more.Broadcast()
}
