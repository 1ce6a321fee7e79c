package shard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// bubble runs a test in the model of time, once for each seed.
func bubble(t *testing.T, seeds int, test func(*world)) {
	t.Helper()
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { test(newWorld(t, uint64(seed), usual())) })
		if t.Failed() {
			return
		}
	}
}

func stopAll(replicas ...*replica) {
	for _, r := range replicas {
		r.stop()
		<-r.done
	}
}

// TestShares: those who come get even parts, what a clean stop leaves is taken at once, and after a kill once the session is over.
func TestShares(t *testing.T) {
	var clean, killed []time.Duration
	bubble(t, 20, func(w *world) {
		a := w.start("a", 1)
		w.settles(a)
		b, c := w.start("b", 1), w.start("c", 1)
		w.settles(a, b, c)
		b.stop()
		<-b.done
		clean = append(clean, w.settles(a, c))
		c.kill()
		killed = append(killed, w.settles(a))
		stopAll(a)
	})
	t.Logf("parts are even again %v after a clean stop, %v after a kill", slices.Max(clean), slices.Max(killed))
}

// TestChaos is the model's long run: replicas with clocks that run at different rates are killed, stopped for longer than their sessions last, cut off, and
// come anew, while all of them work. The invariant is the world's.
func TestChaos(t *testing.T) {
	writes, lost := 0, 0
	bubble(t, 12, func(w *world) {
		w.losses = 40
		end := time.Now().Add(10 * time.Minute)
		var all sync.WaitGroup
		var replicas []*replica
		begin := func() {
			r := w.start(fmt.Sprintf("r%d", len(replicas)), 0.9+float64(w.upTo(20))/100)
			replicas = append(replicas, r)
			all.Go(func() { r.work(end) })
		}
		for range 3 {
			begin()
		}
		for time.Now().Before(end.Add(-time.Minute)) {
			time.Sleep(w.upTo(30 * time.Second))
			victim := replicas[len(replicas)-1-int(w.upTo(2))]
			switch w.upTo(4) {
			case 0:
				victim.kill()
				lost++
				begin()
			case 1:
				victim.stop()
				<-victim.done
				begin()
			case 2, 3:
				all.Go(func() { victim.pause(w.upTo(30 * time.Second)) })
			case 4:
				victim.cut(true)
				all.Go(func() {
					time.Sleep(w.upTo(30 * time.Second))
					victim.cut(false)
				})
			}
		}
		all.Wait()
		for _, r := range replicas {
			r.cut(false)
		}
		stopAll(replicas...)
		for _, n := range w.writes {
			writes += n
		}
	})
	t.Logf("%d writes, %d kills", writes, lost)
	if writes < 10000 {
		t.Errorf("only %d writes: the model stood still", writes)
	}
}

// TestWakesTooLate: a replica that was stopped for longer than its session lasts does not act when it wakes, until it has begun anew.
func TestWakesTooLate(t *testing.T) {
	bubble(t, 10, func(w *world) {
		a, b := w.start("a", 1), w.start("b", 1)
		w.settles(a, b)
		key := ownedBy(w.t, a)
		ctx, _, done, given := a.member.Begin(w.t.Context(), key)
		if !given {
			w.t.Fatal("no pass may begin over what is owned")
		}
		a.pause(30 * time.Second)
		synctest.Wait()
		if ctx.Err() == nil {
			w.t.Error("a pass goes on after the session was over")
		}
		if n := b.member.Owned(); n != w.options.Shards {
			w.t.Errorf("the other owns %d shards, want all", n)
		}
		done()
		w.settles(a, b)
		stopAll(a, b)
	})
}

func ownedBy(t *testing.T, r *replica) types.NamespacedName {
	t.Helper()
	for n := range 1000 {
		if key := (types.NamespacedName{Namespace: "n", Name: fmt.Sprint(n)}); r.member.Owns(key) {
			return key
		}
	}
	t.Fatal("nothing is owned")
	return types.NamespacedName{}
}

