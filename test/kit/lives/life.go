// Package lives contains the parts that the simulators of the state machines share: random choices, time, stories and
// crashes. A life is one simulated life cycle of an object.
package lives

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// shown is the number of lines of a story that a failed test prints.
const shown = 60

// Life is one simulated life cycle of an object. It contains the parts that the simulators of all state machines share:
// the random source, the time, and the story, which is a log of the events in the simulation.
type Life struct {
	*rand.Rand
	// Now is the current time of the simulation, by the API server's clock.
	Now time.Time
	// Due is the time of the next pass that the operator requested. It is zero if the operator requested none.
	Due time.Time
	// Passes counts the passes that the operator began.
	Passes int
	// Breach describes the first broken rule. It is empty if no rule was broken.
	Breach string
	log    []string
}

// New returns a life that begins at a given time. The seed and the sequence determine all random choices. Each state
// machine has its own sequence.
func New(seed, sequence uint64, began time.Time) Life {
	return Life{Rand: rand.New(rand.NewPCG(seed, sequence)), Now: began}
}

// Chance returns true with the given probability.
func (l *Life) Chance(probability float64) bool { return l.Float64() < probability }

// Tell adds a line to the story.
func (l *Life) Tell(format string, args ...any) {
	l.log = append(l.log, l.Now.Format("15:04:05.0 ")+fmt.Sprintf(format, args...))
}

// Fail records the first broken rule of a life. It ignores rules that break later, because their breaks follow from
// the first.
func (l *Life) Fail(format string, args ...any) {
	if l.Breach == "" {
		l.Breach = fmt.Sprintf(format, args...)
		l.Tell("BREACH %s", l.Breach)
	}
}

// Story returns the last lines of the story, as many as a failed test prints.
func (l *Life) Story() string { return strings.Join(l.log[max(0, len(l.log)-shown):], "\n") }

// Waits reports whether no pass is due now, because the operator requested a pass at a later time, or no pass at all.
func (l *Life) Waits() bool { return l.Due.IsZero() || l.Now.Before(l.Due) }

// Wake requests the next pass after a duration. If the duration is zero, only an event starts the next pass.
func (l *Life) Wake(after time.Duration) {
	if l.Due = (time.Time{}); after > 0 {
		l.Due = l.Now.Add(after)
	}
}

// Crash is the value of a panic that simulates the early end of a pass, because a call failed or the operator died.
type Crash struct{ Where string }

// CutShort ends the pass that Caught runs. It panics with a Crash.
func CutShort(where string) { panic(Crash{where}) }

// Caught runs a part of a pass. It returns the Crash that ended the part, or nil.
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

// Copied returns the content of a simulated cache that contains every existing object. The result reuses the memory of
// the argument cache, whose content is overwritten.
func Copied[T any](cache []T, exists []*T) []T {
	cache = cache[:0]
	for _, item := range exists {
		cache = append(cache, *item)
	}
	return cache
}

// Play simulates lives, and returns how many. Their number is the parameter sample, multiplied by the environment
// variable LIVES if it is set. Their seeds are 0, 1, 2 and so on. At the first life that breaks a rule, Play fails the
// test and prints the seed and the story.
func Play(t *testing.T, sample int, life func(seed uint64) *Life) int {
	t.Helper()

	count, passes := effort.Count(t, sample), 0
	for seed := range uint64(count) {
		l := life(seed)
		if passes += l.Passes; l.Breach != "" {
			t.Fatalf("life %d: %s\n%s", seed, l.Breach, l.Story())
		}
	}

	t.Logf("%d lives, %d passes, no breach", count, passes)
	return count
}

// CameTo fails a test if one of the given outcomes was reached by no life, because the simulation does not test such an
// outcome. The parameter seen contains the number of lives for each outcome.
func CameTo[K comparable](t *testing.T, seen map[K]int, all ...K) {
	t.Helper()
	t.Logf("lives came to %v", seen)

	for _, choice := range all {
		if seen[choice] == 0 {
			t.Errorf("no life reached %v: the simulated world causes too few faults", choice)
		}
	}
}

// Trail checks that transitions form a path from one phase to another, and that each transition is allowed. It returns
// a description of the first problem, or an empty string.
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

// Used is the set of transitions that occurred in any life.
type Used map[[2]lifecycle.Phase]bool

// Add adds the transitions of a plan to the set.
func (u Used) Add(trail []lifecycle.Transition) {
	for _, tr := range trail {
		u[[2]lifecycle.Phase{tr.From, tr.To}] = true
	}
}

// Holds fails a test if no life used a transition that the state machine's table allows. The arguments are one row of
// that table, which allows the transitions from each phase in sources to target. The argument reason is the row's
// explanation.
func (u Used) Holds(t *testing.T, sources []lifecycle.Phase, target lifecycle.Phase, reason string) {
	t.Helper()

	for _, f := range sources {
		if !u[[2]lifecycle.Phase{f, target}] {
			t.Errorf("%q -> %q (%s) never happens: the table promises what the machine does not do", f, target, reason)
		}
	}
}
