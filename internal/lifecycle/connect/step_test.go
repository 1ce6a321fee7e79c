package connect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// story runs one pass after another. It passes the memory from each pass to the next.
type story struct {
	t    *testing.T
	app  lifecycle.App
	m    lifecycle.Memory
	now  time.Time
	plan lifecycle.Plan
}

func tell(t *testing.T) *story {
	return &story{t: t, now: startTime, app: lifecycle.App{UID: "u", SpecHash: "1:a", MissingGrace: 10 * time.Second}}
}

// passAfter advances the time by d and runs a pass with the given observation. It returns the story, so that calls can
// be chained.
func (s *story) passAfter(d time.Duration, seen lifecycle.Observed) *story {
	s.t.Helper()
	s.now = s.now.Add(d)
	s.plan = Step(s.app, s.m, seen, s.now)
	checkPlan(s.t, s.app, s.m, seen, s.now, s.plan)
	s.m = s.plan.Next
	// A server is deleted only by the pass after the status write.
	if len(s.plan.Transitions) > 0 && s.plan.RequeueAfter == time.Millisecond {
		next := Step(s.app, s.m, seen, s.now)
		checkPlan(s.t, s.app, s.m, seen, s.now, next)
		s.plan.Actions, s.plan.RequeueAfter = next.Actions, next.RequeueAfter
	}
	return s
}

// expect fails the test unless the memory has the given phase and reason.
func (s *story) expect(phase lifecycle.Phase, reason string) *story {
	s.t.Helper()

	if s.m.Phase != phase || s.m.Cause.Reason != reason {
		s.t.Fatalf("the server is %q because of %q, want %q because of %q; trail %v", s.m.Phase, s.m.Cause.Reason,
			phase, reason, s.plan.Transitions)
	}
	return s
}

// expectActions fails the test unless the last plan has exactly the given actions.
func (s *story) expectActions(want ...lifecycle.Action) *story {
	s.t.Helper()

	if !slices.Equal(s.plan.Actions, want) {
		s.t.Fatalf("requested %v, want %v", s.plan.Actions, want)
	}
	return s
}

func makes(attempt int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Create, Part: lifecycle.Submission, Attempt: attempt}
}

func deletes(part lifecycle.Part, attempt int32) lifecycle.Action {
	return lifecycle.Action{Verb: lifecycle.Delete, Part: part, Attempt: attempt}
}

// server returns an observation with one server, to which it makes the given changes.
func server(attempt int32, phase lifecycle.DriverPhase, mods ...func(*lifecycle.Driver)) lifecycle.Observed {
	d := lifecycle.Driver{Name: "s-server", Attempt: attempt, Phase: phase, CreatedAt: startTime, SpecHash: "1:a"}
	for _, mod := range mods {
		mod(&d)
	}
	return lifecycle.Observed{Drivers: []lifecycle.Driver{d}}
}

func ready(d *lifecycle.Driver)    { d.Ready = true }
func deleting(d *lifecycle.Driver) { d.Deleting = true }

var (
	nothing = lifecycle.Observed{Confirmed: true}
	serves  = func(attempt int32) lifecycle.Observed { return server(attempt, lifecycle.DriverRunning, ready) }
)

// running returns a story with a server that has been Running since startTime.
func running(t *testing.T) *story {
	return tell(t).passAfter(0, nothing).expectActions(makes(1)).expect(lifecycle.Launched, "").passAfter(0,
		serves(1)).expect(lifecycle.Running, "")
}

func TestServerComesUp(t *testing.T) {
	s := tell(t).passAfter(0, lifecycle.Observed{}).expectActions(makes(1)).expect(lifecycle.Launched, "")
	s.passAfter(time.Second, server(1, lifecycle.DriverPending, func(d *lifecycle.Driver) {
		d.Why = lifecycle.Cause{Reason: "ImagePullBackOff", Message: "no such image"}
	})).expectActions().expect(lifecycle.Launched, "ImagePullBackOff")

	if len(s.plan.Notices) != 1 || !s.plan.Notices[0].Waits {
		t.Errorf("reported about the image: %+v", s.plan.Notices)
	}

	s.passAfter(48*time.Hour, server(1, lifecycle.DriverPending)).expect(lifecycle.Launched, "") // without a time limit
	s.passAfter(time.Second, server(1, lifecycle.DriverRunning)).expect(lifecycle.Started, "")
	s.passAfter(time.Second, serves(1)).expectActions().expect(lifecycle.Running, "")

	if s.plan.RequeueAfter != 0 {
		t.Errorf("a server that runs is looked at every %s", s.plan.RequeueAfter)
	}
}

