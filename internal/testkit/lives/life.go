package lives

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// shown is how much of a story is printed, in lines.
const shown = 60

// Life is what the simulated worlds of all state machines share: chance, the time, and the story of what happened.
type Life struct {
	*rand.Rand
	// Now is the time of the API server.
	Now time.Time
	// Due is when the operator wants to look again. It is zero while only an event brings the next pass.
	Due time.Time
	// Passes is how many passes the operator began.
	Passes int
	// Breach is the first rule that was broken, or "".
	Breach string
	log    []string
}

// New begins a life. Its seed and the number of its machine's sequence decide everything that happens by chance.
func New(seed, sequence uint64, began time.Time) Life {
	return Life{Rand: rand.New(rand.NewPCG(seed, sequence)), Now: began}
}

// Chance is true that often.
func (l *Life) Chance(of float64) bool { return l.Float64() < of }

// Tell adds a line to the story.
func (l *Life) Tell(format string, args ...any) {
	l.log = append(l.log, l.Now.Format("15:04:05.0 ")+fmt.Sprintf(format, args...))
}

// Fail notes a broken rule. Later ones follow from the first, so that only the first counts.
func (l *Life) Fail(format string, args ...any) {
	if l.Breach == "" {
		l.Breach = fmt.Sprintf(format, args...)
		l.Tell("BREACH %s", l.Breach)
	}
}

// Story is the end of the story.
func (l *Life) Story() string { return strings.Join(l.log[max(0, len(l.log)-shown):], "\n") }

// Waits reports whether the time that the operator asked for has not come.
func (l *Life) Waits() bool { return l.Due.IsZero() || l.Now.Before(l.Due) }

// Wake makes the operator look again after some time, or only at an event if that is zero.
func (l *Life) Wake(after time.Duration) {
	if l.Due = (time.Time{}); after > 0 {
		l.Due = l.Now.Add(after)
	}
}

// Crash ends a pass: a call failed, or the operator died.
type Crash struct{ Where string }

// CutShort ends the pass that Caught runs.
func CutShort(where string) { panic(Crash{where}) }

// Caught runs a part of a pass and returns the crash that ended it, if one did.
func Caught(run func()) (crash *Crash) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Crash:
			crash = &r
		default:
			panic(r)
		}
	}()
	run()
	return nil
}

// Copied is what a cache holds once it is in step with what exists. The old contents give the memory.
func Copied[T any](cache []T, exists []*T) []T {
	cache = cache[:0]
	for _, item := range exists {
		cache = append(cache, *item)
	}
	return cache
}

// Play plays the lives of the first seeds, few or LIVES times as many, and returns their number. A breach fails the test with the seed and the
// story.
func Play(t *testing.T, few int, life func(seed uint64) *Life) int {
	t.Helper()
	count, passes := Count(t, few), 0
	for seed := range uint64(count) {
		l := life(seed)
		if passes += l.Passes; l.Breach != "" {
			t.Fatalf("life %d: %s\n%s", seed, l.Breach, l.Story())
		}
	}
	t.Logf("%d lives, %d passes, no breach", count, passes)
	return count
}

// CameTo fails a test if no life came to something: then the world is too tame to prove anything.
func CameTo[K comparable](t *testing.T, seen map[K]int, all ...K) {
	t.Helper()
	t.Logf("lives came to %v", seen)
	for _, one := range all {
		if seen[one] == 0 {
			t.Errorf("no life came to %v: the world is too tame", one)
		}
	}
}

// Trail says what is wrong with transitions that should lead from one phase to another, each by a way that is allowed, or "".
func Trail(from, to lifecycle.Phase, trail []lifecycle.Transition, allowed func(from, to lifecycle.Phase) bool) string {
	at := from
	for _, tr := range trail {
		switch {
		case tr.From != at:
			return fmt.Sprintf("the trail %v does not begin at %q", trail, from)
		case !allowed(tr.From, tr.To):
			return fmt.Sprintf("%q -> %q is not in Transitions", tr.From, tr.To)
		}
		at = tr.To
	}
	if at != to {
		return fmt.Sprintf("the trail ends at %q, Next is %q", at, to)
	}
	return ""
}

// Used are the transitions that happened.
type Used map[[2]lifecycle.Phase]bool

// Add notes the transitions of a plan.
func (u Used) Add(trail []lifecycle.Transition) {
	for _, tr := range trail {
		u[[2]lifecycle.Phase{tr.From, tr.To}] = true
	}
}

// Holds fails a test if a transition that the table of a machine promises never happened.
func (u Used) Holds(t *testing.T, from []lifecycle.Phase, to lifecycle.Phase, when string) {
	t.Helper()
	for _, f := range from {
		if !u[[2]lifecycle.Phase{f, to}] {
			t.Errorf("%q -> %q (%s) never happens: the table promises what the machine does not do", f, to, when)
		}
	}
}
