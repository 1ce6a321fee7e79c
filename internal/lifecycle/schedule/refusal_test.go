package schedule

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// stage carries out the plans of one schedule in a cluster in which nothing else happens. Live reads find nothing new.
// The function in the field refuses specifies which creations are rejected.
type stage struct {
	want     Schedule
	mem      Memory
	seen     []lifecycle.Run
	refuses  func(run string) bool
	creates  []string // tries, rejected or not
	reported map[string]int
}

func (g *stage) pass(now time.Time) Plan {
	seen := lifecycle.Observed{Runs: g.seen}
	for {
		plan := Step(g.want, g.mem, seen, now)

		again := false
		for _, a := range plan.Actions {
			switch {
			case a.Verb == lifecycle.Confirm:
				seen.Confirmed, again = true, true
			case a.Verb == lifecycle.Create && g.refuses != nil && g.refuses(a.Name):
				g.creates = append(g.creates, a.Name)
				seen.Rejection, again = &lifecycle.Cause{Reason: "NameTaken", Message: "another's"}, true
			case a.Verb == lifecycle.Create:
				g.creates = append(g.creates, a.Name)
			}
		}

		if again {
			continue
		}

		for _, n := range plan.Notices {
			g.reported[n.Cause.Reason]++
		}

		g.mem = plan.Next
		return plan
	}
}

// runUntil runs passes at the times that the plans request. It stops when the time reaches `end`, and returns the
// number of passes.
func (g *stage) runUntil(now, end time.Time) (passes int) {
	g.reported = map[string]int{}
	for now.Before(end) && passes < 100_000 {
		now = now.Add(g.pass(now).RequeueAfter)
		passes++
	}
	return passes
}

// TestRefusedRequestHoldsUpNoTick checks that a requested run that is always rejected delays no tick, even if the
// deadline is short.
func TestRefusedRequestHoldsUpNoTick(t *testing.T) {
	now := RequestName("etl", "u", "1")
	for _, policy := range []Policy{Allow, Forbid, Replace} {
		want := hourly(t, func(s *Schedule) { s.Request, s.Deadline, s.Policy = "1", new(10*time.Second), policy })
		g := stage{want: want, mem: memoryAtEleven(want), refuses: func(run string) bool { return run == now }}

		passes := g.runUntil(noon.Add(-57*time.Minute-43*time.Second), noon.Add(24*time.Hour+time.Minute))
		if g.reported[ReasonStarted] != 25 || g.reported[ReasonSkipped]+g.reported[ReasonMissed] != 0 ||
			g.reported[ReasonRefused] != 1 {
			t.Errorf("%s: %v", policy, g.reported)
		}

		if passes > 25*70 { // a try a minute
			t.Errorf("%s: %d passes", policy, passes)
		}

		if g.mem.Requested.Run != now || g.mem.Requested.Cause.Reason != "NameTaken" || g.mem.Cause.Reason != "" {
			t.Errorf("%s: %+v", policy, g.mem)
		}
	}
}

// TestRefusedTickHoldsUpNothingElse checks that a rejected run of a tick delays neither a requested run nor the next
// tick.
func TestRefusedTickHoldsUpNothingElse(t *testing.T) {
	want := hourly(t, func(s *Schedule) { s.Deadline = new(5 * time.Minute) })
	g := stage{want: want, mem: memoryAtEleven(want), refuses: func(run string) bool { return run == twelve }}
	g.runUntil(noon, noon.Add(2*time.Minute))

	if g.reported[ReasonRefused] != 1 || g.mem.Rejected != twelve || g.mem.Retry.IsZero() {
		t.Fatalf("%v: %+v", g.reported, g.mem)
	}

	g.want.Request = "1"

	plan := g.pass(noon.Add(2 * time.Minute))
	if g.mem.LastRequest != "1" || g.mem.Rejected != twelve || g.mem.Cause.Reason != "NameTaken" {
		t.Errorf("%s, %+v", summary(plan), g.mem)
	}
	// The run of 13:00 is rejected as well. The run of 14:00 is not rejected, although its deadline is short.
	g.want.Deadline = new(time.Second)
	g.refuses = func(run string) bool { return run != "etl-1769954400" && strings.HasPrefix(run, "etl-17") }
	g.runUntil(noon.Add(3*time.Minute), noon.Add(2*time.Hour+time.Minute))

	if !slices.Contains(g.creates, "etl-1769950800") || g.mem.LastRunName != "etl-1769954400" || g.mem.Rejected != "" ||
		g.mem.Cause != (lifecycle.Cause{}) {
		t.Errorf("%v: %+v", g.creates, g.mem)
	}
}

// TestBothRefused checks that a rejected run of a tick and a rejected requested run are retried separately, and that
// neither resets the retries of the other.
func TestBothRefused(t *testing.T) {
	want := hourly(t, func(s *Schedule) { s.Request = "1" })
	g := stage{want: want, mem: memoryAtEleven(want), refuses: func(string) bool { return true }}
	g.runUntil(noon, noon.Add(30*time.Minute))

	tries := map[string]int{}
	for _, run := range g.creates {
		tries[run]++
	}

	for _, run := range []string{twelve, RequestName("etl", "u", "1")} {
		if tries[run] < 60 || tries[run] > 80 { // every 4 s for a minute, then with growing intervals
			t.Errorf("%s is tried %d times in half an hour", run, tries[run])
		}
	}

	if g.reported[ReasonRefused] != 2 {
		t.Errorf("%v", g.reported)
	}
}