// TestBackOff checks the intervals between servers that end as soon as they run. Each interval is twice the last, up to
// the maximum. After a server that ran for long enough, the first interval applies again.
func TestBackOff(t *testing.T) {
	s := running(t)
	for i, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		attempt := int32(i + 1)
		s.passAfter(time.Second, server(attempt, lifecycle.DriverFailed, func(d *lifecycle.Driver) {
			d.Why = lifecycle.Cause{Reason: "OOMKilled", Message: "it was too big"}
		})).expectActions().expect(lifecycle.Waiting, "OOMKilled")

		if wait := s.m.NextAttempt.Sub(s.now); wait != want*time.Second || s.plan.RequeueAfter != wait {
			t.Fatalf("server %d is followed after %s, checked after %s, want %ds", attempt, wait,
				s.plan.RequeueAfter, want)
		}

		ended := server(attempt, lifecycle.DriverFailed)
		s.passAfter(want*time.Second-time.Second, ended).expectActions().expect(lifecycle.Waiting, "OOMKilled")
		s.passAfter(time.Second, ended).expectActions(deletes(lifecycle.Attempt, attempt)).expect(lifecycle.Waiting,
			"OOMKilled")
		s.passAfter(time.Second, nothing).expectActions(makes(attempt+1)).passAfter(time.Second,
			serves(attempt+1)).expect(lifecycle.Running, "")
	}

	s.passAfter(Settled, server(8, lifecycle.DriverSucceeded)).expect(lifecycle.Waiting, lifecycle.ReasonServerEnded)

	if wait := s.m.NextAttempt.Sub(s.m.EndedAt); wait != FirstInterval {
		t.Errorf("a server that ran well is followed after %s", wait)
	}

	if s.m.Runs != 1 || s.m.Submissions != 1 {
		t.Errorf("the counts do not start again: %+v", s.m)
	}
}

// TestHowServersEnd checks each way in which a server can end. It checks the cause, and that another server follows.
func TestHowServersEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		before  []lifecycle.Observed
		seen    lifecycle.Observed
		outcome lifecycle.Outcome
		reason  string
	}{
		"an error": {
			seen: server(1, lifecycle.DriverFailed,
				func(d *lifecycle.Driver) { d.Why = lifecycle.Cause{Reason: "Error", Message: "exit code 1"} }),
			outcome: lifecycle.Failed, reason: "Error",
		},
		"no error": {seen: server(1, lifecycle.DriverSucceeded), outcome: lifecycle.Failed,
			reason: lifecycle.ReasonServerEnded},
		"deleted, and it stops without an error": {
			seen: server(1, lifecycle.DriverSucceeded, deleting), outcome: lifecycle.Failed,
			reason: lifecycle.ReasonDriverDeleted,
		},
		"evicted": {
			seen: server(1, lifecycle.DriverFailed, func(d *lifecycle.Driver) {
				d.Evicted, d.Why = true, lifecycle.Cause{Reason: lifecycle.ReasonEvicted,
					Message: "the node was low on memory"}
			}),
			outcome: lifecycle.Evicted, reason: lifecycle.ReasonEvicted,
		},
		"no longer existing": {seen: nothing, outcome: lifecycle.Lost,
			reason: lifecycle.ReasonDriverLost},
		"deleted, and then no longer existing": {before: []lifecycle.Observed{server(1, lifecycle.DriverRunning, ready,
			deleting)}, seen: nothing, outcome: lifecycle.Failed, reason: lifecycle.ReasonDriverDeleted},
		"its node is lost, and then it no longer exists": {
			before:  []lifecycle.Observed{server(1, lifecycle.DriverUnknown)},
			seen:    nothing,
			outcome: lifecycle.Lost, reason: lifecycle.ReasonNodeLost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(t)
			for _, before := range tc.before {
				s.passAfter(time.Second, before)
			}

			s.passAfter(time.Second, tc.seen).expect(lifecycle.Waiting, tc.reason)

			if s.m.Outcome != tc.outcome || s.m.NextAttempt.Sub(s.m.EndedAt) != FirstInterval {
				t.Errorf("ended %s, followed after %s", s.m.Outcome, s.m.NextAttempt.Sub(s.m.EndedAt))
			}

			if strings.Contains(s.m.Cause.Message, "driver") || s.m.Cause.Message == "" {
				t.Errorf("the message calls a server a driver, or is empty: %q", s.m.Cause.Message)
			}

			s.passAfter(FirstInterval, nothing).expectActions(makes(2)).expect(lifecycle.Launched, "")
		})
	}
}

