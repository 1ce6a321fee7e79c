package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

// In these tests an item is "tenant/name". Its class is the class that the test has set last. The time is the time of
// the synctest bubble.

type classesOf struct {
	mu      sync.Mutex
	classes map[string]Class
}

func (c *classesOf) get(key string) Class {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.classes[key]
}

func (c *classesOf) set(key string, class Class) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.classes == nil {
		c.classes = map[string]Class{}
	}

	c.classes[key] = class
}

func tenantOf(key string) string {
	tenant, _, _ := strings.Cut(key, "/")
	return tenant
}

// testQueue is a queue without metrics.
type testQueue struct {
	*Queue[string]
	classes classesOf
}

func newTestQueue() *testQueue {
	q := &testQueue{}
	q.Queue = New(Options[string]{
		Limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, time.Second),
		Class:   q.classes.get, Tenant: tenantOf,
	})
	return q
}

// addAs sets the class of items and adds them.
func (q *testQueue) addAs(class Class, keys ...string) {
	for _, key := range keys {
		q.classes.set(key, class)
		q.Add(key)
	}
}

// take takes and finishes the given number of items, or all ready items if fewer are ready.
func (q *testQueue) take(most int) (taken []string) {
	for len(taken) < most && q.Len() > 0 {
		key, _ := q.Get()
		q.Done(key)
		taken = append(taken, key)
	}
	return taken
}

const all = 1 << 20

func TestOrder(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name string
		add  func(*testQueue)
		want []string
	}{
		{"nothing", func(*testQueue) {}, nil},
		{"items of one tenant keep their order", func(q *testQueue) { q.addAs(Changed, "a/1", "a/2", "a/3") },
			[]string{"a/1", "a/2", "a/3"}},
		{"an item that is added often is handed out once",
			func(q *testQueue) { q.addAs(Changed, "a/1", "a/2", "a/1", "a/1") }, []string{"a/1", "a/2"}},
		{"higher classes first", func(q *testQueue) {
			q.addAs(Settled, "a/settled")
			q.addAs(Changed, "a/changed")
			q.addAs(Fresh, "a/fresh")
			q.addAs(Leaving, "a/leaving")
		}, []string{"a/leaving", "a/fresh", "a/changed", "a/settled"}},
		{"an item has the highest class with which it was added", func(q *testQueue) {
			q.addAs(Fresh, "a/other")
			q.addAs(Settled, "a/1")
			q.addAs(Leaving, "a/1")
			q.addAs(Changed, "a/1")
		}, []string{"a/1", "a/other"}},
		{"an item that gets a higher class comes last in that class", func(q *testQueue) {
			q.addAs(Changed, "a/1")
			q.addAs(Fresh, "a/2")
			q.addAs(Fresh, "a/1")
		}, []string{"a/2", "a/1"}},
		{"tenants take turns", func(q *testQueue) { q.addAs(Fresh, "a/1", "a/2", "a/3", "b/1", "c/1", "b/2") },
			[]string{"a/1", "b/1", "c/1", "a/2", "b/2", "a/3"}},
		{"tenants take turns in each class", func(q *testQueue) {
			q.addAs(Changed, "a/1", "a/2", "b/1")
			q.addAs(Fresh, "a/3", "a/4", "b/2")
		}, []string{"a/3", "b/2", "a/4", "a/1", "b/1", "a/2"}},
		{"a new tenant waits for one turn of each other tenant", func(q *testQueue) {
			q.addAs(Fresh, "a/1", "b/1", "a/2", "b/2")
			q.take(1)
			q.addAs(Fresh, "c/1")
		}, []string{"b/1", "a/2", "c/1", "b/2"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue()
				defer q.ShutDown()

				c.add(q)

				if diff := cmp.Diff(c.want, q.take(all)); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestBegun checks that an item that is added during its first pass is no longer Fresh. Such an item must not wait
// behind all Fresh items.
func TestBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		defer q.ShutDown()

		q.addAs(Fresh, "a/1", "a/2", "a/3", "a/4")
		first, _ := q.Get()
		q.addAs(Fresh, first) // the cache does not show the result of the pass yet
		q.Done(first)
		time.Sleep(patience + 1)
		q.addAs(Changed, first)

		if diff := cmp.Diff([]string{"a/1", "a/2", "a/3", "a/4"}, q.take(all)); diff != "" || first != "a/1" {
			t.Errorf("order after %s (-want +got):\n%s", first, diff)
		}
	})
}

