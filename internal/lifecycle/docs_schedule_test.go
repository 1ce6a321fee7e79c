package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/schedule"
)

// These are the states of a schedule's run. The schedule itself has no phases.
const (
	awaited   = "Awaited"
	waiting   = "Waiting"
	replacing = "Replacing"
	rejected  = "Rejected"
	started   = "Started"
	completed = "Completed"
	failed    = "Failed"
	missed    = "Missed"
	skipped   = "Skipped"
	deleted   = "Deleted"
)

// situation describes the input of a decision that moves a schedule's run from one state to another.
type situation struct {
	from, to, when string
	policy         schedule.Policy // Allow if it is empty
	deadline       time.Duration   // 0: none
	after          time.Duration   // since the run was due
	otherActive    bool            // another run is active
	ended          lifecycle.Outcome
	rejection      bool
	request        bool // the run is a requested one
}

var situations = []situation{
	{from: awaited, to: started, when: "the run is due"},
	{from: awaited, to: started, when: "the run is requested", request: true},
	{from: awaited, to: waiting, when: "Forbid, and another run is active", policy: schedule.Forbid, otherActive: true},
	{from: waiting, to: started, when: "no other run is active", policy: schedule.Forbid},
	{from: awaited, to: replacing, when: "Replace, and another run is active, which is deleted",
		policy: schedule.Replace, otherActive: true},
	{from: replacing, to: started, when: "the replaced run is gone", policy: schedule.Replace},
	{from: awaited, to: rejected, when: "the API server rejects the run", rejection: true},
	{from: rejected, to: started, when: "a retry succeeds"},
	{from: awaited, to: missed, when: "a later run is due too, because no pass ran or the schedule was suspended",
		after: time.Hour},
	{from: waiting, to: missed, when: "a later run is due", policy: schedule.Forbid, after: time.Hour,
		otherActive: true},
	{from: rejected, to: missed, when: "a later run is due", after: time.Hour},
	{from: awaited, to: skipped, when: "the deadline of the run has passed", deadline: time.Minute,
		after: 2 * time.Minute},
	{from: waiting, to: skipped, when: "the deadline of the run has passed", policy: schedule.Forbid,
		deadline: time.Minute, after: 2 * time.Minute, otherActive: true},
	{from: rejected, to: skipped, when: "the deadline of the run has passed", deadline: time.Minute,
		after: 2 * time.Minute},
	{from: started, to: completed, when: "the application succeeds", ended: lifecycle.Succeeded},
	{from: started, to: failed, when: "the application fails", ended: lifecycle.Failed},
	{from: started, to: deleted, when: "Replace, and another run is due", policy: schedule.Replace, after: time.Hour},
	{from: completed, to: deleted, when: "more runs succeeded than the history keeps", ended: lifecycle.Succeeded},
	{from: failed, to: deleted, when: "more runs failed than the history keeps", ended: lifecycle.Failed},
}

// decide makes the decision of the situation. It returns the new state of the run and the reported reasons.
func (s situation) decide(t *testing.T) (to string, reported []string) {
	t.Helper()

	times, err := schedule.Parse("0 * * * *", "", time.LoadLocation)
	if err != nil {
		t.Fatal(err)
	}

	tick := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)

	want := schedule.Schedule{
		Name: "s", UID: "u", Created: tick.Add(-30 * time.Minute), Key: "0 * * * *", Times: times, Generation: 1,
		Policy: schedule.Allow, Precision: schedule.Seconds,
	}
	if s.policy != "" {
		want.Policy = s.policy
	}

	if s.deadline > 0 {
		want.Deadline = &s.deadline
	}

	mem := schedule.Memory{Key: want.Key, Since: want.Created, Generation: 1}
	now, run := tick.Add(s.after), schedule.RunName(want.Name, tick, want.Precision)

	seen := lifecycle.Observed{Confirmed: true}
	switch s.from {
	case waiting:
		mem.Cause = lifecycle.Cause{Reason: schedule.ReasonWaiting}
	case replacing:
		mem.Cause = lifecycle.Cause{Reason: schedule.ReasonReplacing}
	case rejected:
		mem.Cause, mem.Rejected, mem.RejectedSince, mem.Retry = lifecycle.Cause{Reason: "QuotaExceeded"}, run,
			tick, tick
	case started, completed, failed:
		mem.LastTick, mem.LastRun, mem.LastRunName = tick, tick, run
		seen.Runs = append(seen.Runs, lifecycle.Run{Name: run, CreatedAt: tick, Outcome: s.ended})
	}

	switch s.from {
	case completed:
		mem.Succeeded = []string{run}
	case failed:
		mem.Failed = []string{run}
	case started:
		want.Successful, want.Failed = 1, 1
	}

	if s.request {
		now, want.Request = tick.Add(-time.Minute), "now"
		run = schedule.RequestName(want.Name, want.UID, want.Request)
	}

	if s.otherActive {
		seen.Runs = append(seen.Runs, lifecycle.Run{Name: "s-now-other", CreatedAt: want.Created})
	}

	if s.rejection {
		seen.Rejection = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "exceeded quota"}
	}

	plan := schedule.Step(want, mem, seen, now)
	for _, notice := range plan.Notices {
		if !slices.Contains(reported, notice.Cause.Reason) {
			reported = append(reported, notice.Cause.Reason)
		}
	}

	if slices.Contains(reported, schedule.ReasonReplaced) { // stored before the run is deleted
		plan = schedule.Step(want, plan.Next, seen, now)
	}
	return s.becomes(plan, run, reported), reported
}

// becomes returns the new state of a run. It derives the state from a plan and the reported reasons.
func (s situation) becomes(plan schedule.Plan, run string, reported []string) string {
	does := func(verb lifecycle.Verb) bool {
		return slices.Contains(plan.Actions, lifecycle.Action{Verb: verb, Part: lifecycle.ScheduledRun, Name: run})
	}
	switch {
	case does(lifecycle.Delete):
		return deleted
	case does(lifecycle.Create):
		return started
	case slices.Contains(reported, schedule.ReasonMissed):
		return missed
	case slices.Contains(reported, schedule.ReasonSkipped):
		return skipped
	case slices.Contains(reported, schedule.ReasonCompleted):
		return completed
	case slices.Contains(reported, schedule.ReasonFailed):
		return failed
	case plan.Next.Rejected == run:
		return rejected
	case plan.Next.Cause.Reason == schedule.ReasonWaiting:
		return waiting
	case plan.Next.Cause.Reason == schedule.ReasonReplacing:
		return replacing
	}
	return awaited
}

// drawRuns writes the diagram of the states of a run, and a table of its transitions. The test fails if the state
// machine misses one of these transitions.
func drawRuns(t *testing.T, b *strings.Builder) {
	t.Helper()
	fmt.Fprint(b, "```mermaid\nstateDiagram-v2\n    [*] --> Awaited\n")

	var rows []string
	for _, s := range situations {
		to, reported := s.decide(t)
		if to != s.to {
			t.Errorf("%s, and %s: it becomes %s, not %s", s.from, s.when, to, s.to)
		}

		fmt.Fprintf(b, "    %s --> %s: %s\n", s.from, s.to, s.when)
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | `%s` |\n", s.from, s.to, s.when,
			strings.Join(reported, "`, `")))
	}

	fmt.Fprint(b, "    Missed --> [*]\n    Skipped --> [*]\n    Deleted --> [*]\n```\n\n| from | to | when | Events |\n|---|---|---|---|\n",
		strings.ReplaceAll(strings.Join(rows, ""), "| `` |", "| |"))
}
