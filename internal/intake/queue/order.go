package queue

import (
	"container/list"
	"time"
)

// Class is the urgency of an item. Items of higher classes are handed out first. A class is overdue if one of its items
// has waited longer than the queue's patience. An overdue class gets some turns before higher classes.
type Class int

const (
	// Settled items have ended, and passes over them rarely have work. After a restart most items are settled.
	Settled Class = iota
	// Changed items have changed and have not ended. A Changed item that has waited longer than the queue's patience
	// comes before Fresh items. There may be any number of Fresh items, and Changed items would otherwise wait for all
	// of them.
	Changed
	// Fresh items are new, or their specs were edited, and no pass has handled that yet.
	Fresh
	// Leaving items are being deleted or no longer exist. A pass over them frees capacity.
	Leaving

	classes = int(Leaving) + 1
)

// turnsOfOthers is the interval of the turns that go to overdue classes: every turnsOfOthers-th turn goes to the
// overdue class whose last turn is the oldest. All other turns go to the class that the method `first` returns. Under
// overload, most turns must go to the class Changed, because an application changes several times but begins only once.
const turnsOfOthers = 8

// order holds the ready items and selects the next one.
type order[T comparable] struct {
	lanes    [classes]lane[T]
	size     int
	patience time.Duration
	turns    int          // total number of turns so far
	last     [classes]int // each class's last turn
	workers  quota        // limits the items in work
	fresh    quota        // limits the Fresh items in work
}

// open reports whether any ready item may be taken now.
func (o *order[T]) open() bool {
	_, some := o.sieve()
	return some
}

// lane holds the ready items of one class.
type lane[T comparable] struct {
	all     list.List // of *entry, oldest first
	tenants map[string]*tenant
	turns   list.List // of *tenant, the next one first
}

// tenant holds the ready items of one class and one tenant.
type tenant struct {
	name  string
	queue list.List // of *entry
	turn  *list.Element
}

// place is the position of a ready entry: in its lane, and among the entries of its tenant.
type place struct {
	arrived          time.Time
	inLane, inTenant *list.Element
}

func (o *order[T]) add(e *entry[T], now time.Time) {
	l := &o.lanes[e.class]

	owner, known := l.tenants[e.tenant]
	if !known {
		if l.tenants == nil {
			l.tenants = map[string]*tenant{}
		}

		owner = &tenant{name: e.tenant}
		owner.turn = l.turns.PushBack(owner)
		l.tenants[e.tenant] = owner
	}

	e.place = place{arrived: now, inLane: l.all.PushBack(e), inTenant: owner.queue.PushBack(e)}
	o.size++
}

func (o *order[T]) remove(e *entry[T]) {
	l := &o.lanes[e.class]
	owner := l.tenants[e.tenant]
	l.all.Remove(e.place.inLane)
	owner.queue.Remove(e.place.inTenant)

	if owner.queue.Len() == 0 {
		l.turns.Remove(owner.turn)
		delete(l.tenants, owner.name)
	}

	e.place = place{}
	o.size--
}

// take removes and returns the next item. The caller must have checked that an item may be taken (open). take does not
// count the turn, because the caller may put the item back. The caller counts the turn (countTurn) if it hands out the
// item.
func (o *order[T]) take(now time.Time) *entry[T] {
	s, _ := o.sieve()
	class := o.next(s, now)
	l := &o.lanes[class]

	at := l.turns.Front()
	for !s.admits(class, at.Value.(*tenant).name) { // at most two tenants are skipped
		at = at.Next()
	}

	owner := at.Value.(*tenant)
	l.turns.MoveToBack(owner.turn)
	e := owner.queue.Front().Value.(*entry[T])
	o.remove(e)
	o.hold(e.tenant, e.class, 1)
	return e
}

// countTurn counts a turn of a class.
func (o *order[T]) countTurn(class Class) {
	o.turns++
	o.last[class] = o.turns
}

// release frees the places that an item holds in the quotas, because it is no longer in work.
func (o *order[T]) release(tenant string, class Class) { o.hold(tenant, class, -1) }

func (o *order[T]) hold(tenant string, class Class, more int) {
	o.workers.add(tenant, more)

	if class == Fresh {
		o.fresh.add(tenant, more)
	}
}

// next returns the class of the next turn: usually the class that the method `first` returns, and in every
// turnsOfOthers-th turn the overdue class whose last turn is the oldest. Any class can become overdue, because arriving
// items change which class `first` returns.
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

// first returns the class that gets all turns except every turnsOfOthers-th, which goes to an overdue class (see next).
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

// overdue reports whether an available item of a class has waited longer than the patience.
func (o *order[T]) overdue(s sieve, class Class, now time.Time) bool {
	oldest := o.oldest(s, class)
	return oldest != nil && now.Sub(oldest.place.arrived) > o.patience
}
