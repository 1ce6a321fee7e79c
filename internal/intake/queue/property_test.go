package queue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// model specifies which items a queue holds and which of them it may hand out. The model is as simple as possible and
// does not determine the order of the items.
type model struct {
	t       *testing.T
	waits   map[string]*waiting // ready, by key
	working map[string]Class    // the class with which the item was handed out
	again   map[string]claim    // added while in work
	later   map[string]late
	workers int          // limit of items in work; 0 means any number
	most    int          // limit of Fresh items in work; 0 means any number
	neglect [classes]int // turns of other classes since each class became overdue
	put     int          // number of items put back
}

// claim is the class of an item, and the time since which the item has had that class.
type claim struct {
	class      Class
	classified time.Time
}

// raised returns the claim after the item is added again with the given class.
func (c claim) raised(class Class) claim {
	if class > c.class {
		return claim{class, time.Now()}
	}
	return c
}

type waiting struct {
	claim
	since time.Time
	ahead int            // items of its tenant and class when it came
	turns map[string]int // turns of each other tenant in its class since then
}

type late struct {
	claim
	at time.Time
}

func newModel(t *testing.T) *model {
	return &model{t: t, waits: map[string]*waiting{}, working: map[string]Class{}, again: map[string]claim{},
		later: map[string]late{}}
}

// at reports whether an item is in work.
func (m *model) at(key string) bool {
	_, worked := m.working[key]
	return worked
}

// holds returns how many places (see quota) the given tenant holds, and how many places of all tenants count as taken.
// For a tenant that holds more than half of all places, only half of them count, rounded up. The items in work are
// included if the function `counts` returns true for their class.
func (m *model) holds(tenant string, places int, counts func(Class) bool) (own, counted int) {
	held := map[string]int{}
	for key, class := range m.working {
		if counts(class) {
			held[tenantOf(key)]++
		}
	}

	for _, n := range held {
		counted += min(n, (places+1)/2)
	}
	return held[tenant], counted
}

func anyClass(Class) bool      { return true }
func isFresh(class Class) bool { return class == Fresh }

// may reports whether the tenant of an item may take another place. The second result is true if the tenant holds fewer
// than half of the places.
func (m *model) may(key string, places int, counts func(Class) bool) (may, light bool) {
	if places == 0 {
		return true, true
	}

	own, counted := m.holds(tenantOf(key), places, counts)
	half := (places + 1) / 2
	return counted-min(own, half)+own < places, own < half
}

// open returns the items that may be handed out now. Items of a tenant with half of the places are included only if no
// other tenant wants a place.
func (m *model) open() map[string]bool {
	open, heavy := map[string]bool{}, map[string]bool{}
	for key, w := range m.waits {
		may, light := m.may(key, m.workers, anyClass)

		fresh, _ := m.may(key, m.most, isFresh)
		switch {
		case !may || w.class == Fresh && !fresh:
		case light:
			open[key] = true
		default:
			heavy[key] = true
		}
	}

	if len(open) == 0 {
		open = heavy
	}

	lightFresh := func(key string) bool {
		_, light := m.may(key, m.most, isFresh)
		return m.waits[key].class == Fresh && light
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(open)), lightFresh) {
		maps.DeleteFunc(open, func(key string, _ bool) bool { return m.waits[key].class == Fresh && !lightFresh(key) })
	}
	return open
}

// canGet reports whether Get would hand out an item at once. There is one special case: Get computes the class of an
// old Leaving item again. If the item is Fresh now, Get can hand it out only if a place for a Fresh item is free.
func (m *model) canGet(q *testQueue) bool {
	for key := range m.open() {
		w := m.waits[key]

		becomes := w.class == Leaving && time.Since(w.classified) > q.doubt && q.classes.get(key) == Fresh
		if fresh, _ := m.may(key, m.most, isFresh); fresh || !becomes {
			return true
		}
	}
	return false
}

func (m *model) come(key string, as claim) {
	ahead := 0
	for other, w := range m.waits {
		if other != key && w.class == as.class && tenantOf(other) == tenantOf(key) {
			ahead++
		}
	}

	m.waits[key] = &waiting{as, time.Now(), ahead, map[string]int{}}
}

