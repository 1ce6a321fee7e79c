package cluster

import (
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

func asks(request string) func(*Cluster) {
	return func(c *Cluster) {
		c.RestartRequest = request
		c.Made = map[lifecycle.Role]string{lifecycle.Master: "m2", lifecycle.Worker: "w2"}
	}
}

func answered(request string) func(*Memory) {
	return func(m *Memory) { m.RestartRequest = request }
}

// TestRestartRequests checks what a restart request does in each phase.
func TestRestartRequests(t *testing.T) {
	for _, r := range []row{
		{name: "a running cluster is updated pod by pod", want: two(asks("r1")), mem: memory(lifecycle.Running),
			seen: whole, objects: stand,
			after: time.Minute, reported: ReasonRestarted, check: start},
		{name: "the request was carried out before", want: two(asks("r1")),
			mem: memory(lifecycle.Running, answered("r1")), objects: stand,
			seen:  membersOf(member("master", second), member("w-0", second), member("w-1", second)),
			after: time.Minute},
		{name: "while the spec is invalid", want: two(asks("r1"), broken), mem: memory(lifecycle.Running), seen: whole,
			after: time.Minute},
		{name: "before the first pass", want: two(asks("r1")), objects: stand, trail: "Launched",
			cause: ReasonMasterNotReady, check: start},
		{name: "a cluster that failed", want: two(asks("r1")),
			mem: memory(lifecycle.Done, because(ReasonStartTimedOut)), objects: unknown,
			trail: "Resuming", cause: ReasonRestarted, check: start},
		{name: "a cluster that failed, and its spec is invalid", want: two(asks("r1"), broken),
			mem:   memory(lifecycle.Done, because(ReasonStartTimedOut)),
			cause: ReasonStartTimedOut},
		{name: "a cluster of another operator", want: two(asks("r1")), mem: memory(lifecycle.Running, adopted),
			seen: whole, objects: stand,
			after: time.Minute, reported: ReasonRestarted, check: start},
	} {
		t.Run(r.name, r.run)
	}

	plan := Step(two(asks("r1")), memory(lifecycle.Running, adopted), whole, stand, began.Add(time.Minute))
	if m := plan.Next; m.RestartRequest != "r1" || m.Adopted || !m.Rolling() {
		t.Errorf("the memory is %+v", m)
	}

	if m := Step(two(asks("r1"), broken), memory(lifecycle.Running), whole, unknown,
		began).Next; m.RestartRequest != "" {
		t.Errorf("a request is carried out while the spec is invalid: %+v", m)
	}
}
