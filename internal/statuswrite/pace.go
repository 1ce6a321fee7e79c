package statuswrite

import (
	"hash/maphash"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// How long a status waits that is to be written for its crowd alone (Kind.Crowd.Fields): a thousand executors that come, run and go are three thousand events, and
// each write is of the whole object, to the store and to everybody who watches. It is written once the crowd has been quiet for a while, which it is not
// while some of it come or go (settled), so that executors that start one after the other are one write and not as many; and it does not wait for ever.
const (
	// Quiet is how long nothing is to change before it is written.
	Quiet = 2 * time.Second
	// Patience is how long it waits for that at most.
	Patience = 10 * time.Second
	// Arrival is how long it waits for the last of those that an application begins with, which a busy cluster starts many seconds apart. That there are too few is
	// told by then (lifecycle: a shortage), and what they wait for too. Nor is it told sooner that an application which never goes below some has none left: so has one
	// whose driver stops, of which the end is told at once.
	Arrival = 30 * time.Second
	// FirstArrival is how long it waits for the first of them to run, after which it is Arrival for the others: images that are pulled, and nodes that have much to
	// do, take longer. That some are there and none runs is hardly more than that none is there, and what they wait for is told at once.
	FirstArrival = 2 * time.Minute
	// slower is how many times longer all are with more executors than manyOfThem, whose status is large.
	slower     = 2
	manyOfThem = 200
)

// Paces remembers since when a status is not written for its crowd alone.
type Paces struct {
	memory.ByKey[types.NamespacedName, unwritten]
	// news is when the last write for the crowd alone was, of a kind that has news of executors that failed (Kind.Crowd.News). They come soon after it at
	// the earliest, and each write tells of a few only.
	news memory.ByKey[types.NamespacedName, time.Time]
	// shorts is since when there are too few executors of those whose status rests, so that this begins once and not with each look; zero where there are enough.
	shorts memory.ByKey[types.NamespacedName, time.Time]
}

// NewsRest is how long the news of executors that failed is to wait after the last write of the crowd.
func (p *Paces) NewsRest(key types.NamespacedName, now time.Time) time.Duration {
	last, known := p.news.Get(key)
	if since := now.Sub(last); known && since >= 0 && since < Quiet {
		return Quiet - since
	}
	return 0
}

// Wrote notes that a status was written: whatever rested is in it. News waits a while after a write for the crowd alone.
func (p *Paces) Wrote(key types.NamespacedName, now time.Time, crowd bool) {
	p.Over(key)
	if crowd {
		p.news.Set(key, now)
	}
}

// Over notes that nothing rests any more.
func (p *Paces) Over(key types.NamespacedName) {
	p.ByKey.Forget(key)
	p.shorts.Forget(key)
}

// Forget drops all that is remembered of a key.
func (p *Paces) Forget(key types.NamespacedName) {
	p.Over(key)
	p.news.Forget(key)
}

// unwritten is a change that rests.
type unwritten struct {
	since   time.Time // when it began
	changed time.Time // when it last became another
	content uint64    // digest of what would be written
	first   bool      // it waits for the first of what an application begins with
}

// digests are of this process alone.
var digests = maphash.MakeSeed()

// Pause is how long a write waits: until nothing has changed for a while, and no longer than at most.
type Pause struct {
	Quiet, Most time.Duration
	First       bool // for the first of what an application begins with: after that, the next pause counts from its beginning
}

// Rest is how long a write is to wait that holds this, of an object of so many executors; 0 = not any longer.
func (p *Paces) Rest(key types.NamespacedName, now time.Time, until Pause, executors int, content []byte) (rest time.Duration) {
	times := time.Duration(1)
	if executors > manyOfThem {
		times = slower
	}
	p.Update(key, func(is unwritten, known bool) (unwritten, bool) {
		digest := maphash.Bytes(digests, content)
		clockSetBack := now.Before(is.changed)
		anew := !known || clockSetBack || is.first && !until.First
		if anew {
			is.since = now
		}
		if anew || is.content != digest {
			is.changed, is.content = now, digest
		}
		is.first = until.First && (is.first || !known)
		rest = max(0, min(is.changed.Add(until.Quiet*times).Sub(now), is.since.Add(until.Most*times).Sub(now)))
		return is, rest > 0
	})
	return rest
}

// PauseOf is how long a pass waits: for as long as it may where more is to come by all appearances, which is after a minor transition, when an application that
// never goes below some executors has none left, and while executors come or go.
func PauseOf(plan lifecycle.Plan, executors []lifecycle.Executor) Pause {
	switch next := plan.Next; {
	case len(plan.Trail) > 0 && len(executors) > 0 && !slices.ContainsFunc(executors, begun):
		return Pause{Quiet: FirstArrival, Most: FirstArrival, First: true}
	case len(plan.Trail) > 0, next.Phase.Runs() && !next.ShortSince.IsZero() && !slices.ContainsFunc(executors, goesOn):
		return Pause{Quiet: Arrival, Most: Arrival}
	case !settled(executors):
		return Pause{Quiet: Patience, Most: Patience}
	}
	return Pause{Quiet: Quiet, Most: Patience}
}

// begun reports whether an executor is more than made.
func begun(e lifecycle.Executor) bool { return e.Phase != lifecycle.DriverPending }

// goesOn reports whether an executor has not ended.
func goesOn(e lifecycle.Executor) bool {
	return e.Phase != lifecycle.DriverSucceeded && e.Phase != lifecycle.DriverFailed
}

// settled reports whether no executor is on its way in or out. One that failed is on neither.
func settled(executors []lifecycle.Executor) bool {
	return !slices.ContainsFunc(executors, func(e lifecycle.Executor) bool {
		return e.Phase == lifecycle.DriverPending || e.Phase == lifecycle.DriverSucceeded
	})
}

// ShortSince returns since when there are too few executors of those whose status rests.
func (p *Paces) ShortSince(key types.NamespacedName) time.Time {
	since, _ := p.shorts.Get(key)
	return since
}

// Rests notes since when there are too few executors of an object whose status rests; zero where there are enough.
func (p *Paces) Rests(key types.NamespacedName, shortSince time.Time) { p.shorts.Set(key, shortSince) }