func TestNotReady(t *testing.T) {
	s := running(t).passAfter(time.Minute,
		server(1, lifecycle.DriverRunning)).expectActions().expect(lifecycle.Started, "")

	want := []lifecycle.Transition{{From: lifecycle.Running, To: lifecycle.Started, Attempt: 1, At: s.now,
		Cause: lifecycle.Cause{Reason: lifecycle.ReasonServerNotReady, Message: "pod s-server is no longer ready"}}}
	if diff := cmp.Diff(want, s.plan.Transitions); diff != "" {
		t.Errorf("trail (-want +got):\n%s", diff)
	}

	s.passAfter(time.Hour, server(1, lifecycle.DriverRunning)).expectActions().expect(lifecycle.Started, "")
	s.passAfter(time.Second, serves(1)).expectActions().expect(lifecycle.Running, "")
}

// TestServerThatGoes checks a server whose pod is being deleted. Such a pod receives no traffic from its Service, even
// if it is ready. The server must therefore leave the phase Running, and the reason must be reported once. The server
// had run for long enough before, so the counts of failures must be reset.
func TestServerThatGoes(t *testing.T) {
	evicted := func(d *lifecycle.Driver) {
		d.Why = lifecycle.Cause{Reason: lifecycle.ReasonEvicted, Message: "the node is drained"}
	}
	for name, tc := range map[string]struct {
		seen   lifecycle.Observed
		reason string
	}{
		"deleted": {server(1, lifecycle.DriverRunning, ready, deleting),
			lifecycle.ReasonDriverDeleting},
		"evicted": {server(1, lifecycle.DriverRunning, ready, deleting, evicted),
			lifecycle.ReasonEvicted},
		"deleted, and no longer ready": {server(1, lifecycle.DriverRunning, deleting), lifecycle.ReasonDriverDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(t)
			s.m.Runs, s.m.Submissions = 4, 6
			s.passAfter(Settled, tc.seen).expectActions().expect(lifecycle.Started, tc.reason)

			if len(s.plan.Transitions) != 1 || s.plan.Transitions[0].Cause.Reason != tc.reason {
				t.Errorf("trail: %+v", s.plan.Transitions)
			}

			if s.m.Runs != 1 || s.m.Submissions != 1 {
				t.Errorf("the counts of failures are not reset: %+v", s.m)
			}

			s.passAfter(time.Second, tc.seen).expectActions().expect(lifecycle.Started, tc.reason)

			if len(s.plan.Transitions)+len(s.plan.Notices) > 0 {
				t.Errorf("reported again: %+v, %+v", s.plan.Transitions, s.plan.Notices)
			}
		})
	}

	coming := tell(t).passAfter(0, nothing).expectActions(makes(1))
	coming.passAfter(time.Second, server(1, lifecycle.DriverPending, deleting)).expect(lifecycle.Launched,
		lifecycle.ReasonDriverDeleting)
	coming.passAfter(time.Second, server(1, lifecycle.DriverRunning, ready, deleting)).expect(lifecycle.Started,
		lifecycle.ReasonDriverDeleting)
}

// TestLostNode checks that a server on a lost node is not replaced until its pod no longer exists or has failed.
func TestLostNode(t *testing.T) {
	s := running(t).passAfter(time.Minute, server(1, lifecycle.DriverUnknown)).expectActions().expect(lifecycle.Unknown,
		lifecycle.ReasonNodeLost)
	s.passAfter(24*time.Hour, server(1, lifecycle.DriverUnknown)).expectActions().expect(lifecycle.Unknown,
		lifecycle.ReasonNodeLost)
	s.passAfter(time.Second, serves(1)).expectActions().expect(lifecycle.Running, "")
	s.passAfter(time.Second, server(1, lifecycle.DriverUnknown)).expect(lifecycle.Unknown, lifecycle.ReasonNodeLost)
	s.app.SpecHash = "1:b"
	s.passAfter(time.Second, server(1, lifecycle.DriverUnknown)).expectActions(deletes(lifecycle.DriverPod,
		1)).expect(lifecycle.Editing, lifecycle.ReasonNodeLost)
	s.passAfter(time.Hour, nothing).expectActions(makes(2))
}