// TestFreshAtOnce checks that Fresh items leave workers for other items, however long first passes last.
func TestFreshAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		q.ready.fresh.places = 2
		var taken []string
		take := func(n int) {
			for range n {
				go func() {
					if key, shutdown := q.Get(); !shutdown {
						taken = append(taken, key)
					}
				}()

				synctest.Wait()
			}
		}
		holds := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()

			if diff := cmp.Diff(want, taken); diff != "" {
				t.Fatalf("%s, taken (-want +got):\n%s", when, diff)
			}

			taken = nil
		}

		q.addAs(Fresh, "a/1", "a/2", "a/3", "a/4", "a/5")
		take(4)
		holds("of what is new", "a/1", "a/2")
		q.addAs(Changed, "b/1")
		holds("when something changed", "b/1")
		q.addAs(Leaving, "a/5")
		holds("when something of what is new is deleted", "a/5")
		take(2)
		q.Done("b/1")
		holds("when a change is done")
		q.Done("a/1")
		holds("when a first pass is done", "a/3")
		q.ShutDown()
		holds("when no more is taken in", "a/4")

		if q.ready.size != 0 {
			t.Errorf("%d are left", q.ready.size)
		}
	})
}

// TestOneAmongThousands checks that the single item of a tenant is handed out within two turns, however many items
// another tenant has.
func TestOneAmongThousands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		defer q.ShutDown()

		for i := range 5000 {
			q.addAs(Fresh, "a/"+string(rune('A'+i)))
		}

		q.take(10)
		time.Sleep(time.Minute) // all of them have waited longer than the patience
		q.addAs(Fresh, "b/1")

		if taken := q.take(2); !slices.Contains(taken, "b/1") {
			t.Errorf("these were handed out before the other tenant's only item: %v", taken)
		}
	})
}