// TestRunNamedAheadOfTime checks a run whose name gives a future tick. Either somebody created such a run by hand, or
// the operator's clock was ahead.
func TestRunNamedAheadOfTime(t *testing.T) {
	const ahead = "etl-2026112114"
	for _, policy := range []Policy{Allow, Forbid, Replace} {
		want := hourly(t, func(s *Schedule) { s.Policy = policy })
		g := stage{want: want, mem: memoryAtEleven(want), seen: []lifecycle.Run{going(ahead)}}

		passes := g.runUntil(noon, noon.Add(50*time.Minute))
		if passes > 50*4+2 { // each 15 s
			t.Errorf("%s: %d passes", policy, passes)
		}

		if waits := policy != Allow; waits == slices.Contains(g.creates, twelve) ||
			waits != strings.Contains(g.mem.Cause.Message, ahead) {
			t.Errorf("%s: %v, %+v", policy, g.creates, g.mem.Cause)
		}

		if reported := g.reported[ReasonWaiting]; policy != Allow && reported != 1 {
			t.Errorf("%s: reported %d times", policy, reported)
		}

		g.seen = []lifecycle.Run{ended(ahead, lifecycle.Succeeded, 0)}
		if g.pass(noon.Add(51 * time.Minute)); !slices.Contains(g.creates, twelve) {
			t.Errorf("%s: the run of noon is not started after the other run has ended: %+v", policy, g.mem)
		}
	}
}

// TestNothingIsAHotLoop checks that no spec makes a schedule requeue again and again without a pause.
func TestNothingIsAHotLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	durations := []time.Duration{0, 1, time.Second, time.Minute, 100 * 365 * 24 * time.Hour,
		math.MaxInt64 / time.Second * time.Second, math.MaxInt64, -1, math.MinInt64}
	texts := []string{"* * * * *", "@every 1s", "@every 59s", "@every " + maxEvery.String(), "0 0 29 2 *",
		"59 23 31 12 *", "@yearly", "*/7 */5 * * 1"}
	limits := []int{0, 1, math.MaxInt, -1, math.MinInt}

	duration := func() time.Duration { return durations[r.IntN(len(durations))] }
	for n := range effort.Count(t, 250) {
		text, zone := texts[r.IntN(len(texts))], []string{"", "Europe/Vienna", "Australia/Lord_Howe"}[r.IntN(3)]

		want := hourly(t, func(s *Schedule) {
			s.Key, s.Times = Key(text, zone), parse(t, text, zone)
			s.Jitter, s.Policy, s.Suspend = duration(), []Policy{Allow, Forbid, Replace, "", "?"}[r.IntN(5)],
				r.IntN(8) == 0
			s.Successful, s.Failed = limits[r.IntN(len(limits))], limits[r.IntN(len(limits))]
			s.Precision = []Precision{Nanos, Minutes, "", "years"}[r.IntN(4)]
			s.Request = []string{"", "1"}[r.IntN(2)]
			s.Created = []time.Time{from, {}, time.Unix(0, 0), noon.AddDate(80, 0, 0)}[r.IntN(4)]
		})
		if r.IntN(4) > 0 {
			want.Deadline = new(duration())
		}

		g := stage{want: want, reported: map[string]int{}}
		if r.IntN(2) == 0 {
			g.mem = memoryAtEleven(want)
		}

		if refuse := r.IntN(3); refuse > 0 {
			g.refuses = func(run string) bool { return refuse == 1 || strings.Contains(run, requestMark) }
		}

		for _, name := range []string{eleven, twelve, "etl-2026112114", "etl-9223372036854775807", "by-hand",
			RequestName("etl", "u", "1")} {
			if r.IntN(4) == 0 {
				g.seen = append(g.seen, lifecycle.Run{Name: name, CreatedAt: noon, Deleting: r.IntN(3) == 0,
					Outcome: []lifecycle.Outcome{lifecycle.Undecided, lifecycle.Undecided, lifecycle.Succeeded,
						lifecycle.Failed}[r.IntN(4)]})
			}
		}

		began := noon.Add(time.Duration(r.IntN(7200_000)) * time.Millisecond)

		now, looks := began, 0
		for looks < 60 {
			plan := g.pass(now)
			if looks++; plan.RequeueAfter <= 0 {
				break // only a change can end the wait
			}

			now = now.Add(plan.RequeueAfter)
		}
		// A tick may be due every second, and the retry of a rejected run may come between two ticks.
		if took := now.Sub(began); looks == 60 && took < 15*time.Second {
			t.Fatalf("%d: 60 passes within %s: %q, %+v\n%+v\n%v", n, took, text, g.want, g.mem, g.reported)
		}
	}
}
