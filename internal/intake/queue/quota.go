package queue

// quota limits how many items are in work at a time. Each item in work holds one place. A tenant may hold all places
// while no other tenant wants one. As soon as tenants compete, each may hold at most half of the places.
//
// The quota cannot take back a place before the work ends. If a tenant holds more than half of the places, only half of
// them count, so that half of the places are always free for other tenants. More items than places may then be in work.
type quota struct {
	places  int            // 0 means any number
	held    map[string]int // by tenant
	counted int            // the sum over all tenants, of which each counts with at most half of the places
	heavies int            // how many tenants hold at least half of the places
}

// noTenant is a name that no tenant has: the names of namespaces cannot contain this character.
const noTenant = "\x00"

// half returns the largest number of places that a tenant may have while others wait.
func (q *quota) half() int { return q.places - q.places/2 }

// add changes the number of places that a tenant holds.
func (q *quota) add(tenant string, more int) {
	if q.held == nil {
		q.held = map[string]int{}
	}

	before, half := q.held[tenant], q.half()
	after := before + more

	q.held[tenant] = after
	if after == 0 {
		delete(q.held, tenant)
	}

	q.counted += min(after, half) - min(before, half)
	if half > 0 {
		q.heavies += oneIf(after >= half) - oneIf(before >= half)
	}
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// closed reports whether all places count as taken, so that no tenant may take one more.
func (q *quota) closed() bool { return q.places > 0 && q.counted >= q.places }

// heavy returns a tenant that holds at least half of the places, or noTenant. While the quota is not closed, at most
// one tenant holds that many.
func (q *quota) heavy() string {
	if q.places == 0 || q.heavies == 0 {
		return noTenant
	}

	for tenant, held := range q.held {
		if held >= q.half() {
			return tenant
		}
	}
	return noTenant
}

// open reports whether a tenant may take another place if no other tenant wants one.
func (q *quota) open(tenant string) bool {
	held := q.held[tenant]
	return q.places == 0 || q.counted-min(held, q.half())+held < q.places
}

// free removes the limit.
func (q *quota) free() { q.places = 0 }

// sieve determines which items may be taken in a turn. It excludes the items to which the quotas give no place now.
type sieve struct {
	tenant  string // all items of this tenant are excluded
	fresh   string // Fresh items of this tenant are excluded
	noFresh bool   // all Fresh items are excluded
}

// sieve returns the sieve of the next turn, and whether any item passes it. Items of a tenant that holds half of the
// workers pass only if no item of any other tenant passes.
func (o *order[T]) sieve() (s sieve, some bool) {
	if o.size == 0 || o.workers.closed() {
		return s, false
	}

	heavy := o.workers.heavy()
	if s = o.sift(heavy); o.any(s) {
		return s, true
	}

	if heavy == noTenant || !o.workers.open(heavy) {
		return s, false
	}

	s = o.sift(noTenant)
	return s, o.any(s)
}

// sift returns a sieve that excludes the given tenant. The sieve also excludes the Fresh items of a tenant that holds
// half of the places for Fresh items, as long as other tenants have Fresh items.
func (o *order[T]) sift(tenant string) sieve {
	s := sieve{tenant: tenant, fresh: noTenant, noFresh: o.fresh.closed()}

	heavy := o.fresh.heavy()
	if s.noFresh || heavy == noTenant {
		return s
	}

	without := s

	without.fresh = heavy
	if !o.fresh.open(heavy) || o.count(without, Fresh) > 0 {
		return without
	}
	return s
}

// admits reports whether ready items of a tenant and class may be taken.
func (s sieve) admits(class Class, tenant string) bool {
	return tenant != s.tenant && (class != Fresh || !s.noFresh && tenant != s.fresh)
}

// any reports whether an item passes the sieve.
func (o *order[T]) any(s sieve) bool {
	for class := range Class(classes) {
		if o.count(s, class) > 0 {
			return true
		}
	}
	return false
}

// count returns how many items of a class pass the sieve.
func (o *order[T]) count(s sieve, class Class) int {
	l := &o.lanes[class]
	if class == Fresh && s.noFresh {
		return 0
	}

	count := l.all.Len() - l.length(s.tenant)
	if class == Fresh && s.fresh != s.tenant {
		count -= l.length(s.fresh)
	}
	return count
}

// length returns how many items a tenant has in a lane.
func (l *lane[T]) length(tenant string) int {
	if owner, known := l.tenants[tenant]; known {
		return owner.queue.Len()
	}
	return 0
}

// oldest returns the item of a class that has waited longest and passes the sieve, or nil.
func (o *order[T]) oldest(s sieve, class Class) *entry[T] {
	l := &o.lanes[class]

	first := l.all.Front()
	if first == nil || class == Fresh && s.noFresh {
		return nil
	}

	if e := first.Value.(*entry[T]); s.admits(class, e.tenant) {
		return e
	}

	var oldest *entry[T]
	for at := l.turns.Front(); at != nil; at = at.Next() {
		owner := at.Value.(*tenant)
		if e := owner.queue.Front().Value.(*entry[T]); s.admits(class, owner.name) && (oldest == nil || e.place.arrived.Before(oldest.place.arrived)) {
			oldest = e
		}
	}
	return oldest
}