// TestUnusableEdit checks an edit that makes the spec invalid. A running server is kept while the spec is invalid. If
// it ends during that time, no other server is created until a later edit.
func TestUnusableEdit(t *testing.T) {
	wrong := &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.executor.memory: is no size"}

	edited := func(seen lifecycle.Observed) *story {
		s := running(t)
		s.app.SpecHash, s.app.Invalid = "1:b", wrong
		return s.passAfter(time.Minute, seen).expectActions()
	}
	for name, seen := range map[string]lifecycle.Observed{"it serves": serves(1),
		"not ready": server(1, lifecycle.DriverRunning), "lost": server(1, lifecycle.DriverUnknown)} {
		if s := edited(seen); !s.m.Phase.Live() || s.m.SpecHash != "1:a" || s.m.Attempt != 1 {
			t.Errorf("%s: %+v", name, s.m)
		}
	}

	s := edited(serves(1)).expect(lifecycle.Running, "")
	s.app.SpecHash, s.app.Invalid = "1:a", nil
	s.passAfter(time.Minute, serves(1)).expectActions().expect(lifecycle.Running, "") // the edit is reverted
	s.app.SpecHash, s.app.Invalid = "1:c", wrong
	s.passAfter(time.Minute, serves(1)).expectActions().expect(lifecycle.Running, "")
	s.app.SpecHash, s.app.Invalid = "1:d", nil
	s.passAfter(time.Minute, serves(1)).expectActions(deletes(lifecycle.DriverPod, 1)).expect(lifecycle.Editing,
		lifecycle.ReasonEdited)
	s.passAfter(time.Minute, nothing).expectActions(makes(2)).expect(lifecycle.Launched, "")

	s = edited(serves(1)).passAfter(time.Minute,
		server(1, lifecycle.DriverFailed)).expectActions().expect(lifecycle.Retained, lifecycle.ReasonInvalid)
	s.passAfter(time.Hour, server(1, lifecycle.DriverFailed)).expectActions().expect(lifecycle.Retained,
		lifecycle.ReasonInvalid)
	s.app.SpecHash, s.app.Invalid = "1:a", nil // the spec of the last server counts as an edit of the invalid one
	s.passAfter(time.Minute, server(1, lifecycle.DriverFailed)).expect(lifecycle.Editing, lifecycle.ReasonEdited)
	s.passAfter(time.Minute, nothing).expectActions(makes(2))

	s = edited(serves(1))
	s.app.Suspend = true
	s.passAfter(time.Minute, serves(1)).expect(lifecycle.Suspending, lifecycle.ReasonSuspended).passAfter(time.Minute,
		nothing).expect(lifecycle.Suspended, lifecycle.ReasonSuspended)
	s.app.Suspend = false
	s.passAfter(time.Minute, nothing).expectActions().expect(lifecycle.Done, lifecycle.ReasonInvalid)
}

// TestEdit checks that an edit replaces the server. The server's pod is deleted first, then the other objects of the
// attempt, and then the new server is created. The counts of failures are reset. If another version of the operator has
// computed the stored hash, the difference between the hashes must not count as an edit.
func TestEdit(t *testing.T) {
	s := running(t)
	s.m.Runs, s.m.Submissions = 4, 6
	s.app.SpecHash = "1:b"
	going := server(1, lifecycle.DriverRunning, ready, deleting)
	going.Executors = []lifecycle.Executor{{Name: "s-exec-1", Attempt: 1, Phase: lifecycle.DriverRunning}}
	going.RemainingAttempts = []int32{1}

	s.passAfter(time.Second, serves(1)).expectActions(deletes(lifecycle.DriverPod, 1)).expect(lifecycle.Editing,
		lifecycle.ReasonEdited)
	s.passAfter(time.Second, going).expectActions(deletes(lifecycle.DriverPod, 1)).expect(lifecycle.Editing,
		lifecycle.ReasonEdited)
	going.Drivers = nil
	s.passAfter(time.Second, going).expectActions(deletes(lifecycle.Attempt, 1))
	s.passAfter(time.Second, nothing).expectActions(makes(2)).expect(lifecycle.Launched, "")

	if s.m.SpecHash != "1:b" || s.m.Runs != 1 || s.m.Submissions != 1 {
		t.Errorf("remembered: %+v", s.m)
	}

	s.app.SpecHash = "2:a" // an upgrade of the operator
	s.passAfter(time.Second, server(2, lifecycle.DriverRunning, ready,
		func(d *lifecycle.Driver) { d.SpecHash = "1:b" })).expectActions().expect(lifecycle.Running, "")
}