func (m *model) add(key string, class Class) {
	if m.at(key) && class == Fresh {
		class = Changed
	}

	next := claim{class, time.Now()}
	if late, known := m.later[key]; known {
		next = late.raised(class)

		delete(m.later, key)
	}

	waits, ready := m.waits[key]

	pending, again := m.again[key]
	switch {
	case again:
		m.again[key] = pending.raised(next.class)
	case !ready && m.at(key):
		m.again[key] = next
	case !ready || next.class > waits.class:
		m.come(key, next)
	}
}

func (m *model) addAfter(key string, class Class, after time.Duration) {
	_, ready := m.waits[key]

	_, again := m.again[key]
	if ready || again {
		m.add(key, class)
		return
	}

	next := late{claim{class, time.Now()}, time.Now().Add(after)}
	if known, scheduled := m.later[key]; scheduled {
		next.claim = known.raised(class)
		if known.at.Before(next.at) {
			next.at = known.at
		}
	}

	m.later[key] = next
}

// pass updates the model after some time has passed: it makes the items ready that are now due, in the order of their
// times.
func (m *model) pass() {
	var arrived []string
	for key, late := range m.later {
		if !late.at.After(time.Now()) {
			arrived = append(arrived, key)
		}
	}

	slices.SortFunc(arrived, func(a, b string) int { return m.later[a].at.Compare(m.later[b].at) })

	for _, key := range arrived {
		at := m.later[key].at
		m.add(key, m.later[key].class)

		if w := m.waits[key]; w != nil {
			w.since = at
		}
	}
}

// overdue reports whether an item of a class, among the given items, has waited longer than the patience.
func (m *model) overdue(open map[string]bool, class Class) bool {
	for key := range open {
		if w := m.waits[key]; w.class == class && time.Since(w.since) > patience {
			return true
		}
	}
	return false
}

func (m *model) has(open map[string]bool, class Class) bool {
	for key := range open {
		if m.waits[key].class == class {
			return true
		}
	}
	return false
}

// get takes an item from the queue. The queue may first put back other items: those that have waited for long and whose
// class, computed again, is lower now. get updates the model for each of these items.
func (m *model) get(q *testQueue) string {
	m.t.Helper()

	got, _ := q.Get()
	for class := range q.ready.lanes {
		for at := q.ready.lanes[class].all.Front(); at != nil; at = at.Next() {
			if e := at.Value.(*entry[string]); e.class != m.waits[e.key].class {
				m.fell(q, e.key, e.class)
			}
		}
	}

	if w := m.waits[got]; w != nil && time.Since(w.classified) > q.doubt && q.classes.get(got) < w.class {
		m.fell(q, got, q.classes.get(got))
	}
	return got
}

func (m *model) fell(q *testQueue, key string, to Class) {
	m.t.Helper()

	if w := m.waits[key]; to >= w.class || to != q.classes.get(key) || time.Since(w.classified) <= q.doubt {
		m.t.Fatalf("%s, of class %d for %s, was put back as %d; it is of class %d", key, w.class,
			time.Since(w.classified), to, q.classes.get(key))
	}

	m.come(key, claim{to, time.Now()})
	m.put++
}

// took checks that the queue was allowed to hand out an item now, and records that the item is in work.
func (m *model) took(key string) {
	m.t.Helper()

	got, ready := m.waits[key]
	if !ready || m.at(key) {
		m.t.Fatalf("%s was handed out; ready %t, in work %t", key, ready, m.at(key))
	}

	open := m.open()
	if !open[key] {
		m.t.Fatalf("%s of class %d was handed out, but is not one of the %d available items; in work: %v", key,
			got.class, len(open), m.working)
	}

	for class := got.class + 1; class <= Leaving; class++ {
		if m.has(open, class) && !m.overdue(open, got.class) {
			m.t.Fatalf("%s of class %d was handed out before an item of class %d, and is not overdue", key,
				got.class, class)
		}
	}

	m.share(open, got.class)
	m.fair(open, key, got)
	delete(m.waits, key)
	m.working[key] = got.class
}