// TestGivesUpAfterItsPasses: a shard that another is to have stays while a pass is in flight, no other begins meanwhile, and the shard's change is told.
func TestGivesUpAfterItsPasses(t *testing.T) {
	bubble(t, 10, func(w *world) {
		a := w.start("a", 1)
		w.settles(a)
		var told []int
		var mu sync.Mutex
		a.member.OnChange(func(shards []int) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, shards...)
		})
		held := map[int]func(){}
		for n := range 500 {
			key := types.NamespacedName{Namespace: "n", Name: fmt.Sprint(n)}
			if _, _, done, given := a.member.Begin(w.t.Context(), key); given && held[a.member.Shard(key)] == nil {
				held[a.member.Shard(key)] = done
			} else {
				done()
			}
		}
		b := w.start("b", 1)
		time.Sleep(time.Minute)
		if n := b.member.Owned(); n != 0 {
			w.t.Fatalf("%d shards were given up with passes in flight", n)
		}
		owned := 0
		for shard := range w.options.Shards {
			if a.member.Owns(keyOf(w, shard)) {
				owned++
			}
		}
		if owned != w.options.Shards/2 {
			w.t.Errorf("passes may begin in %d shards, want %d", owned, w.options.Shards/2)
		}
		for _, done := range held {
			done()
		}
		w.settles(a, b)
		mu.Lock()
		if len(told) != w.options.Shards/2 {
			w.t.Errorf("told of shards %v, want half of them once", told)
		}
		mu.Unlock()
		stopAll(a, b)
	})
}

// keyOf is a key in a shard.
func keyOf(w *world, shard int) types.NamespacedName {
	for n := 0; ; n++ {
		key := types.NamespacedName{Namespace: "n", Name: fmt.Sprint(n)}
		if Of(key.Namespace, key.Name, w.options.Shards) == shard {
			return key
		}
	}
}

// TestNumberOfShardsChanges: replicas of different numbers of shards never act at the same time; the new ones wait until the last of the old has gone.
func TestNumberOfShardsChanges(t *testing.T) {
	bubble(t, 10, func(w *world) {
		a := w.start("a", 1)
		w.settles(a)
		b := w.start("b", 1, func(o *Options) { o.Shards = 30 })
		time.Sleep(time.Minute)
		if n := b.member.Owned(); n != 0 {
			w.t.Fatalf("one of another number of shards owns %d", n)
		}
		a.stop()
		<-a.done
		for begun := time.Now(); b.member.Owned() != 30; time.Sleep(time.Second) {
			if time.Since(begun) > time.Minute {
				w.t.Fatalf("it owns %d of 30 shards a minute later", b.member.Owned())
			}
		}
		stopAll(b)
	})
}

// TestWaitsForTheLeader: while one of several replicas leads alone, as without shards, none of another configuration acts; and where it has released its
// lease, they begin at once.
func TestWaitsForTheLeader(t *testing.T) {
	bubble(t, 10, func(w *world) {
		lead := func(holder string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.version++
			w.leases[w.options.Set] = Lease{Name: w.options.Set, Holder: holder, Duration: 15 * time.Second, Version: fmt.Sprint(w.version)}
		}
		lead("pod-1")
		a := w.start("a", 1)
		for range 30 {
			time.Sleep(2 * time.Second)
			lead("pod-1")
			if n := a.member.Owned(); n != 0 {
				w.t.Fatalf("it owns %d shards beside a leader", n)
			}
		}
		lead("")
		w.settles(a)
		stopAll(a)
	})
}

// TestSessionEndedByAnother: who finds its session written to by somebody else acts no more, at once, and begins anew.
func TestSessionEndedByAnother(t *testing.T) {
	bubble(t, 10, func(w *world) {
		a := w.start("a", 1)
		w.settles(a)
		ctx, tenure, done, _ := a.member.Begin(w.t.Context(), keyOf(w, 0))
		w.mu.Lock()
		w.version++
		w.leases["lock-member-0"] = Lease{Name: "lock-member-0", Version: fmt.Sprint(w.version)}
		w.mu.Unlock()
		<-ctx.Done()
		done()
		w.settles(a)
		_, next, done, given := a.member.Begin(w.t.Context(), keyOf(w, 0))
		done()
		if !given || next == tenure {
			w.t.Errorf("given %t, tenure %d after %d, want another", given, next, tenure)
		}
		stopAll(a)
	})
}