// TestEditOfSettledServer checks an edit of a server that has run well for a while. The edit resets the counts of
// failures to zero. They must still be zero after the replaced server has ended.
func TestEditOfSettledServer(t *testing.T) {
	s := running(t)
	s.app.SpecHash = "1:b"
	s.passAfter(2*Settled, serves(1)).expect(lifecycle.Editing, lifecycle.ReasonEdited).passAfter(time.Second,
		nothing).expectActions(makes(2))

	if s.m.Runs != 1 || s.m.Submissions != 1 || s.m.SuspendedRuns != 0 {
		t.Errorf("remembered: %+v", s.m)
	}
}

func TestSuspend(t *testing.T) {
	s := running(t)
	s.app.Suspend = true
	left := lifecycle.Observed{RemainingAttempts: []int32{1}, Confirmed: true}

	s.passAfter(time.Second, serves(1)).expectActions(deletes(lifecycle.DriverPod, 1)).expect(lifecycle.Suspending,
		lifecycle.ReasonSuspended)
	s.passAfter(time.Second, left).expectActions(deletes(lifecycle.Attempt, 1)).expect(lifecycle.Suspending,
		lifecycle.ReasonSuspended)
	s.passAfter(time.Second, nothing).expectActions().expect(lifecycle.Suspended, lifecycle.ReasonSuspended)
	s.passAfter(time.Hour, nothing).expectActions().expect(lifecycle.Suspended, lifecycle.ReasonSuspended)
	s.app.SpecHash = "1:b" // the resumed server uses the spec edited meanwhile
	s.passAfter(time.Second, nothing).expect(lifecycle.Suspended, lifecycle.ReasonSuspended)
	s.app.Suspend = false
	s.passAfter(time.Second, nothing).expectActions(makes(2)).expect(lifecycle.Launched, "")

	if s.m.SpecHash != "1:b" {
		t.Errorf("resumed with %s", s.m.SpecHash)
	}
}

// TestRefused checks that the operator tries to create a rejected server again without end, because a quota can be
// raised without an edit of the spec.
func TestRefused(t *testing.T) {
	refused := lifecycle.Observed{Confirmed: true,
		Rejection: &lifecycle.Cause{Reason: "QuotaExceeded", Message: "exceeded quota: pods"}}

	s := tell(t)
	for i, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		s.passAfter(0, refused).expectActions(deletes(lifecycle.Attempt, int32(i+1))).expect(lifecycle.Waiting,
			"QuotaExceeded")

		if wait := s.m.NextAttempt.Sub(s.now); wait != want*time.Second || s.m.Outcome != lifecycle.Refused {
			t.Fatalf("refusal %d, %s, is followed after %s, want %ds", i+1, s.m.Outcome, wait, want)
		}

		s.now = s.m.NextAttempt
	}

	s.passAfter(0, nothing).expectActions(makes(8)).expect(lifecycle.Launched, "")
}

// TestInvalid checks that a server with an invalid spec waits for an edit. It also starts if an operator with another
// configuration accepts the spec.
func TestInvalid(t *testing.T) {
	for name, mend := range map[string]func(*lifecycle.App){
		"edited":                      func(app *lifecycle.App) { app.SpecHash, app.Invalid = "1:b", nil },
		"the operator takes the spec": func(app *lifecycle.App) { app.Invalid = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			s.app.Invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.image: is missing"}
			s.passAfter(0, nothing).expectActions().expect(lifecycle.Done, lifecycle.ReasonInvalid)
			s.passAfter(time.Hour, nothing).expectActions().expect(lifecycle.Done, lifecycle.ReasonInvalid)

			if s.plan.RequeueAfter != 0 {
				t.Errorf("looked at every %s", s.plan.RequeueAfter)
			}

			mend(&s.app)
			s.passAfter(time.Second, nothing).expectActions(makes(2)).expect(lifecycle.Launched, "")
		})
	}
}