// share checks that no overdue class waits for too many turns. Every turnsOfOthers-th turn goes to an overdue class. If
// several classes are overdue, each other class may get one of these turns first.
func (m *model) share(open map[string]bool, took Class) {
	m.t.Helper()

	for class := Settled; class <= Leaving; class++ {
		if class == took || !m.overdue(open, class) {
			m.neglect[class] = 0
			continue
		}

		if m.neglect[class]++; m.neglect[class] >= turnsOfOthers*classes {
			m.t.Fatalf("class %d has waited for %d turns", class, m.neglect[class])
		}
	}
}

// fair checks the turns of tenants within a class. While an item waits, each other tenant may get at most n+1 turns.
// Here n is the number of earlier items of the item's own tenant.
func (m *model) fair(open map[string]bool, key string, got *waiting) {
	m.t.Helper()

	for other := range open {
		w := m.waits[other]
		if w.class != got.class || tenantOf(other) == tenantOf(key) {
			continue
		}

		if w.turns[tenantOf(key)]++; w.turns[tenantOf(key)] > w.ahead+1 {
			m.t.Fatalf("tenant %s had %d turns since %s was added behind %d items of its own tenant", tenantOf(key),
				w.turns[tenantOf(key)], other, w.ahead)
		}
	}
}

func (m *model) done(key string) {
	delete(m.working, key)

	if as, again := m.again[key]; again {
		delete(m.again, key)
		m.come(key, as)
	}
}

// TestProperty performs random operations on a queue and compares the queue with the model. It checks that:
//
//   - no item is lost, or in work at two workers;
//   - items are handed out in the order of their classes, except that overdue classes get some turns;
//   - an item whose class has become lower is not handed out before items that are more urgent now;
//   - tenants share the turns, and each has at most half of the workers while other tenants wait.
func TestProperty(t *testing.T) {
	t.Parallel()

	var put atomic.Int64
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { put.Add(int64(play(t, rand.New(rand.NewPCG(seed, 0))))) })
		})
	}

	if put.Load() < 1000 {
		t.Errorf("only %d items were put back in all histories", put.Load())
	}
}

// play performs one random history of operations and returns how many times the queue put an item back.
func play(t *testing.T, random *rand.Rand) (put int) {
	q, m := newTestQueue(), newModel(t)
	defer q.ShutDown()

	q.doubt = []time.Duration{doubt, time.Second, 200 * time.Millisecond, time.Millisecond}[random.IntN(4)]
	m.most = []int{0, 0, 1, 3}[random.IntN(4)]
	m.workers = []int{0, 1, 2, 5, 8}[random.IntN(5)]
	q.ready.fresh.places, q.ready.workers.places = m.most, m.workers
	keys := 2 + random.IntN(60)
	tenants := 1 + random.IntN(4)
	busy := random.IntN(10) // how often an item is added rather than worked on

	anyKey := func() string { i := random.IntN(keys); return fmt.Sprintf("%d/%d", i*i%tenants, i) }
	for range 3000 {
		switch key := anyKey(); {
		case random.IntN(10) < busy:
			q.addAs(Class(random.IntN(classes)), key)
			m.add(key, q.classes.get(key))
		case random.IntN(10) == 0:
			after := time.Duration(1 + random.Int64N(int64(time.Second)))
			class := Class(random.IntN(int(Fresh)))
			q.classes.set(key, class)
			q.AddAfter(key, after)
			m.addAfter(key, class, after)
		case random.IntN(10) == 0:
			q.classes.set(key, Class(random.IntN(classes)))
		case random.IntN(4) == 0:
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			synctest.Wait()
			m.pass()
		case len(m.working) > 0 && random.IntN(2) == 0:
			q.Done(key)

			if m.at(key) {
				m.done(key)
			}
		case m.canGet(q):
			m.took(m.get(q))
		}

		if q.Len() != len(m.waits)+len(m.again) {
			t.Fatalf("%d items wait, want %d ready and %d that were added again while in work", q.Len(), len(m.waits),
				len(m.again))
		}
	}

	m.drain(q)
	return m.put
}

