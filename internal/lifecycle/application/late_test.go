package application

import (
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
	"github.com/sparkoperator/spark-operator/test/kit/lives"
)

// overtakenPass is a pass during which the operator loses its lease. It continues for some time with the state that it
// read before, while drivers run and end, users edit, and the next operator waits or starts.
//
// Such a late pass writes like any other pass. Its status patch contains the resourceVersion that it read. It checks
// whether an object exists before it creates the object, and deletes only observed objects.
type overtakenPass struct {
	app     lifecycle.App
	name    int
	stored  lifecycle.Memory
	version int
	seen    lifecycle.Observed
	now     time.Time
	until   time.Time
	acts    bool // the late pass makes the current call; false: the next operator does
	resume  func() (struct{}, bool)
	stop    func()
}

// overtake makes the operator lose its lease in the middle of a pass.
func (w *world) overtake() {
	l := &overtakenPass{app: w.app, name: w.name, stored: w.stored, version: w.version, seen: w.observed(), now: w.Now,
		until: w.Now.Add(w.slow)}
	l.resume, l.stop = iter.Pull(func(yield func(struct{}) bool) {
		w.latePass(l, func() bool { return yield(struct{}{}) })
	})
	w.late = l
	w.overtaken++
	w.Tell("the operator loses its lease during a pass")
	w.begin()
}

// begin starts the next operator, which first lists all objects.
func (w *world) begin() {
	w.sync()
	w.held, w.lacks = time.Time{}, lifecycle.Shortages{}
}

// advanceLatePass lets the late pass make some of its next calls, at random. After the time that a late pass may last,
// it ends the late pass.
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

// latePass decides and carries out its plans as world.pass does. Before each API call it pauses: it calls rest, and
// ends if the result is false. It also ends where world.pass would wait for a requeue, because the queue is lost
// together with the old operator.
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

			w.record(plan, l.seen)

			l.acts = false
		}
		return
	}
}

// lateCall carries out one action of the late pass, with the spec that the late pass read. If the action has an answer
// (for example of a live read), the first result is a function that adds the answer to the observation, after which the
// late pass decides again. The second result reports whether the call failed.
func (w *world) lateCall(l *overtakenPass, action lifecycle.Action) (fact func(*lifecycle.Observed), crashed bool) {
	app, name := w.app, w.name
	w.app, w.name, l.acts = l.app, l.name, true
	w.Tell("late:")
	gone := w.gone

	crash := lives.Caught(func() { fact = w.apply(lifecycle.Plan{Actions: []lifecycle.Action{action}}, l.seen) })
	if crash == nil && w.gone && !gone && w.version != l.version {
		w.gone = false // a conflict: the deletion requires the resourceVersion that the late pass read
	}

	w.app, w.name, l.acts = app, name, false
	return fact, crash != nil
}

// lateLives simulates up to count life cycles in which operators lose their leases during passes. The parameter
// `beside` specifies whether the next operator starts while the late pass still runs. The function stops at the first
// broken invariant. It returns the number of lost leases, and the description of the broken invariant or "".
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
	count := effort.Count(t, 250)

	overtaken, breach := lateLives(t, count, false)
	if breach != "" {
		t.Fatal(breach)
	}

	t.Logf("%d lives, %d passes whose operator lost its lease", count, overtaken)

	if overtaken < count {
		t.Error("hardly any operator lost its lease")
	}
}

// TestLatePassBesideAnother shows why a pass must end when the lease is lost. A late pass may create an object after
// the next operator has finished and cleaned up the attempt. The object's name is free again by then, so the API server
// accepts the creation.
func TestLatePassBesideAnother(t *testing.T) {
	effort.Long(t)
	t.Parallel()

	_, breach := lateLives(t, 20000, true)
	if !strings.Contains(breach, "is started twice") {
		t.Errorf("breach %q, want a driver that is started twice: no life showed the harm of a late pass beside the next operator.\n"+
			"The state machine may be right, because any change of it changes the lives. Simulate more lives. If none shows the harm, check the simulated world", breach)
	}
}
