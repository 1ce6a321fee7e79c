package queue

import (
	"container/list"
	"time"
)

// Class is how urgent an item is. Higher ones come first; of the others each has turns once it has waited for longer than the queue's patience.
type Class int

const (
	// Settled is what has come to its end: a look at it hardly ever finds something to do. After a restart most of what there is.
	Settled Class = iota
	// Changed is what goes on, when something of it has changed. What has waited for longer than the queue's patience comes before what is Fresh: there may be
	// any number of that, and what is told of what goes on would be as late as the last of it.
	Changed
	// Fresh is what nobody has looked at yet as it is.
	Fresh
	// Leaving is what is deleted, or gone: it makes room.
	Leaving

	classes = int(Leaving) + 1
)

// turnsOfOthers: one of so many turns is not the first class's, but another's that has waited for longer than the patience: that which had a turn longest ago.
// Changed must have most of what there is when there is more to do than can be done: a life has several changes and one beginning.
const turnsOfOthers = 8

// order holds what is ready, and says what comes next.
type order[T comparable] struct {
	lanes    [classes]lane[T]
	size     int
	patience time.Duration
	turns    int          // that there were
	last     [classes]int // of these, the last that each class had
	workers  quota        // of what was taken and is not back
	fresh    quota        // of that, what is Fresh
}

// open reports whether something that is ready may be taken now.
func (o *order[T]) open() bool {
	_, some := o.sieve()
	return some
}

// lane is what is ready of one class.
type lane[T comparable] struct {
	all     list.List // of *entry, in the order in which they came: the first waits for longest
	tenants map[string]*tenant
	turns   list.List // of *tenant, who is next first
}

// tenant is what is ready of one class and whose it is.
type tenant struct {
	name  string
	queue list.List // of *entry
	turn  *list.Element
}

// place is where in its lane an entry is.
type place struct {
	came             time.Time
	inLane, inTenant *list.Element
}

func (o *order[T]) add(e *entry[T], now time.Time) {
	l := &o.lanes[e.class]
	whose, known := l.tenants[e.tenant]
	if !known {
		if l.tenants == nil {
			l.tenants = map[string]*tenant{}
		}
		whose = &tenant{name: e.tenant}
		whose.turn = l.turns.PushBack(whose)
		l.tenants[e.tenant] = whose
	}
	e.place = place{came: now, inLane: l.all.PushBack(e), inTenant: whose.queue.PushBack(e)}
	o.size++
}

func (o *order[T]) remove(e *entry[T]) {
	l := &o.lanes[e.class]
	whose := l.tenants[e.tenant]
	l.all.Remove(e.place.inLane)
	whose.queue.Remove(e.place.inTenant)
	if whose.queue.Len() == 0 {
		l.turns.Remove(whose.turn)
		delete(l.tenants, whose.name)
	}
	e.place = place{}
	o.size--
}

// take removes what comes next and returns it. There must be something that may be taken. It is the turn of its class only if it is handed out: see had.
func (o *order[T]) take(now time.Time) *entry[T] {
	s, _ := o.sieve()
	class := o.next(s, now)
	l := &o.lanes[class]
	at := l.turns.Front()
	for !s.admits(class, at.Value.(*tenant).name) { // two at most
		at = at.Next()
	}
	whose := at.Value.(*tenant)
	l.turns.MoveToBack(whose.turn)
	e := whose.queue.Front().Value.(*entry[T])
	o.remove(e)
	o.hold(e.tenant, e.class, 1)
	return e
}

// had counts a turn that a class had.
func (o *order[T]) had(class Class) {
	o.turns++
	o.last[class] = o.turns
}

// back counts that something of a class that was taken is at no worker any more.
func (o *order[T]) back(tenant string, class Class) { o.hold(tenant, class, -1) }

func (o *order[T]) hold(tenant string, class Class, more int) {
	o.workers.add(tenant, more)
	if class == Fresh {
		o.fresh.add(tenant, more)
	}
}

// next is the class whose turn it is. The first class is one of the others where it has not had the turns before: it changes with what comes.
func (o *order[T]) next(s sieve, now time.Time) Class {
	next := o.first(s, now)
	if (o.turns+1)%turnsOfOthers != 0 {
		return next
	}
	for class := range Class(classes) {
		if o.overdue(s, class, now) && o.last[class] < o.last[next] {
			next = class
		}
	}
	return next
}

// first is the class that has most of the turns now.
func (o *order[T]) first(s sieve, now time.Time) Class {
	switch {
	case o.count(s, Leaving) > 0:
		return Leaving
	case o.overdue(s, Changed, now):
		return Changed
	case o.count(s, Fresh) > 0:
		return Fresh
	case o.count(s, Changed) > 0:
		return Changed
	}
	return Settled
}

// overdue reports whether something of a class that may be taken has waited for longer than the patience.
func (o *order[T]) overdue(s sieve, class Class, now time.Time) bool {
	oldest := o.oldest(s, class)
	return oldest != nil && now.Sub(oldest.place.came) > o.patience
}