// TestTakenOver checks a server that another operator created. It keeps running, although its pod contains no hash of
// the spec. A later edit replaces it like any other server.
func TestTakenOver(t *testing.T) {
	theirs := server(1, lifecycle.DriverRunning, ready,
		func(d *lifecycle.Driver) { d.SpecHash, d.AttemptID = "", "pod-uid" })

	s := tell(t).passAfter(0, theirs).expectActions().expect(lifecycle.Running, "")
	if s.m.Attempt != 1 || s.m.AttemptID != "pod-uid" || s.m.Runs != 1 {
		t.Errorf("remembered: %+v", s.m)
	}

	s.app.SpecHash = "1:b"
	s.passAfter(time.Second, theirs).expectActions(deletes(lifecycle.DriverPod, 1)).expect(lifecycle.Editing,
		lifecycle.ReasonEdited)
}

// TestShortOfExecutors checks that the operator sends a probe if wanted executors are missing, and reports the answer.
func TestShortOfExecutors(t *testing.T) {
	s := running(t)
	s.app.MinExecutors = 2
	s.passAfter(time.Second, serves(1)).expectActions().expect(lifecycle.Running, "")
	s.passAfter(6*time.Second, serves(1)).expectActions(lifecycle.Action{Verb: lifecycle.Confirm,
		Part: lifecycle.Executors, Attempt: 1})
	probed := serves(1)
	probed.ProbeResult = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "exceeded quota: cpu"}
	s.passAfter(0, probed).expectActions().expect(lifecycle.Running, "QuotaExceeded")

	if len(s.plan.Notices) != 1 || s.plan.Notices[0].Part != lifecycle.Executors {
		t.Errorf("reported: %+v", s.plan.Notices)
	}

	there := serves(1)
	for range 2 {
		there.Executors = append(there.Executors,
			lifecycle.Executor{Name: "s-exec-1", Attempt: 1, Phase: lifecycle.DriverRunning})
	}

	s.passAfter(time.Second, there).expectActions().expect(lifecycle.Running, "")
}

// TestTransientErrors checks that the operator makes no requests during transient errors, because they would fail, and
// that it creates the server afterwards.
func TestTransientErrors(t *testing.T) {
	bad := lifecycle.Observed{TransientError: &lifecycle.TransientError{Cause: lifecycle.Cause{Reason: "Timeout",
		Message: "slow"}, Since: startTime}}

	s := tell(t).passAfter(time.Minute, bad).expectActions().expect(lifecycle.New, "")
	if s.plan.RequeueAfter == 0 {
		t.Error("no pass is requested")
	}

	s.passAfter(time.Minute, nothing).expectActions(makes(1)).expect(lifecycle.Launched, "")
}

// TestDeleted checks the deletion of the custom resource. All dependents are deleted at once, as by the garbage
// collector, unless they are to be orphaned.
func TestDeleted(t *testing.T) {
	s := running(t)
	s.app.Deleting = true
	s.passAfter(time.Second, serves(1)).expectActions(deletes(lifecycle.Attempt, 1))
	s.app.Orphan = true
	s.passAfter(time.Second, serves(1)).expectActions()
}

// TestUnremembered checks that the operator adopts the server of a launch that was not stored, and creates no other.
func TestUnremembered(t *testing.T) {
	s := tell(t).passAfter(0, lifecycle.Observed{}).expectActions(makes(1))
	s.m = lifecycle.Memory{}
	s.app.SpecHash = "1:b" // edited meanwhile: the pod carries the hash of its spec
	s.passAfter(time.Second, serves(1)).expectActions(deletes(lifecycle.DriverPod, 1)).expect(lifecycle.Editing,
		lifecycle.ReasonEdited)

	if s.m.Attempt != 1 || s.m.SpecHash == "" {
		t.Errorf("remembered: %+v", s.m)
	}
}
