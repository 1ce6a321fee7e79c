package usage

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// TestParseSteps checks which texts are valid.
func TestParseSteps(t *testing.T) {
	t.Parallel()

	many := func(n int) string {
		text := "1800000000"
		for i := range n {
			text += fmt.Sprintf(" %d:%d", i, i+1)
		}
		return text
	}

	for text, want := range map[string][]Step{
		"1764500000 0:2 12:5 300:0":    {{1764500000, 2}, {1764500012, 5}, {1764500300, 0}},
		"1764500000 0:0":               {{1764500000, 0}},
		"137438953471 0:16777215":      {{1<<37 - 1, 1<<24 - 1}},
		"":                             nil,
		"1764500000":                   nil,
		"1764500000 ":                  nil,
		"1764500000 0:2 ":              nil,
		" 1764500000 0:2":              nil,
		"1764500000 1:2":               nil, // does not begin at the first step
		"1764500000 0:2 12:2":          nil, // no change
		"1764500000 0:2 12:5 12:6":     nil, // not in order
		"1764500000 0:2 12:5 11:6":     nil,
		"1764500000 0:2  12:5":         nil,
		"1764500000 0:2,12:5":          nil,
		"1764500000 0:-2":              nil,
		"1764500000 0:+2":              nil,
		"1764500000 0:02":              nil,
		"01764500000 0:2":              nil,
		"-5 0:2":                       nil,
		"1764500000 0:16777216":        nil, // too large
		"1764500000 0:1 137438953472:": nil,
		"99999999999999999999 0:1":     nil,
		"1764500000 0:2 x:5":           nil,
		"1764500000 0:2 12":            nil,
		many(MaxSteps + 1):             nil,
		strings.Repeat("1", 1<<20):     nil,
	} {
		if diff := gocmp.Diff(want, ParseSteps(text)); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", text, diff)
		}

		if want != nil && formatSteps(want) != text {
			t.Errorf("%v are written as %q, want %q", want, formatSteps(want), text)
		}
	}

	if got := ParseSteps(many(MaxSteps)); len(got) != MaxSteps {
		t.Errorf("%d steps of %d", len(got), MaxSteps)
	}
}

