package queue

// quota shares places between tenants. While tenants compete, each has at most half of the places. A tenant that is
// alone may have all of them: what it has beyond its half does not count against the others, so that they find half of
// the places free whatever it does. Nobody can take a place away from work that has begun and does not end.
type quota struct {
	places  int            // 0 = any number
	held    map[string]int // by tenant
	counted int            // the sum of what each tenant holds, at most half of the places for each
	heavies int            // how many tenants hold half of the places or more
}

// noTenant is the name of no tenant. Names of namespaces have no such character.
const noTenant = "\x00"

// half is how many places a tenant has at most while others wait.
func (q *quota) half() int { return q.places - q.places/2 }

// add notes that a tenant holds so many more.
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

// closed reports whether no tenant may have another place.
func (q *quota) closed() bool { return q.places > 0 && q.counted >= q.places }

// heavy is the tenant that holds half of the places or more, while the quota is not closed: there is one at most.
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

// open reports whether a tenant may have another place if no other wants one.
func (q *quota) open(tenant string) bool {
	held := q.held[tenant]
	return q.places == 0 || q.counted-min(held, q.half())+held < q.places
}

// free ends the limit.
func (q *quota) free() { q.places = 0 }

// sieve says what is left out of a turn.
type sieve struct {
	tenant  string // of whom nothing is taken
	fresh   string // of whom nothing is taken that is Fresh
	noFresh bool   // of anybody
}

// sieve returns what is left out of the next turn, and whether anything may be taken. A tenant that holds half of the
// workers waits for those that hold fewer.
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

// sift completes a sieve that leaves a tenant out. Of what is Fresh, a tenant that holds half of its places waits for the others as well.
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

// admits reports whether what is ready of a tenant may be taken.
func (s sieve) admits(class Class, tenant string) bool {
	return tenant != s.tenant && (class != Fresh || !s.noFresh && tenant != s.fresh)
}

// any reports whether a sieve lets something through.
func (o *order[T]) any(s sieve) bool {
	for class := range Class(classes) {
		if o.count(s, class) > 0 {
			return true
		}
	}
	return false
}

// count is how many of a class a sieve lets through.
func (o *order[T]) count(s sieve, class Class) int {
	l := &o.lanes[class]
	if class == Fresh && s.noFresh {
		return 0
	}
	count := l.all.Len() - l.of(s.tenant)
	if class == Fresh && s.fresh != s.tenant {
		count -= l.of(s.fresh)
	}
	return count
}

// of is how many a tenant has in a lane.
func (l *lane[T]) of(tenant string) int {
	if whose, known := l.tenants[tenant]; known {
		return whose.queue.Len()
	}
	return 0
}

// oldest is what has waited for longest of what a sieve lets through of a class; nil if there is none.
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
		whose := at.Value.(*tenant)
		if e := whose.queue.Front().Value.(*entry[T]); s.admits(class, whose.name) && (oldest == nil || e.place.came.Before(oldest.place.came)) {
			oldest = e
		}
	}
	return oldest
}
