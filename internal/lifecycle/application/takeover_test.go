package application

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestLaunchOfAnotherOperator checks the ID of an attempt, which identifies the pods of the attempt. An attempt that
// another operator launched keeps its ID. An attempt that this operator launched has the ID that AttemptID computes
// from the attempt number.
func TestLaunchOfAnotherOperator(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	app := lifecycle.App{UID: "u", SpecHash: "1:a"}
	for _, c := range []struct {
		name string
		mem  lifecycle.Memory
		id   string
		want string
	}{
		{"this operator's first attempt", lifecycle.Memory{}, "", lifecycle.AttemptID("u", 1)},
		{"another operator's first attempt", lifecycle.Memory{}, "theirs", "theirs"},
		{"another operator's attempt after a failed run",
			lifecycle.Memory{Phase: lifecycle.Waiting, AttemptID: "before"}, "theirs", "theirs"},
		{"another operator's attempt of a finished application",
			lifecycle.Memory{Phase: lifecycle.Done, Outcome: lifecycle.Failed, AttemptID: "before"}, "theirs",
			"theirs"},
		{"the remembered attempt", lifecycle.Memory{Phase: lifecycle.Started, Attempt: 1, AttemptID: "before"},
			"theirs", "before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			driver := lifecycle.Driver{Name: "d", Attempt: 1, AttemptID: c.id, Phase: lifecycle.DriverRunning,
				CreatedAt: now.Add(-time.Minute)}

			plan := Step(app, c.mem, lifecycle.Observed{Drivers: []lifecycle.Driver{driver}}, now)
			if m := plan.Next; m.Attempt != 1 || m.AttemptID != c.want || m.Phase != lifecycle.Started {
				t.Errorf("remembered %+v, want id %s", m, c.want)
			}

			for _, a := range plan.Actions {
				if a.Verb != lifecycle.Confirm {
					t.Errorf("it does %v", a)
				}
			}
		})
	}
}