// TestThin checks which steps are dropped.
func TestThin(t *testing.T) {
	t.Parallel()

	var steps []Step
	for i := range int64(MaxSteps) {
		steps = append(steps, Step{start + 100*i, 10 * (i%2 + 1)})
	}

	end := steps[MaxSteps-1].At

	for name, test := range map[string]struct {
		steps, want []Step
	}{
		"no more than the maximum": {steps, steps},
		"a short one":              {slices.Insert(slices.Clone(steps), 7, Step{steps[7].At - 1, 100}), steps},
		"a small one":              {slices.Insert(slices.Clone(steps), 8, Step{steps[7].At + 50, 21}), steps},
		"never the last one":       {append(slices.Clone(steps), Step{end + 1, 0}), append(steps[:MaxSteps-1:MaxSteps-1], Step{end + 1, 0})},
		// Without the dip, the steps before and after it are one.
		"a dip": {
			append(slices.Clone(steps[:MaxSteps-1]), Step{end - 50, 9}, Step{end - 49, 10}, Step{end, 20}),
			append(slices.Clone(steps[:MaxSteps-1]), Step{end, 20}),
		},
	} {
		if diff := gocmp.Diff(test.want, thin(slices.Clone(test.steps))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSteps checks the steps after single passes.
func TestSteps(t *testing.T) {
	t.Parallel()

	use := func(from, until int64) lifecycle.PodUse {
		use := lifecycle.PodUse{Requests: small, From: start + from}
		if until > 0 {
			use.Until = start + until
		}
		return use
	}
	at := func(now int64, attempt int32, uses ...lifecycle.PodUse) Facts {
		f := Facts{Attempt: attempt, Live: true, Created: time.Unix(start, 0), Now: time.Unix(start+now, 0)}
		f.Seen.Drivers = []lifecycle.Driver{{Attempt: attempt, Use: use(1, 0)}}

		for i, use := range uses {
			f.Seen.Executors = append(f.Seen.Executors, lifecycle.Executor{Name: fmt.Sprint("app-exec-", i+1), Attempt: attempt, Use: use})
		}
		return f
	}
	over := func(f Facts) Facts { f.Live = false; return f }
	next := func(f Facts) Facts { f.NextRun = true; return f }
	none := lifecycle.PodUse{}

	hostile := &statusv1.OperatorUsage{Attempt: 1, ExecutorSteps: "5 0:1 4:9999999999", Open: "0-1099511627776"}

	upgraded := &statusv1.OperatorUsage{Attempt: 1, Open: "1-2", Time: new(metav1.Unix(start+15, 0))}
	afterDriver := over(at(20, 1, use(5, 18)))
	afterDriver.Seen.Drivers[0].Use = use(1, 12)

	for name, test := range map[string]struct {
		stored *statusv1.OperatorUsage
		passes []Facts
		want   string
	}{
		"no executor has a node": {passes: []Facts{at(10, 1, none, none)}},
		"two start, one ends":    {passes: []Facts{at(10, 1, use(5, 0), use(7, 9))}, want: "1800000005 0:1 2:2 4:1"},
		"repeated":               {passes: []Facts{at(10, 1, use(5, 0)), at(10, 1, use(5, 0)), at(20, 1, use(5, 0))}, want: "1800000005 0:1"},
		// The first pass has missed the executor of second 8, which therefore begins at the time of that pass.
		"a late pass":              {passes: []Facts{at(10, 1, use(5, 0)), at(20, 1, use(5, 0), use(8, 0))}, want: "1800000005 0:1 5:2"},
		"a late end":               {passes: []Facts{at(10, 1, use(5, 0)), at(20, 1, use(5, 8))}, want: "1800000005 0:1 5:0"},
		"a start in the future":    {passes: []Facts{at(10, 1, use(12, 0)), at(20, 1, use(12, 0))}, want: "1800000010 0:0 2:1"},
		"an executor disappears":   {passes: []Facts{at(10, 1, use(5, 0), use(6, 0)), at(20, 1, use(5, 0))}, want: "1800000005 0:1 1:2 15:1"},
		"the attempt ends":         {passes: []Facts{at(10, 1, use(5, 0)), over(at(20, 1, use(5, 0)))}, want: "1800000005 0:1 15:0"},
		"it ends, executors later": {passes: []Facts{over(at(20, 1, use(5, 0))), over(at(30, 1, use(5, 22)))}, want: "1800000005 0:1 17:0"},
		"the next attempt":         {passes: []Facts{at(10, 1, use(5, 0)), at(20, 2), at(30, 2, use(25, 0))}, want: "1800000005 0:1 15:0 20:1"},
		"the next run":             {passes: []Facts{over(at(10, 1, use(5, 9))), next(at(20, 1, use(5, 9))), at(30, 2, use(25, 0))}, want: "1800000020 0:0 5:1"},
		"a status without steps":   {stored: &statusv1.OperatorUsage{Attempt: 1, Open: "1"}, passes: []Facts{at(10, 1, use(5, 0))}, want: "1800000005 0:1"},
		"lost after the driver":    {stored: upgraded, passes: []Facts{afterDriver}, want: "1800000005 0:1 13:0"},
		"a status of somebody":     {stored: hostile, passes: []Facts{at(10, 1, use(5, 0)), at(20, 1, use(5, 0))}, want: "1800000000 0:16777215 10:1"},
	} {
		usage := test.stored
		for _, facts := range test.passes {
			usage = Next(usage, facts)
		}

		if usage.ExecutorSteps != test.want {
			t.Errorf("%s: %q, want %q", name, usage.ExecutorSteps, test.want)
		}
	}
}

// later moves a life to a later time.
func (l *life) later(by int64) {
	l.driver.From, l.driver.Until = l.driver.From+by, l.driver.Until+by
	for i := range l.executors {
		l.executors[i].From, l.executors[i].Until, l.deleted[i] = l.executors[i].From+by, l.executors[i].Until+by, l.deleted[i]+by
	}
}

// counts returns the number of executors in each second of a run until its end.
func counts(attempts []life, end int64) []int64 {
	all := make([]int64, end-start)
	for _, l := range attempts {
		for _, use := range l.executors {
			for second := use.From; second < use.Until; second++ {
				all[second-start]++
			}
		}
	}
	return all
}

// countsOf returns the number of executors in each second by the steps.
func countsOf(steps []Step, end int64) []int64 {
	all := make([]int64, end-start)
	for i, s := range steps {
		until := end
		if i+1 < len(steps) {
			until = steps[i+1].At
		}

		for second := s.At; second < until; second++ {
			all[second-start] = s.N
		}
	}
	return all
}

// passes are how often and how reliably the operator observes a run.
type passes struct {
	between int64 // the longest time between two status writes
	late    int64 // how late the caches may be
	lose    int   // one in this number of executors that end between two passes is not observed; 0: none
}

// observed returns the last usage of a run, and the seconds of which a pass could not know the number of executors.
func (p passes) observed(t *testing.T, attempts []life, random *rand.Rand) (stored *statusv1.OperatorUsage, unknown map[int64]bool) {
	t.Helper()

	unknown = map[int64]bool{}
	lost := map[string]bool{}

	for number, l := range attempts {
		attempt := int32(number + 1)
		end, written := l.driver.Until+100, l.driver.From

		for now := written + random.Int64N(20); ; now += random.Int64N(p.between) {
			now = min(now, end)
			view := max(now-random.Int64N(p.late+1)*random.Int64N(2), written)

			missing := func(i int) bool {
				key := fmt.Sprint(attempt, i)
				if _, decided := lost[key]; !decided {
					lost[key] = p.lose > 0 && random.IntN(p.lose) == 0
				}

				for second := written; lost[key] && second < now; second++ {
					unknown[second] = true
				}
				return lost[key]
			}

			before := stored
			facts := Facts{
				Attempt: attempt, Seen: l.at(view, written, attempt, missing), Created: time.Unix(start, 0), Live: view < l.driver.Until, Now: time.Unix(now, 0),
			}
			stored = Next(before, facts)

			if again := Next(before, facts); again.ExecutorSteps != stored.ExecutorSteps {
				t.Fatalf("the same pass returns %q and %q", stored.ExecutorSteps, again.ExecutorSteps)
			}

			if again := Next(stored, facts); again.ExecutorSteps != stored.ExecutorSteps {
				t.Fatalf("a repeated pass returns %q after %q", again.ExecutorSteps, stored.ExecutorSteps)
			}

			for second := view; second < now; second++ {
				unknown[second] = true
			}

			if written = view; now == end {
				break
			}
		}
	}
	return stored, unknown
}

// TestStepsOfLives checks the steps of random runs against the number of executors in each second. They may differ only
// in seconds of which a pass could not know the number, and if there are too many steps.
func TestStepsOfLives(t *testing.T) {
	t.Parallel()

	for name, p := range map[string]passes{
		"ideal": {between: 60},
		"late":  {between: 60, late: 5},
		"lost":  {between: 200, lose: 3},
	} {
		exact, executorSeconds, wrong := 0, int64(0), int64(0)

		for number := range effort.Count(t, 300) {
			random := rand.New(rand.NewPCG(uint64(number), uint64(len(name))))

			attempts, end := make([]life, 1+random.IntN(2)), int64(start)
			for i := range attempts {
				l := newLife(random)
				if number%3 > 0 { // few executors
					l.executors = l.executors[:min(len(l.executors), 1+random.IntN(7))]
				}

				l.later(end - start)
				attempts[i], end = l, l.driver.Until+100
			}

			usage, unknown := p.observed(t, attempts, random)
			steps := ParseSteps(usage.ExecutorSteps)

			if want, got := counts(attempts, end), countsOf(steps, end); len(steps) < MaxSteps-1 {
				exact++

				for i := range want {
					if got[i] != want[i] && !unknown[start+int64(i)] {
						t.Fatalf("%s, run %d: %d executors in second %d, want %d: %s", name, number, got[i], i, want[i], usage.ExecutorSteps)
					}
				}
			} else {
				for i := range want {
					executorSeconds += want[i]
					wrong += max(got[i]-want[i], want[i]-got[i])
				}
			}

			if len(steps) > MaxSteps || len(usage.ExecutorSteps) > 500 || len(steps) > 0 && steps[len(steps)-1].N != 0 {
				t.Fatalf("%s, run %d: %d steps: %s", name, number, len(steps), usage.ExecutorSteps)
			}
		}

		t.Logf("%s: %d runs have few steps; in the others, %d of %d seconds of executors are wrong", name, exact, wrong, executorSeconds)

		if name == "ideal" && wrong*100 > executorSeconds*5 {
			t.Errorf("%d of %d seconds of executors are wrong", wrong, executorSeconds)
		}
	}
}

// TestHistoryOfStepsStays checks that later passes change nothing before the time of the stored steps, except that they
// drop steps.
func TestHistoryOfStepsStays(t *testing.T) {
	t.Parallel()

	for number := range effort.Count(t, 300) {
		random := rand.New(rand.NewPCG(uint64(number), 7))

		var stored []Step

		now := int64(start)
		for range 40 {
			last := now
			now += random.Int64N(30)

			var edges []edge
			for range random.IntN(6) {
				edges = append(edges, edge{start + random.Int64N(1000), int32(random.IntN(5)) - 2})
			}

			steps := continued(slices.Clone(stored), last, now, edges)
			for _, s := range steps {
				if s.At < last && len(stored) > 0 && !slices.Contains(stored, s) || s.At > now {
					t.Fatalf("run %d: the step %v between %d and %d, after %v", number, s, last, now, stored)
				}
			}

			if stored = steps; len(steps) > MaxSteps || !slices.IsSortedFunc(steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) }) {
				t.Fatalf("run %d: %v", number, steps)
			}

			if diff := gocmp.Diff(steps, ParseSteps(formatSteps(steps))); diff != "" {
				t.Fatalf("run %d (-want +got):\n%s", number, diff)
			}
		}
	}
}

// FuzzParseSteps checks that each text is either parsed as it was written or dropped, and that the next steps are valid
// after any text.
func FuzzParseSteps(f *testing.F) {
	f.Add("1764500000 0:2 12:5 300:0", int64(start))
	f.Add("137438953471 0:16777215 137438953471:1", int64(1)<<38)
	f.Add("1 0:0", int64(-1))
	f.Fuzz(func(t *testing.T, text string, at int64) {
		steps := ParseSteps(text)
		if steps != nil && formatSteps(steps) != text || len(steps) > MaxSteps {
			t.Errorf("%q is %v", text, steps)
		}

		at = max(min(at, 1<<37), 0)

		next := continued(slices.Clone(steps), at, at+20, []edge{{at + 10, 1}, {at - 10, 3}, {at + 12, -4}})
		if len(next) > MaxSteps {
			t.Errorf("%q: %v", text, next)
		}

		for i, s := range next {
			if s.N < 0 || s.N > maxCount || i > 0 && (s.At <= next[i-1].At || s.N == next[i-1].N) {
				t.Errorf("%q: %v", text, next)
			}
		}
	})
}