// TestShares checks how many turns each class gets under overload.
func TestShares(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name string
		busy []Class // classes that always have items
		wait time.Duration
		want map[Class]int // out of 240 turns
	}{
		{"no class is overdue", []Class{Fresh, Changed, Settled}, patience, map[Class]int{Fresh: 240}},
		{"Changed is overdue and comes first, but Fresh gets some turns", []Class{Fresh, Changed}, patience + 1,
			map[Class]int{Changed: 210, Fresh: 30}},
		{"Settled gets some turns too", []Class{Fresh, Changed, Settled}, patience + 1,
			map[Class]int{Changed: 210, Fresh: 15, Settled: 15}},
		{"Fresh and Settled only", []Class{Fresh, Settled}, patience + 1, map[Class]int{Fresh: 210, Settled: 30}},
		{"Leaving comes before all other classes", []Class{Leaving, Fresh, Changed, Settled}, patience + 1,
			map[Class]int{Leaving: 210, Changed: 10, Fresh: 10, Settled: 10}},
		{"alone", []Class{Settled}, patience + 1, map[Class]int{Settled: 240}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue()
				defer q.ShutDown()

				next := 'A'
				for _, class := range c.busy {
					for range 240 {
						next++
						q.addAs(class, "a/"+string(next))
					}
				}

				time.Sleep(c.wait)

				got := map[Class]int{}
				for _, key := range q.take(240) {
					got[q.classes.get(key)]++
				}

				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("turns (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestFell checks that an item that has waited long is put back with its new class if the item is less urgent now.
func TestFell(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name string
		wait time.Duration
		then func(*testQueue) // after the wait
		want []string
	}{
		{"the class is not old enough to be computed again", doubt,
			func(q *testQueue) { q.classes.set("a/1", Settled) }, []string{"a/1", "a/2", "a/new", "b/changed"}},
		{"no class has changed", doubt + 1, func(*testQueue) {}, []string{"a/1", "a/2", "a/new", "b/changed"}},
		{"one item has become Settled", doubt + 1, func(q *testQueue) { q.classes.set("a/1", Settled) },
			[]string{"a/2", "a/new", "b/changed", "a/1"}},
		{"all old items have become Settled", doubt + 1, func(q *testQueue) {
			q.classes.set("a/1", Settled)
			q.classes.set("a/2", Settled)
		}, []string{"a/new", "b/changed", "a/1", "a/2"}},
		{"one item has become Changed and was added again", doubt + 1, func(q *testQueue) { q.addAs(Changed, "a/1") },
			[]string{"a/2", "a/new", "b/changed", "a/1"}},
		{"one item has become more urgent and is handed out at once", doubt + 1,
			func(q *testQueue) { q.classes.set("a/1", Leaving) }, []string{"a/1", "a/2", "a/new", "b/changed"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue()
				defer q.ShutDown()

				q.addAs(Fresh, "a/1", "a/2")
				time.Sleep(c.wait)
				q.addAs(Fresh, "a/new")
				q.addAs(Changed, "b/changed")
				c.then(q)

				if diff := cmp.Diff(c.want, q.take(all)); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestAddedWhileDoubted checks an item that is added while its class is computed. The item is not lost or duplicated,
// and gets at least the class with which it was added.
func TestAddedWhileDoubted(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		as   Class
		want []string
	}{{Settled, []string{"a/2", "a/1"}}, {Fresh, []string{"a/1", "a/2"}}} {
		synctest.Test(t, func(t *testing.T) {
			q := newTestQueue()
			defer q.ShutDown()

			q.addAs(Fresh, "a/1", "a/2")
			time.Sleep(doubt + 1)

			class := q.options.Class

			q.options.Class = func(key string) Class { // the call of take
				q.options.Class = class
				q.addAs(c.as, key)

				if n := q.Len(); n != 2 {
					t.Errorf("%d wait, want 2", n)
				}
				return Settled
			}
			if diff := cmp.Diff(c.want, q.take(all)); diff != "" {
				t.Errorf("added as %d: order (-want +got):\n%s", c.as, diff)
			}
		})
	}
}

// TestLate checks that an item that is queued for later becomes ready at its time, or sooner if it is added again.
func TestLate(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name string
		add  func(*testQueue)
		want map[time.Duration][]string // items that are ready at each time, each once
	}{
		{"each item at its time", func(q *testQueue) {
			q.AddAfter("a/3", 3*time.Second)
			q.AddAfter("a/1", time.Second)
			q.AddAfter("a/2", 2*time.Second)
		},
			map[time.Duration][]string{time.Second: {"a/1"}, 2 * time.Second: {"a/2"}, 3 * time.Second: {"a/3"}}},
		{"the earliest of several times", func(q *testQueue) {
			q.AddAfter("a/1", 3*time.Second)
			q.AddAfter("a/1", time.Second)
			q.AddAfter("a/1", 2*time.Second)
		},
			map[time.Duration][]string{time.Second: {"a/1"}}},
		{"Add makes an item ready that was queued for later",
			func(q *testQueue) { q.AddAfter("a/1", time.Second); q.Add("a/1") },
			map[time.Duration][]string{0: {"a/1"}}},
		{"a delay of zero or less means at once", func(q *testQueue) { q.AddAfter("a/1", 0); q.AddAfter("a/2", -1) },
			map[time.Duration][]string{0: {"a/1", "a/2"}}},
		{"AddAfter does not delay a ready item", func(q *testQueue) { q.Add("a/1"); q.AddAfter("a/1", time.Second) },
			map[time.Duration][]string{0: {"a/1"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue()
				defer q.ShutDown()

				c.add(q)

				got := map[time.Duration][]string{}
				for at := time.Duration(0); at <= 5*time.Second; at += time.Second {
					if taken := q.take(all); taken != nil {
						got[at] = taken
					}

					time.Sleep(time.Second)
					synctest.Wait() // until the timer's function has returned
				}

				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("items by the time when they became ready (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestNoMoreNew checks that an item loses the class Fresh if AddAfter queues it with a delay. With a delay, the first
// pass over the item has usually begun already. The item is handed out after the Fresh items.
func TestNoMoreNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		defer q.ShutDown()

		for key, class := range map[string]Class{"a/fresh": Fresh, "a/leaving": Leaving, "a/settled": Settled} {
			q.classes.set(key, class)
			q.AddAfter(key, time.Second)
		}

		time.Sleep(time.Second)
		synctest.Wait()
		q.addAs(Fresh, "b/fresh")
		q.addAs(Changed, "a/changed")

		want := []string{"a/leaving", "b/fresh", "a/fresh", "a/changed", "a/settled"}
		if diff := cmp.Diff(want, q.take(all)); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// TestBackoff checks that each further error of an item delays this item longer, and delays no other item.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		defer q.ShutDown()

		wait := func(key string) time.Duration {
			t.Helper()

			began := time.Now()

			q.AddRateLimited(key)

			if got, _ := q.Get(); got != key {
				t.Fatalf("got %s, want %s", got, key)
			}

			q.Done(key)
			return time.Since(began)
		}
		for _, want := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond,
			800 * time.Millisecond, time.Second} {
			if got := wait("a/1"); got != want {
				t.Errorf("error %d delays the item by %s, want %s", q.NumRequeues("a/1"), got, want)
			}
		}

		if got := wait("a/2"); got != 100*time.Millisecond {
			t.Errorf("the first error of another item delays it by %s", got)
		}

		q.Forget("a/1")

		if got := wait("a/1"); got != 100*time.Millisecond || q.NumRequeues("a/1") != 1 {
			t.Errorf("after Forget the item is delayed by %s, as error %d", got, q.NumRequeues("a/1"))
		}
	})
}

// TestAddedWhileWorkedOn checks that an item that is added while it is in work is not at a second worker and is not
// lost.
func TestAddedWhileWorkedOn(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name string
		add  func(*testQueue)
		want []string // after Done
	}{
		{"not added", func(*testQueue) {}, []string{"a/2"}},
		{"added", func(q *testQueue) { q.Add("a/1") }, []string{"a/2", "a/1"}},
		{"added often, once with a higher class",
			func(q *testQueue) { q.Add("a/1"); q.addAs(Leaving, "a/1"); q.addAs(Changed, "a/1") },
			[]string{"a/1", "a/2"}},
		{"queued for later, and its time came",
			func(q *testQueue) { q.AddAfter("a/1", time.Second); time.Sleep(time.Second); synctest.Wait() },
			[]string{"a/2", "a/1"}},
		{"queued for later, and its time did not come", func(q *testQueue) { q.AddAfter("a/1", time.Hour) },
			[]string{"a/2"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue()
				defer q.ShutDown()

				q.addAs(Changed, "a/1", "a/2")

				if key, _ := q.Get(); key != "a/1" {
					t.Fatalf("got %s", key)
				}

				c.add(q)

				if n := q.Len(); n != len(c.want) {
					t.Errorf("%d items wait, want %v", n, c.want)
				}

				if taken := q.take(1); !slices.Equal(taken, []string{"a/2"}) {
					t.Errorf("while a/1 is in work: %v", taken)
				}

				q.addAs(Changed, "a/2")
				q.Done("a/1")

				if diff := cmp.Diff(c.want, q.take(all)); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestShutDown checks that ready items are handed out after a shutdown. Items queued for later and new items are
// dropped.
func TestShutDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		q.addAs(Changed, "a/1", "a/2")
		q.AddAfter("a/3", time.Second)
		key, _ := q.Get()
		q.Add(key) // it was added in time, so it comes again
		q.ShutDown()
		q.ShutDown()
		q.Add("a/4")
		q.AddAfter("a/5", time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()

		if !q.ShuttingDown() {
			t.Error("ShuttingDown returns false after ShutDown")
		}

		q.Done(key)

		if diff := cmp.Diff([]string{"a/2", "a/1"}, q.take(all)); diff != "" {
			t.Errorf("after ShutDown (-want +got):\n%s", diff)
		}

		if key, shutdown := q.Get(); !shutdown || key != "" {
			t.Errorf("Get = %q, %t", key, shutdown)
		}
	})
}

// TestShutDownWakesAll checks that a shutdown wakes all waiting workers, and that a drain waits for the work to end.
func TestShutDownWakesAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()

		var ended sync.WaitGroup
		for range 3 {
			ended.Go(func() {
				if _, shutdown := q.Get(); shutdown {
					return
				}

				time.Sleep(time.Second)
				q.Done("a/1")
			})
		}

		synctest.Wait()
		q.Add("a/1")
		synctest.Wait()

		began := time.Now()

		q.ShutDownWithDrain()

		if took := time.Since(began); took != time.Second {
			t.Errorf("the drain ended after %s, the work takes 1 s", took)
		}

		ended.Wait()
	})
}

// TestDoneTwice checks that Done has no effect for an item that is not in work.
func TestDoneTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		defer q.ShutDown()

		q.Done("a/1")
		q.Add("a/1")
		q.Done("a/1")

		if diff := cmp.Diff([]string{"a/1"}, q.take(all)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// workers are goroutines that take items and keep each in work until the test calls Done.
type workers struct {
	q     *testQueue
	mu    sync.Mutex
	taken []string
}

func (w *workers) start(n int) {
	for range n {
		go func() {
			for key, shutdown := w.q.Get(); !shutdown; key, shutdown = w.q.Get() {
				w.mu.Lock()
				w.taken = append(w.taken, key)
				w.mu.Unlock()

				for w.q.at(key) {
					time.Sleep(time.Millisecond)
				}
			}
		}()
	}
}

// at reports whether an item is in work.
func (q *testQueue) at(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	_, at := q.working[key]
	return at
}

// since returns how many items of each tenant were taken since the last call of since.
func (w *workers) since() map[string]int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()

	counts := map[string]int{}
	for _, key := range w.taken {
		counts[tenantOf(key)]++
	}

	w.taken = nil
	return counts
}

// TestHalfOfTheWorkers checks a tenant whose passes never end. While no other tenant has items, this tenant may occupy
// all regular workers. Items of other tenants are still handled, by the reserve workers (Reserve), which are half as
// many.
func TestHalfOfTheWorkers(t *testing.T) {
	t.Parallel()

	numbered := func(tenant string, n int) (keys []string) {
		for i := range n {
			keys = append(keys, fmt.Sprintf("%s/%d", tenant, i))
		}
		return keys
	}
	for _, c := range []struct {
		name    string
		workers int
		class   Class
		first   map[string]int // taken of a's 100 items while a is alone
		other   map[string]int // taken of b's 100 items while a's do not end
		last    map[string]int // taken of c's items while a's and b's do not end
	}{
		{"changes", 16, Changed, map[string]int{"a": 16}, map[string]int{"b": 8}, map[string]int{}},
		{"first passes", 16, Fresh, map[string]int{"a": 12}, map[string]int{"b": 6}, map[string]int{}},
		{"an odd number of workers", 5, Changed, map[string]int{"a": 5}, map[string]int{"b": 2}, map[string]int{}},
		{"two workers", 2, Changed, map[string]int{"a": 2}, map[string]int{"b": 1}, map[string]int{}},
		{"one worker, which cannot be shared", 1, Changed, map[string]int{"a": 1}, map[string]int{}, map[string]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTestQueue()
				q.ready.workers.places, q.ready.fresh.places = c.workers, max(1, c.workers-c.workers/4)
				w := &workers{q: q}
				w.start(c.workers + Reserve(c.workers))
				q.addAs(c.class, numbered("a", 100)...)

				if diff := cmp.Diff(c.first, w.since()); diff != "" {
					t.Errorf("items of the first tenant, which is alone (-want +got):\n%s", diff)
				}

				q.addAs(c.class, numbered("b", 100)...)

				if diff := cmp.Diff(c.other, w.since()); diff != "" {
					t.Errorf("items of the second tenant (-want +got):\n%s", diff)
				}

				q.addAs(c.class, "c/0")

				if diff := cmp.Diff(c.last, w.since()); diff != "" {
					t.Errorf("items of the third tenant (-want +got):\n%s", diff)
				}

				if c.workers > 1 {
					for _, done := range []string{"b/0", "b/1"} {
						q.Done(done)
						time.Sleep(time.Second)
						synctest.Wait()
					}

					if diff := cmp.Diff(map[string]int{"b": 1, "c": 1}, w.since()); diff != "" {
						t.Errorf("when the second tenant has finished two items (-want +got):\n%s", diff)
					}
				}

				q.ShutDown()
				finish(q)
			})
		})
	}
}

// finish ends all work, including the work on items that become ready meanwhile.
func finish(q *testQueue) {
	for q.Len() > 0 || q.busy() {
		q.mu.Lock()
		keys := slices.Collect(maps.Keys(q.working))
		q.mu.Unlock()

		for _, key := range keys {
			q.Done(key)
		}

		time.Sleep(time.Second)
	}
}

func (q *testQueue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.working) > 0
}

// TestHeavyWaits checks that a tenant with half of the workers waits while another tenant has ready items of any class.
func TestHeavyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue()
		defer q.ShutDown()

		q.ready.workers.places = 4
		q.addAs(Changed, "a/1", "a/2", "a/3", "a/4", "b/1", "b/2")
		q.addAs(Leaving, "a/5", "a/6")
		q.addAs(Settled, "c/1", "c/2")

		var taken []string
		for range 4 {
			key, _ := q.Get()
			taken = append(taken, key)
		}

		if diff := cmp.Diff([]string{"a/5", "a/6", "b/1", "b/2"}, taken); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}

		q.Done("b/1")

		if key, _ := q.Get(); key != "c/1" {
			t.Errorf("%s was taken, want the Settled item of the tenant that has no item in work", key)
		}
	})
}
