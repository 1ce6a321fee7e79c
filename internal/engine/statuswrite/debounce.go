package statuswrite

import (
	"hash/maphash"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// These constants determine how long a status write that contains only executor churn (the kind's Fields) is debounced.
// A thousand executors that start, run and end cause three thousand events, and each write sends the whole object to
// the store and to all watchers. So the status is written after the executors have not changed for a while, or after
// the longest wait. The wait is longer while executors are starting or ending (see settled), so that executors that
// start shortly after each other cause one write.
const (
	// quiet is how long the content must stay unchanged before it is written.
	quiet = 2 * time.Second
	// maxDelay is the longest time that a write waits, even if its content keeps changing.
	maxDelay = 10 * time.Second
	// arrivalDelay is the longest wait for the last initial executors, which a busy cluster starts many seconds apart.
	// A shortage of executors is reported within this time (lifecycle), with its wait reason. The wait also keeps the
	// status from reporting zero executors early for applications whose minimum is above zero: the reason for zero
	// executors may be that the driver stops, and the end of the driver is written at once.
	arrivalDelay = 30 * time.Second
	// firstArrivalDelay is the longest wait for the first executor to run; after that, arrivalDelay applies to the
	// other executors. The first executor takes longer because of image pulls and busy nodes. The delay costs little,
	// because executors that do not run yet are hardly more useful than no executors, and their wait reason is written
	// at once.
	firstArrivalDelay = 2 * time.Minute
	// slower multiplies all these times for objects with more executors than manyExecutors, because the status of such
	// an object is large.
	slower        = 2
	manyExecutors = 200
)

// Debouncer remembers for each object since when its status write is debounced because of executor churn.
type Debouncer struct {
	bykey.ByKey[types.NamespacedName, unwritten]
	// lastChurnWrite is the time of the last write for executor churn alone, if the kind debounces the events of failed
	// executors (DebounceEvents). Events of failed executors are written at least Quiet after that time, and each write
	// reports only a few of them.
	lastChurnWrite bykey.ByKey[types.NamespacedName, time.Time]
	// shorts holds since when an object whose status is debounced has had too few executors. Without it, the start of
	// the shortage would move with each pass. The stored time is zero if the object has enough executors.
	shorts bykey.ByKey[types.NamespacedName, time.Time]
}

// EventDelay returns how long the events of failed executors must still wait. They wait until Quiet has passed since
// the last write for executor churn.
func (p *Debouncer) EventDelay(key types.NamespacedName, now time.Time) time.Duration {
	last, known := p.lastChurnWrite.Get(key)
	if since := now.Sub(last); known && since >= 0 && since < quiet {
		return quiet - since
	}
	return 0
}

// Wrote records that a status was written with all debounced changes. The argument churn is true if the write was for
// executor churn alone. After such a write, the next events of failed executors are delayed (EventDelay).
func (p *Debouncer) Wrote(key types.NamespacedName, now time.Time, churn bool) {
	p.Reset(key)

	if churn {
		p.lastChurnWrite.Set(key, now)
	}
}

// Reset forgets the debounced status write of the object, if there is one.
func (p *Debouncer) Reset(key types.NamespacedName) {
	p.ByKey.Forget(key)
	p.shorts.Forget(key)
}

// Forget drops everything that is remembered for a key.
func (p *Debouncer) Forget(key types.NamespacedName) {
	p.Reset(key)
	p.lastChurnWrite.Forget(key)
}

// unwritten is a status write that is debounced.
type unwritten struct {
	since   time.Time // when the debounce began
	changed time.Time // when the content last changed
	content uint64    // digest of the content to write
	first   bool      // the write waits for the first initial executor
}

// digests is the random seed for the digests of contents. A digest is therefore valid only in this process.
var digests = maphash.MakeSeed()

// Window is how long a write is debounced: until the content has not changed for Quiet, and at most for Max.
type Window struct {
	Quiet, Max time.Duration
	First      bool // the write waits for the first initial executor; a later wait begins anew
}

// Delay returns how long the write of an object's status must still wait. 0 means that the caller must write now. The
// argument content is the status to be written: a change of the content restarts the quiet period of the window. The
// wait is longer for an object with many executors.
func (p *Debouncer) Delay(key types.NamespacedName, now time.Time, until Window, executors int, content []byte) (rest time.Duration) {
	times := time.Duration(1)
	if executors > manyExecutors {
		times = slower
	}

	p.Update(key, func(change unwritten, known bool) (unwritten, bool) {
		digest := maphash.Bytes(digests, content)
		clockSetBack := now.Before(change.changed)

		anew := !known || clockSetBack || change.first && !until.First
		if anew {
			change.since = now
		}

		if anew || change.content != digest {
			change.changed, change.content = now, digest
		}

		change.first = until.First && (change.first || !known)
		rest = max(0, min(change.changed.Add(until.Quiet*times).Sub(now), change.since.Add(until.Max*times).Sub(now)))
		return change, rest > 0
	})
	return rest
}

// WindowOf returns the debounce window of a pass. The window is long if more changes are likely: after a minor
// transition, after the loss of all executors of an application that needs executors, and while executors start or end.
func WindowOf(plan lifecycle.Plan, executors []lifecycle.Executor) Window {
	switch next := plan.Next; {
	case len(plan.Transitions) > 0 && len(executors) > 0 && !slices.ContainsFunc(executors, begun):
		return Window{Quiet: firstArrivalDelay, Max: firstArrivalDelay, First: true}
	case len(plan.Transitions) > 0, next.Phase.Runs() && !next.ShortSince.IsZero() && !slices.ContainsFunc(executors, goesOn):
		return Window{Quiet: arrivalDelay, Max: arrivalDelay}
	case !settled(executors):
		return Window{Quiet: maxDelay, Max: maxDelay}
	}
	return Window{Quiet: quiet, Max: maxDelay}
}

// begun reports whether an executor is no longer pending.
func begun(e lifecycle.Executor) bool { return e.Phase != lifecycle.DriverPending }

// goesOn reports whether an executor has not ended.
func goesOn(e lifecycle.Executor) bool {
	return e.Phase != lifecycle.DriverSucceeded && e.Phase != lifecycle.DriverFailed
}

// settled reports whether no executor is starting or ending. A failed executor counts as settled.
func settled(executors []lifecycle.Executor) bool {
	return !slices.ContainsFunc(executors, func(e lifecycle.Executor) bool {
		return e.Phase == lifecycle.DriverPending || e.Phase == lifecycle.DriverSucceeded
	})
}

// ShortSince returns the time since which an object whose status is debounced has had too few executors. It returns the
// zero time if the object has enough.
func (p *Debouncer) ShortSince(key types.NamespacedName) time.Time {
	since, _ := p.shorts.Get(key)
	return since
}

// SetShortSince records the time since which an object whose status is debounced has had too few executors. The zero
// time means that the object has enough.
func (p *Debouncer) SetShortSince(key types.NamespacedName, shortSince time.Time) {
	p.shorts.Set(key, shortSince)
}
