package usage

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxSteps is the maximum number of steps in a status, which limits their text to a few hundred bytes.
const MaxSteps = 32

// maxCount is the largest number of executors in a step.
const maxCount = 1<<countBits - 1

// The bits of the numbers in a text, which users may have written into a status. The times reach the year 6325.
const (
	timeBits  = 37
	countBits = 24
)

// Step is a change of the number of executors that have a node: from At on, in seconds since 1970, N executors have
// one. Before the first step there is none.
type Step struct{ At, N int64 }

// ParseSteps parses the field executorSteps of a usage. It returns nil for a text that Next never returns.
func ParseSteps(text string) (steps []Step) {
	first, rest, _ := strings.Cut(text, " ")

	begin, err := strconv.ParseUint(first, 10, timeBits)
	if err != nil {
		return nil
	}

	for part := range strings.SplitSeq(rest, " ") {
		seconds, count, _ := strings.Cut(part, ":")
		after, err1 := strconv.ParseUint(seconds, 10, timeBits)

		n, err2 := strconv.ParseUint(count, 10, countBits)
		if err1 != nil || err2 != nil || len(steps) == MaxSteps {
			return nil
		}

		step := Step{int64(begin + after), int64(n)}
		if last := len(steps) - 1; last >= 0 && (step.At <= steps[last].At || step.N == steps[last].N) {
			return nil
		}

		steps = append(steps, step)
	}

	if formatSteps(steps) != text {
		return nil
	}
	return steps
}

// formatSteps returns steps as text in the form "1764500000 0:2 12:5 300:0": the time of the first step, and for each
// step the seconds since then and the number of executors.
func formatSteps(steps []Step) string {
	if len(steps) == 0 {
		return ""
	}

	text := strconv.AppendInt(nil, steps[0].At, 10)
	for _, s := range steps {
		text = strconv.AppendInt(append(text, ' '), s.At-steps[0].At, 10)
		text = strconv.AppendInt(append(text, ':'), s.N, 10)
	}
	return string(text)
}

// continued returns the stored steps until the time last, which never change, and after it those of the edges until
// now. The edges are of all executors that are not settled. Those of which the stored steps have nothing therefore
// begin at the time last. Without stored steps, each edge has its true time.
func continued(stored []Step, last, now int64, edges []edge) []Step {
	steps := slices.DeleteFunc(stored, func(s Step) bool { return s.At > last })

	first := int64(0)
	if len(steps) > 0 {
		first = last
		edges = append(edges, edge{at: last})
	}

	for i := range edges {
		edges[i].at = min(max(edges[i].at, first), now)
	}

	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })

	var n int64
	for i, e := range edges {
		n += int64(e.step)
		if i+1 == len(edges) || edges[i+1].at > e.at {
			steps = addStep(steps, Step{e.at, min(max(n, 0), maxCount)})
		}
	}
	return steps
}

// addStep adds a step that is not before the last one. It replaces a step of the same second.
func addStep(steps []Step, s Step) []Step {
	last := len(steps) - 1
	if last >= 0 && steps[last].At == s.At {
		if last == 0 { // the first step also shows when the run began
			steps[0] = s
			return steps
		}

		steps = steps[:last]
		last--
	}

	if last < 0 && s.N == 0 || last >= 0 && steps[last].N == s.N {
		return steps
	}
	return thin(append(steps, s))
}

// thin drops steps until at most MaxSteps remain. It never drops the first and the last one, and each time the one
// without which the area below the steps changes least.
func thin(steps []Step) []Step {
	for len(steps) > MaxSteps {
		at, least := 0, int64(math.MaxInt64)
		for i := 1; i < len(steps)-1; i++ {
			change := max(steps[i].N-steps[i-1].N, steps[i-1].N-steps[i].N)
			if area := product(change, steps[i+1].At-steps[i].At); area < least {
				at, least = i, area
			}
		}

		steps = slices.Delete(steps, at, at+1)
		if steps[at].N == steps[at-1].N {
			steps = slices.Delete(steps, at, at+1)
		}
	}
	return steps
}

// ended returns the edges with the end, at the given time, of all executors that have no end.
func ended(edges []edge, at int64) []edge {
	open := edge{at: at}
	for _, e := range edges {
		open.step -= e.step
	}
	return append(edges, open)
}

// lost returns the edges of executors that were open at the stored time, and whose end neither a pod nor an event
// shows. They count until the given time.
func (t *tally) lost(until int64) []edge {
	n := int32(min(t.open.Len()-t.known.pods, maxCount))
	if n <= 0 || until <= t.last {
		return nil
	}
	return []edge{{t.last, n}, {until, -n}}
}
