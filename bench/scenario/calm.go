package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// calmSpan is over how long a control plane has to be idle to be called calm: longer than the pauses that its controllers make between two rounds of clean-up.
const calmSpan = 2 * time.Second

// calmShare is the CPU, in cores, that a control plane takes that nobody asks anything of: leases, health checks, and what etcd writes for them.
const calmShare = 0.10

// calmLimit is how long it is waited for.
const calmLimit = 3 * time.Minute

// errBusy is the error of a control plane that did not come to rest.
var errBusy = errors.New("the control plane does not come to rest")

// calmWorld waits until the whole control plane takes next to nothing. What comes before a measured window leaves work behind that has nothing to do with what is
// measured (garbage collection, Endpoints, etcd's own), and that would make whatever comes next look slow, the more so where two figures are divided by each other.
// The error is errBusy and says who is at work, or the context's.
func calmWorld(ctx context.Context, w *world.World) error { return calmOf(ctx, w.Components) }

// calmIfEver does so for a scenario that measures one thing beside much else. There the control plane may have something to do for ever; that is said, and no error.
func calmIfEver(ctx context.Context, w *world.World, s *Sink, scenario, in string) error {
	err := calmWorld(ctx, w)
	if errors.Is(err, errBusy) {
		s.Say(scenario, "%s: measured although %v.", in, err)
		return nil
	}
	return err
}

// calmOf does so for processes whose usage it is told.
func calmOf(ctx context.Context, usage func() (map[string]world.Usage, error)) error {
	deadline := time.Now().Add(calmLimit)
	before, err := usage()
	if err != nil {
		return err
	}
	for {
		began := time.Now()
		if err := pause(ctx, calmSpan); err != nil {
			return fmt.Errorf("waiting for a calm control plane: %w", err)
		}
		after, err := usage()
		if err != nil {
			return err
		}
		shares := sharesOf(before, after, time.Since(began))
		if sum(shares) < calmShare {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w within %s: %s", errBusy, calmLimit, inWords(shares))
		}
		before = after
	}
}

// sharesOf are how many cores each process took in between.
func sharesOf(before, after map[string]world.Usage, span time.Duration) map[string]float64 {
	shares := map[string]float64{}
	for who, u := range after {
		shares[who] = (u.CPU - before[who].CPU).Seconds() / span.Seconds()
	}
	return shares
}

func sum(of map[string]float64) (all float64) {
	for _, n := range of {
		all += n
	}
	return all
}

// inWords says who took how much of a core, the busiest first.
func inWords(shares map[string]float64) string {
	who := slices.SortedFunc(maps.Keys(shares), func(a, b string) int { return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b)) })
	var words []string
	for _, w := range who {
		words = append(words, fmt.Sprintf("%s takes %.0f %% of a core", w, 100*shares[w]))
	}
	return strings.Join(words, ", ")
}