// TestNewTermOwnsNothing: a shard that was noted at the very moment at which the term ended, after what ended with it was dropped, is not the next term's:
// another replica may have it since.
func TestNewTermOwnsNothing(t *testing.T) {
	bubble(t, 1, func(w *world) {
		m := NewMember(usual(), &replica{world: w, name: "a", rate: 1}, logr.Discard())
		ctx := w.t.Context()
		for m.Owned() == 0 {
			m.round(ctx)
		}
		m.term.stop()
		m.mu.Lock()
		m.own(0, "an older version")
		m.mu.Unlock()
		begin := func(when string) {
			_, _, done, given := m.Begin(ctx, keyOf(w, 0))
			if done(); given {
				w.t.Errorf("%s a pass may begin", when)
			}
		}
		begin("without a term")
		v, err := m.look(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := m.join(ctx, v); err != nil || !m.acts() {
			w.t.Fatalf("no term is begun: %v", err)
		}
		begin("in a term that has not looked whose the shard is")
		m.term.stop()
	})
}

// TestTellsOnce: what fails in the same way again and again is logged once.
func TestTellsOnce(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, text string) { lines = append(lines, text) }, funcr.Options{})
	m := NewMember(usual(), nil, log)
	for _, err := range []error{errUnreachable, errUnreachable, ErrChanged, errUnreachable, context.DeadlineExceeded, errUnreachable} {
		m.tell(t.Context(), err, "it failed")
	}
	if len(lines) != 3 {
		t.Errorf("logged %q", lines)
	}
}

// TestSessionDeletedByHand: the shards of one whose session is gone are left alone for as long as it may act.
func TestSessionDeletedByHand(t *testing.T) {
	bubble(t, 10, func(w *world) {
		a, b := w.start("a", 1), w.start("b", 1)
		w.settles(a, b)
		_, _, done, given := a.member.Begin(w.t.Context(), ownedBy(w.t, a))
		a.cut(true) // it does not learn of it
		w.mu.Lock()
		delete(w.leases, "lock-member-0")
		w.mu.Unlock()
		begun := time.Now()
		for b.member.Owned() != w.options.Shards {
			time.Sleep(100 * time.Millisecond)
			if a.member.Owned() > 0 && b.member.Owned() > w.options.Shards/2 {
				w.t.Fatalf("after %v they own %v of %d", time.Since(begun), owners(a, b), w.options.Shards)
			}
			if time.Since(begun) > time.Minute {
				w.t.Fatalf("a minute later they own %v", owners(a, b))
			}
		}
		if !given {
			w.t.Error("nothing was in flight")
		}
		done()
		a.cut(false)
		w.settles(a, b)
		stopAll(a, b)
	})
}

// TestMoreReplicasThanShards: what is too much stands by, and takes over.
func TestMoreReplicasThanShards(t *testing.T) {
	bubble(t, 5, func(w *world) {
		w.options.Shards = 2
		a, b := w.start("a", 1), w.start("b", 1)
		w.settles(a, b)
		c := w.start("c", 1)
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]int{1, 1, 0}, owners(a, b, c)); diff != "" {
			w.t.Fatalf("owned (-want +got):\n%s", diff)
		}
		a.kill()
		w.settles(b, c)
		stopAll(b, c)
	})
}

// TestWithoutShards: where the work is not shared everything is ours.
func TestWithoutShards(t *testing.T) {
	var m *Member
	ctx, tenure, done, given := m.Begin(t.Context(), types.NamespacedName{Name: "a"})
	done()
	if !given || tenure != 0 || ctx != t.Context() || !m.Owns(types.NamespacedName{Name: "a"}) {
		t.Errorf("given %t, tenure %d", given, tenure)
	}
}
