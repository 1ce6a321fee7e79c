package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// model says what a queue must hold and may hand out, in the simplest words, without an order of its own.
type model struct {
	t       *testing.T
	waits   map[string]*waiting // ready, by key
	working map[string]bool
	again   map[string]Class // added while worked on
	later   map[string]late
	neglect [classes]int // turns that went to other classes since one is overdue
}

type waiting struct {
	class Class
	since time.Time
	ahead int            // of its own tenant and class, when it came
	turns map[string]int // of other tenants in its class, since then
}

type late struct {
	class Class
	at    time.Time
}

func newModel(t *testing.T) *model {
	return &model{t: t, waits: map[string]*waiting{}, working: map[string]bool{}, again: map[string]Class{}, later: map[string]late{}}
}

func (m *model) come(key string, class Class) {
	ahead := 0
	for other, w := range m.waits {
		if other != key && w.class == class && tenantOf(other) == tenantOf(key) {
			ahead++
		}
	}
	m.waits[key] = &waiting{class, time.Now(), ahead, map[string]int{}}
}

func (m *model) add(key string, class Class) {
	if m.working[key] && class == Fresh {
		class = Changed
	}
	if late, known := m.later[key]; known {
		class = max(class, late.class)
		delete(m.later, key)
	}
	waits, ready := m.waits[key]
	was, again := m.again[key]
	switch {
	case again:
		m.again[key] = max(was, class)
	case !ready && m.working[key]:
		m.again[key] = class
	case !ready || class > waits.class:
		m.come(key, class)
	}
}

func (m *model) addAfter(key string, class Class, after time.Duration) {
	_, ready := m.waits[key]
	_, again := m.again[key]
	if ready || again {
		m.add(key, class)
		return
	}
	next := late{class, time.Now().Add(after)}
	if known, is := m.later[key]; is {
		next.class = max(next.class, known.class)
		if known.at.Before(next.at) {
			next.at = known.at
		}
	}
	m.later[key] = next
}

// pass moves what has come in time, in the order in which it came.
func (m *model) pass() {
	var came []string
	for key, late := range m.later {
		if !late.at.After(time.Now()) {
			came = append(came, key)
		}
	}
	slices.SortFunc(came, func(a, b string) int { return m.later[a].at.Compare(m.later[b].at) })
	for _, key := range came {
		at := m.later[key].at
		m.add(key, m.later[key].class)
		if w := m.waits[key]; w != nil {
			w.since = at
		}
	}
}

func (m *model) overdue(class Class) bool {
	for _, w := range m.waits {
		if w.class == class && time.Since(w.since) > Patience {
			return true
		}
	}
	return false
}

func (m *model) has(class Class) bool {
	for _, w := range m.waits {
		if w.class == class {
			return true
		}
	}
	return false
}

// took checks that an item may be handed out now.
func (m *model) took(key string) {
	m.t.Helper()
	got, ready := m.waits[key]
	if !ready || m.working[key] {
		m.t.Fatalf("%s was handed out; ready %t, worked on %t", key, ready, m.working[key])
	}
	for class := got.class + 1; class <= Leaving; class++ {
		if m.has(class) && !m.overdue(got.class) {
			m.t.Fatalf("%s of class %d was handed out before one of class %d, and has not waited", key, got.class, class)
		}
	}
	m.share(got.class)
	m.fair(key, got)
	delete(m.waits, key)
	m.working[key] = true
}

// share checks that every class that is overdue has turns.
func (m *model) share(took Class) {
	m.t.Helper()
	for class := Settled; class <= Leaving; class++ {
		if class == took || !m.overdue(class) {
			m.neglect[class] = 0
			continue
		}
		if m.neglect[class]++; m.neglect[class] > turnsOfOthers*(classes-1) {
			m.t.Fatalf("class %d has waited for %d turns", class, m.neglect[class])
		}
	}
}

// fair checks that no tenant had more turns than another whose items waited.
func (m *model) fair(key string, got *waiting) {
	m.t.Helper()
	for other, w := range m.waits {
		if w.class != got.class || tenantOf(other) == tenantOf(key) {
			continue
		}
		if w.turns[tenantOf(key)]++; w.turns[tenantOf(key)] > w.ahead+1 {
			m.t.Fatalf("%s had turn %d since %s came, which had %d of its own ahead", tenantOf(key), w.turns[tenantOf(key)], other, w.ahead)
		}
	}
}

func (m *model) done(key string) {
	delete(m.working, key)
	if class, again := m.again[key]; again {
		delete(m.again, key)
		m.come(key, class)
	}
}

// TestProperty plays what may happen to a queue at random and holds it to the model: nothing is lost, nothing is twice at work, classes come in order but for
// those that have waited, those have their turns, and tenants have theirs.
func TestProperty(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func play(t *testing.T, random *rand.Rand) {
	q, m := newTestQueue(), newModel(t)
	defer q.ShutDown()
	keys := 2 + random.IntN(60)
	tenants := 1 + random.IntN(4)
	busy := random.IntN(10) // how often an item is asked for, rather than worked on
	anyKey := func() string { i := random.IntN(keys); return fmt.Sprintf("%d/%d", i*i%tenants, i) }
	for range 3000 {
		switch key := anyKey(); {
		case random.IntN(10) < busy:
			q.as(Class(random.IntN(classes)), key)
			m.add(key, q.classes.get(key))
		case random.IntN(10) == 0:
			after := time.Duration(1 + random.Int64N(int64(time.Second)))
			class := Class(random.IntN(int(Fresh)))
			q.classes.set(key, class)
			q.AddAfter(key, after)
			m.addAfter(key, class, after)
		case random.IntN(4) == 0:
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			synctest.Wait()
			m.pass()
		case len(m.working) > 0 && random.IntN(2) == 0:
			q.Done(key)
			if m.working[key] {
				m.done(key)
			}
		case len(m.waits) > 0:
			got, _ := q.Get()
			m.took(got)
		}
		if q.Len() != len(m.waits)+len(m.again) {
			t.Fatalf("%d wait, want %d and %d that are worked on", q.Len(), len(m.waits), len(m.again))
		}
	}
	m.drain(q)
}

// drain works until nothing is left: everything that was asked for comes.
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
			got, _ := q.Get()
			m.took(got)
			q.Done(got)
			m.done(got)
		}
	}
	if n := q.Len(); n != 0 {
		m.t.Errorf("%d are left that nobody asked for", n)
	}
}

// TestWorkers lets workers and those who add meet: an item is at one worker at a time, and is worked on after it was last asked for.
func TestWorkers(t *testing.T) {
	t.Parallel()
	q := newTestQueue()
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
					t.Errorf("%s is at two workers", key)
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
					q.as(Class(random.IntN(classes)), names[i])
				}
			}
		})
	}
	askers.Wait()
	for i := range names { // what was to come later is not waited for
		asked[i].Add(1)
		q.Add(names[i])
	}
	q.ShutDown()
	workers.Wait()
	for i := range names {
		if asked[i].Load() != seen[i].Load() {
			t.Errorf("%s was asked for %d times, and looked at last after %d", names[i], asked[i].Load(), seen[i].Load())
		}
	}
}