// drain takes items until the queue is empty, and checks that every added item is handed out.
func (m *model) drain(q *testQueue) {
	for key := range m.working {
		q.Done(key)
		m.done(key)
	}

	for len(m.waits)+len(m.later) > 0 {
		time.Sleep(time.Second)
		synctest.Wait()
		m.pass()

		for len(m.waits) > 0 {
			got := m.get(q)
			m.took(got)
			q.Done(got)
			m.done(got)
		}
	}

	if n := q.Len(); n != 0 {
		m.t.Errorf("the queue has %d items that the model lacks", n)
	}
}

// TestNoneIsForgotten checks that workers wait only if the queue is empty, so that no item waits although a worker is
// idle. It also checks the limit of Fresh items in work.
func TestNoneIsForgotten(t *testing.T) {
	t.Parallel()
	// filled holds the limits of Fresh items that were reached in some history.
	filled := map[int]bool{}
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 2))
				q := newTestQueue()
				q.ready.workers.places = 4
				q.ready.fresh.places, q.doubt = 1+random.IntN(3), 50*time.Millisecond
				var fresh, most atomic.Int64

				var workers sync.WaitGroup
				for worker := range 4 + Reserve(4) {
					lasts := rand.New(rand.NewPCG(seed, uint64(3+worker)))
					workers.Go(func() {
						for key, shutdown := q.Get(); !shutdown; key, shutdown = q.Get() {
							class := q.handed(key)
							if class == Fresh {
								most.Store(max(most.Load(), fresh.Add(1)))
							}

							time.Sleep(time.Duration(lasts.IntN(100)) * time.Millisecond)

							if class == Fresh {
								fresh.Add(-1)
							}

							q.Done(key)
						}
					})
				}

				for range 300 {
					key := fmt.Sprintf("%d/%d", random.IntN(3), random.IntN(40))
					q.addAs(Class(random.IntN(classes)), key)

					if random.IntN(4) == 0 {
						q.classes.set(key, Class(random.IntN(classes))) // an item that has waited long has its class computed again
					}

					time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
				}

				time.Sleep(time.Minute)
				synctest.Wait()

				if n := q.Len(); n != 0 {
					t.Errorf("%d items are left", n)
				}

				places := q.ready.fresh.places

				got := int(most.Load())
				if got > places+Reserve(places) {
					t.Errorf("%d Fresh items were in work, at most %d may be", got, places)
				}

				filled[places] = filled[places] || got >= places

				q.ShutDown()
				workers.Wait()
			})
		})
	}

	for places := 1; places <= 3; places++ {
		if !filled[places] {
			t.Errorf("there were never %d Fresh items in work, although as many may be", places)
		}
	}
}

// handed returns the class that an item had when it was handed out.
func (q *testQueue) handed(key string) Class {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.working[key].class
}

// TestWorkers runs workers and producers concurrently. It checks that an item is at one worker at a time, and that each
// item is worked on after it was last added.
func TestWorkers(t *testing.T) {
	t.Parallel()

	q := newTestQueue()
	q.doubt = -1 // doubt every class
	const keys, adds = 50, 4000
	var asked, seen [keys]atomic.Int64
	var at [keys]atomic.Bool

	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprintf("%d/%d", i%3, i)
	}

	var workers, askers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for key, shutdown := q.Get(); !shutdown; key, shutdown = q.Get() {
				i := slices.Index(names, key)
				if at[i].Swap(true) {
					t.Errorf("%s is in work at two workers", key)
				}

				seen[i].Store(asked[i].Load())
				at[i].Store(false)
				q.Done(key)
			}
		})
	}

	for asker := range 4 {
		askers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(asker), 1))
			for range adds {
				i := random.IntN(keys)
				asked[i].Add(1)

				if random.IntN(10) == 0 {
					q.AddAfter(names[i], time.Microsecond)
				} else {
					q.addAs(Class(random.IntN(classes)), names[i])
				}
			}
		})
	}

	askers.Wait()

	for i := range names { // do not wait for items queued for later
		asked[i].Add(1)
		q.Add(names[i])
	}

	q.ShutDown()
	workers.Wait()

	for i := range names {
		if asked[i].Load() != seen[i].Load() {
			t.Errorf("%s was added %d times, and last handed out after %d of them", names[i], asked[i].Load(),
				seen[i].Load())
		}
	}
}
