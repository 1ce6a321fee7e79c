package application

import (
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/testkit/lives"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// overtakenPass is a pass during which the operator loses its lease. The pass continues for some time with the state
// that it read before. Meanwhile drivers run and end, users edit, and the next operator waits or starts. The late pass
// writes like any other pass: it sends a status patch with the resourceVersion that it read, checks for existing
// objects before it creates objects, and deletes only observed objects.
type overtakenPass struct {
	app     lifecycle.App
	name    int
	stored  lifecycle.Memory
	version int
	seen    lifecycle.Observed
	now     time.Time
	until   time.Time
	acts    bool // whether the late pass acts now, and not the next operator
	resume  func() (struct{}, bool)
	stop    func()
}

// overtake makes the operator lose its lease in the middle of a pass.
func (w *world) overtake() {
	l := &overtakenPass{app: w.app, name: w.name, stored: w.stored, version: w.version, seen: w.observed(), now: w.Now, until: w.Now.Add(w.slow)}
	l.resume, l.stop = iter.Pull(func(yield func(struct{}) bool) {
		w.latePass(l, func() bool { return yield(struct{}{}) })
	})
	w.late = l
	w.overtaken++
	w.Tell("the operator loses its lease in a pass")
	w.begin()
}

// begin starts the next operator, which first lists all objects.
func (w *world) begin() {
	w.sync()
	w.held, w.lacks = time.Time{}, lifecycle.Shortages{}
}

// advanceLatePass lets the late pass make its next call at random, or ends it.
func (w *world) advanceLatePass() {
	for w.late != nil {
		if w.Now.After(w.late.until) {
			w.late.stop()
			w.Tell("late: its time is over")
			w.late = nil
			w.begin()
		} else if w.Chance(0.4) {
			return
		} else if _, more := w.late.resume(); !more {
			w.late = nil
			w.begin()
		}
	}
}

// latePass does the same as the method pass, but calls rest, which pauses, before each API call. Where pass waits,
// latePass ends, because its requeue is lost together with the old operator's queue.
func (w *world) latePass(l *overtakenPass, rest func() bool) {
	for range 5 {
		plan := Step(l.app, l.stored, l.seen, l.now)
		var fact func(*lifecycle.Observed)
		for _, action := range plan.Actions {
			if !rest() {
				return
			}
			var crashed bool
			if fact, crashed = w.lateCall(l, action); crashed {
				return
			}
			if fact != nil {
				break
			}
		}
		if fact != nil {
			fact(&l.seen)
			continue
		}
		if rest() && w.version == l.version {
			w.Tell("late: the status is written")
			l.acts = true
			w.record(plan)
			l.acts = false
		}
		return
	}
}

// lateCall carries out one action of the late pass, with the spec that the late pass read. The result fact is nil, or a
// function that adds a fact to the observation; the late pass then decides again. The result crashed reports whether
// the call failed.
func (w *world) lateCall(l *overtakenPass, action lifecycle.Action) (fact func(*lifecycle.Observed), crashed bool) {
	app, name := w.app, w.name
	w.app, w.name, l.acts = l.app, l.name, true
	w.Tell("late:")
	gone := w.gone
	crash := lives.Caught(func() { fact = w.apply(lifecycle.Plan{Actions: []lifecycle.Action{action}}, l.seen) })
	if crash == nil && w.gone && !gone && w.version != l.version {
		w.gone = false // the deletion names the resourceVersion that was read
	}
	w.app, w.name, l.acts = app, name, false
	return fact, crash != nil
}

// lateLives plays up to count life cycles in which operators lose their leases during passes. If beside is true, the
// next operator starts while the late pass still runs. lateLives stops at the first life cycle that breaks an
// invariant. It returns the number of lost leases, and a description of the broken invariant or "".
func lateLives(t *testing.T, count int, beside bool) (overtaken int, breach string) {
	for seed := range uint64(count) {
		w := newWorld(seed)
		w.slow, w.beside = 15*time.Second, beside
		w.live(t)
		if w.late != nil {
			w.late.stop()
		}
		overtaken += w.overtaken
		if w.Breach != "" {
			return overtaken, "life " + strconv.Itoa(int(seed)) + ": " + w.Breach + "\n" + w.Story()
		}
	}
	return overtaken, ""
}

// TestLateLives checks that a pass that still runs when the lease is lost does no harm if it ends before the next
// operator starts. The controller guarantees this, because a pass ends with the lease.
func TestLateLives(t *testing.T) {
	t.Parallel()
	count := lives.Count(t, 1000)
	overtaken, breach := lateLives(t, count, false)
	if breach != "" {
		t.Fatal(breach)
	}
	t.Logf("%d lives, %d passes whose operator lost its lease", count, overtaken)
	if overtaken < count {
		t.Error("hardly any operator lost its lease")
	}
}

// TestLatePassBesideAnother shows why a pass must end when the lease is lost. The next operator may already have
// finished and cleaned up the attempt when a creation of the late pass arrives, and then no existing object blocks that
// creation.
func TestLatePassBesideAnother(t *testing.T) {
	t.Parallel()
	_, breach := lateLives(t, 20000, true)
	if !strings.Contains(breach, "is started twice") {
		t.Errorf("breach %q; the world is too tame to see what a pass may do that goes on beside another operator's.\n"+
			"That is no fault of the machine: any change of it moves the lives that the seeds make. Play more of them, and doubt the world if none has it", breach)
	}
}
