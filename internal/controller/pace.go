package controller

import (
	"encoding/json"
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
	quiet    = 2 * time.Second
	patience = 10 * time.Second
	// arrival is how long it waits for the last of those that an application begins with, which a busy cluster starts many seconds apart. That there are too few is
	// told by then (lifecycle: a shortage), and what they wait for too. Nor is it told sooner that an application which never goes below some has none left: so has one
	// whose driver stops, of which the end is told at once.
	arrival = 30 * time.Second
	// firstArrival is how long it waits for the first of them to run, after which it is arrival for the others: images that are pulled, and nodes that have much to
	// do, take longer. That some are there and none runs is hardly more than that none is there, and what they wait for is told at once.
	firstArrival = 2 * time.Minute
	// slower is how many times longer all are with more executors than manyOfThem, whose status is large.
	slower     = 2
	manyOfThem = 200
)

// paces remembers since when a status is not written for its crowd alone.
type paces struct {
	memory.ByKey[types.NamespacedName, unwritten]
	// news is when the last write for the crowd alone was, of a kind that has news of executors that failed (Kind.Crowd.News). They come soon after it at
	// the earliest, and each write tells of a few only.
	news memory.ByKey[types.NamespacedName, time.Time]
	// shorts is since when there are too few executors of those whose status rests, so that this begins once and not with each look; zero where there are enough.
	shorts memory.ByKey[types.NamespacedName, time.Time]
}

// newsRest is how long the news of executors that failed is to wait after the last write of the crowd.
func (p *paces) newsRest(key types.NamespacedName, now time.Time) time.Duration {
	last, known := p.news.Get(key)
	if since := now.Sub(last); known && since >= 0 && since < quiet {
		return quiet - since
	}
	return 0
}

// wrote notes that a status was written: whatever rested is in it. News waits a while after a write for the crowd alone.
func (p *paces) wrote(key types.NamespacedName, now time.Time, crowd bool) {
	p.over(key)
	if crowd {
		p.news.Set(key, now)
	}
}

// over notes that nothing rests any more.
func (p *paces) over(key types.NamespacedName) {
	p.ByKey.Forget(key)
	p.shorts.Forget(key)
}

// Forget drops all that is remembered of a key.
func (p *paces) Forget(key types.NamespacedName) {
	p.over(key)
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

// pause is how long a write waits: until nothing has changed for a while, and no longer than at most.
type pause struct {
	quiet, most time.Duration
	first       bool // for the first of what an application begins with: after that, the next pause counts from its beginning
}

// rest is how long a write is to wait that holds this, of an object of so many executors; 0 = not any longer.
func (p *paces) rest(key types.NamespacedName, now time.Time, until pause, executors int, content []byte) (rest time.Duration) {
	times := time.Duration(1)
	if executors > manyOfThem {
		times = slower
	}
	p.Update(key, func(is unwritten, known bool) (unwritten, bool) {
		digest := maphash.Bytes(digests, content)
		clockSetBack := now.Before(is.changed)
		anew := !known || clockSetBack || is.first && !until.first
		if anew {
			is.since = now
		}
		if anew || is.content != digest {
			is.changed, is.content = now, digest
		}
		is.first = until.first && (is.first || !known)
		rest = max(0, min(is.changed.Add(until.quiet*times).Sub(now), is.since.Add(until.most*times).Sub(now)))
		return is, rest > 0
	})
	return rest
}

// minorPaths is what a minor transition changes of a status besides the crowd's.
var minorPaths = []string{"conditions", "operator.history", "operator.phase", "operator.since"}

// ofTheCrowd reports whether a pass has nothing to store but what its executors are at, and nothing else to tell. Whatever else there is takes that along
// at once.
func (r *Reconciler) ofTheCrowd(p *pass, patch []byte) bool {
	if len(r.kind.Crowd.Fields) == 0 || len(p.told)+len(p.warnings)+len(p.made) > 0 || p.hindered != nil ||
		slices.ContainsFunc(p.plan.Tell, r.pressing) || slices.ContainsFunc(p.plan.Trail, r.major) {
		return false
	}
	paths := r.kind.Crowd.Fields
	if len(p.plan.Trail) > 0 {
		paths = slices.Concat(paths, minorPaths)
	}
	var change map[string]any
	if err := json.Unmarshal(patch, &change); err != nil {
		return false
	}
	status, _ := change["status"].(map[string]any)
	return len(status) > 0 && within(status, "", paths)
}

// major reports whether a transition is stored at once.
func (r *Reconciler) major(t lifecycle.Transition) bool {
	return r.kind.Crowd.Minor == nil || !r.kind.Crowd.Minor(t)
}

// pauseOf is how long a pass waits: for as long as it may where more is to come by all appearances, which is after a minor transition, when an application that
// never goes below some executors has none left, and while executors come or go.
func pauseOf(p *pass) pause {
	switch next := p.plan.Next; {
	case len(p.plan.Trail) > 0 && len(p.seen.Executors) > 0 && !slices.ContainsFunc(p.seen.Executors, begun):
		return pause{quiet: firstArrival, most: firstArrival, first: true}
	case len(p.plan.Trail) > 0, next.Phase.Runs() && !next.ShortSince.IsZero() && !slices.ContainsFunc(p.seen.Executors, goesOn):
		return pause{quiet: arrival, most: arrival}
	case !settled(p.seen.Executors):
		return pause{quiet: patience, most: patience}
	}
	return pause{quiet: quiet, most: patience}
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

// pressing reports whether something is to be told at once. What a pass tells that is put off, the next tells: of executors that failed none is lost
// meanwhile (ends).
func (r *Reconciler) pressing(n lifecycle.Notice) bool {
	return !r.kind.Crowd.News || n.Part != lifecycle.Executors || n.Waits
}

// within reports whether a merge patch changes nothing but what lies at the paths, such as "operator.executors".
func within(patch map[string]any, at string, paths []string) bool {
	for key, value := range patch {
		path := at + key
		if slices.Contains(paths, path) {
			continue
		}
		if inner, ok := value.(map[string]any); !ok || len(inner) == 0 || !within(inner, path+".", paths) {
			return false
		}
	}
	return true
}
