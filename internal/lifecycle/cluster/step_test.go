package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const start = 5 * time.Minute

var (
	stand   = Objects{Stand: true}
	quota   = &lifecycle.Cause{Reason: "QuotaExceeded", Message: "StatefulSet c-master: no room"}
	refused = Objects{Refused: quota}
	unknown = Objects{}
	invalid = &lifecycle.Cause{Reason: lifecycle.ReasonInvalid, Message: "spec.sparkConf[spark.x]: no"}
)

// two returns a cluster with a master, two workers, and the given changes.
func two(change ...func(*Cluster)) Cluster {
	c := Cluster{Generation: 1, Workers: 2,
		Made: map[lifecycle.Role]string{lifecycle.Master: "m1", lifecycle.Worker: "w1"}, Start: start}
	for _, change := range change {
		change(&c)
	}
	return c
}

func broken(c *Cluster) { c.Invalid, c.Workers, c.Made = invalid, 0, nil }
func edited(c *Cluster) {
	c.Generation++
	c.Made = map[lifecycle.Role]string{lifecycle.Master: "m2", lifecycle.Worker: "w2"}
}
func scales(c *Cluster)  { c.Scales, c.Workers = true, 1 }
func nobound(c *Cluster) { c.Start = 0 }

// member returns a ready pod that was created from the first spec, with the given changes.
func member(name string, change ...func(*lifecycle.Member)) lifecycle.Member {
	m := lifecycle.Member{Name: name, Role: lifecycle.Worker, Phase: lifecycle.DriverRunning, Ready: true,
		Generation: "w1"}
	if name == "master" {
		m.Role, m.Generation = lifecycle.Master, "m1"
	}

	for _, change := range change {
		change(&m)
	}
	return m
}

func unready(m *lifecycle.Member) { m.Ready = false }
func going(m *lifecycle.Member)   { m.Deleting = true }
func made(after time.Duration) func(*lifecycle.Member) {
	return func(m *lifecycle.Member) { m.CreatedAt = began.Add(after) }
}
func foreign(m *lifecycle.Member) { m.Generation = "" }
func second(m *lifecycle.Member)  { m.Generation = strings.Replace(m.Generation, "1", "2", 1) }
func lost(m *lifecycle.Member) {
	m.Phase, m.Ready, m.Why = lifecycle.DriverUnknown, false,
		lifecycle.Cause{Reason: lifecycle.ReasonNodeLost, Message: "node n does not answer"}
}
func noImage(m *lifecycle.Member) {
	m.Phase, m.Ready, m.Why = lifecycle.DriverPending, false,
		lifecycle.Cause{Reason: "ImagePullBackOff", Message: "no such image"}
}
func gated(m *lifecycle.Member) {
	m.Phase, m.Ready, m.Why = lifecycle.DriverPending, false,
		lifecycle.Cause{Reason: lifecycle.ReasonSchedulingGated, Message: "gated"}
	m.Gated = true
}
func scheduled(after time.Duration) func(*lifecycle.Member) {
	return func(m *lifecycle.Member) { m.ScheduledAt = began.Add(after) }
}

func membersOf(members ...lifecycle.Member) lifecycle.Observed {
	return lifecycle.Observed{Members: members, AuxiliaryCount: 7}
}

var whole = membersOf(member("master"), member("w-0"), member("w-1"))

// memory returns the memory of a cluster in the given phase. Its objects have existed since the beginning of the test.
func memory(phase lifecycle.Phase, change ...func(*Memory)) Memory {
	m := Memory{Phase: phase, Since: began, Attempt: 1, Generation: 1, Begun: began}
	if phase == lifecycle.Running {
		m.Complete = began
	}

	for _, change := range change {
		change(&m)
	}
	return m
}

func adopted(m *Memory) { m.Adopted = true }
func because(reason string) func(*Memory) {
	return func(m *Memory) { m.Cause = lifecycle.Cause{Reason: reason} }
}
func rolling(m *Memory) { m.Begun, m.Complete, m.Generation = began.Add(time.Second), time.Time{}, 2 }

// row contains the input of one decision and the expected result: the entered phases, the reported reasons, the
// remembered reason, and the requeue interval.
type row struct {
	name    string
	want    Cluster
	mem     Memory
	seen    lifecycle.Observed
	objects Objects
	after   time.Duration

	trail    string
	reported string
	cause    string
	check    time.Duration
}

func (r row) run(t *testing.T) {
	now := began.Add(r.after)
	plan := Step(r.want, r.mem, r.seen, r.objects, now)
	checkPlan(t, r.want, r.mem, r.seen, r.objects, now, plan)

	var trail, reported []string
	for _, tr := range plan.Transitions {
		trail = append(trail, string(tr.To))
	}

	for _, n := range plan.Notices {
		reported = append(reported, n.Cause.Reason)
	}

	got := []any{strings.Join(trail, " "), strings.Join(reported, " "), plan.Next.Cause.Reason, plan.RequeueAfter}
	if diff := cmp.Diff([]any{r.trail, r.reported, r.cause, r.check}, got); diff != "" {
		t.Errorf("entered, reported, cause, requeue: %s\nnext %+v", diff, plan.Next)
	}
}

// unasked returns an observation with the given pods, in a pass that does not query for wait reasons.
func unasked(members ...lifecycle.Member) lifecycle.Observed {
	seen := membersOf(members...)
	seen.QuerySkipped = true
	return seen
}

func TestBeginning(t *testing.T) {
	none := lifecycle.Observed{}
	for _, r := range []row{
		{name: "the first pass", want: two(), check: start},
		{name: "no time limit", want: two(nobound), check: unbound},
		{name: "all objects exist", want: two(), objects: stand, trail: "Launched", cause: ReasonMasterNotReady,
			check: start},
		{name: "all objects and pods exist", want: two(), seen: whole, objects: stand, trail: "Launched Running"},
		{name: "an object is rejected", want: two(), objects: refused, trail: "Waiting", cause: "QuotaExceeded",
			check: start},
		{name: "cannot be rendered", want: two(broken), seen: none, trail: "Ended Done",
			cause: lifecycle.ReasonInvalid},
		{name: "cannot be rendered, and pods exist", want: two(broken), seen: whole, trail: "Ended",
			cause: lifecycle.ReasonInvalid, check: repeatDelay},
		{name: "still rejected", want: two(), mem: memory(lifecycle.Waiting, because("QuotaExceeded")),
			objects: refused, cause: "QuotaExceeded", check: start},
		{name: "rejected for another reason", want: two(), mem: memory(lifecycle.Waiting, because("Forbidden")),
			objects:  refused,
			reported: "QuotaExceeded", cause: "QuotaExceeded", check: start},
		{name: "the state of the objects is unknown", want: two(), mem: memory(lifecycle.Waiting, because("Forbidden")),
			cause: "Forbidden", check: start},
		{name: "the quota is raised", want: two(), mem: memory(lifecycle.Waiting, because("QuotaExceeded")),
			objects: stand,
			trail:   "Launched", cause: ReasonMasterNotReady, check: start},
		{name: "rejected, and edited to an invalid spec", want: two(edited, broken), mem: memory(lifecycle.Waiting),
			trail: "Ended Done", cause: lifecycle.ReasonInvalid},
		{name: "started again", want: two(), mem: memory(lifecycle.Resuming), objects: stand, trail: "Launched",
			cause: ReasonMasterNotReady, check: start},
		{name: "started again, and rejected", want: two(), mem: memory(lifecycle.Resuming), objects: refused,
			trail: "Waiting", cause: "QuotaExceeded", check: start},
	} {
		t.Run(r.name, r.run)
	}
}

func TestStarting(t *testing.T) {
	for _, r := range []row{
		{name: "no pod yet", want: two(), mem: memory(lifecycle.Launched), objects: stand, after: time.Minute,
			cause: ReasonMasterNotReady, check: 4 * time.Minute},
		{name: "the image is missing", want: two(), mem: memory(lifecycle.Launched, because(ReasonMasterNotReady)),
			objects: stand,
			seen:    membersOf(member("master", noImage)), after: time.Minute, reported: "ImagePullBackOff",
			cause: "ImagePullBackOff", check: 4 * time.Minute},
		{name: "the image is still missing", want: two(), mem: memory(lifecycle.Launched, because("ImagePullBackOff")),
			objects: stand,
			seen:    membersOf(member("master", noImage)), after: time.Minute, cause: "ImagePullBackOff",
			check: 4 * time.Minute},
		{name: "gated for 2 s: not reported", want: two(),
			mem: memory(lifecycle.Launched, because(ReasonMasterNotReady)), objects: stand,
			seen: membersOf(member("master", gated, made(58*time.Second))), after: time.Minute,
			cause: ReasonMasterNotReady, check: 3 * time.Second},
		{name: "gated for 5 s: reported", want: two(), mem: memory(lifecycle.Launched, because(ReasonMasterNotReady)),
			objects: stand,
			seen:    membersOf(member("master", gated, made(55*time.Second))), after: time.Minute,
			reported: lifecycle.ReasonSchedulingGated, cause: lifecycle.ReasonSchedulingGated, check: start},
		{name: "gated for longer than the time limit", want: two(),
			mem: memory(lifecycle.Launched, because(lifecycle.ReasonSchedulingGated)), objects: stand,
			seen: membersOf(member("master", gated)), after: time.Hour, cause: lifecycle.ReasonSchedulingGated,
			check: start},
		{name: "the gates were removed", want: two(),
			mem:     memory(lifecycle.Launched, because(lifecycle.ReasonSchedulingGated)),
			objects: stand, seen: membersOf(member("master", unready)), after: time.Hour, cause: ReasonMasterNotReady,
			check: start},
		{name: "after the gates, on a node for a minute", want: two(),
			mem: memory(lifecycle.Launched, because(lifecycle.ReasonSchedulingGated)), objects: stand,
			seen: membersOf(member("master", unready, scheduled(59*time.Minute))), after: time.Hour,
			cause: ReasonMasterNotReady,
			check: start - time.Minute},
		{name: "after the gates, on a node for the time limit", want: two(),
			mem: memory(lifecycle.Launched, because(lifecycle.ReasonSchedulingGated)), objects: stand,
			seen: membersOf(member("master", unready, scheduled(55*time.Minute))), after: time.Hour, trail: "Ended",
			cause: ReasonStartTimedOut, check: repeatDelay},
		{name: "no query, and a known reason", want: two(),
			mem: memory(lifecycle.Launched, because("ImagePullBackOff")), objects: stand,
			seen: unasked(member("master", unready)), after: time.Minute, cause: "ImagePullBackOff",
			check: 4 * time.Minute},
		{name: "no query, and no known reason", want: two(), mem: memory(lifecycle.Launched), objects: stand,
			seen: unasked(member("master", unready)), after: time.Minute, cause: ReasonMasterNotReady,
			check: 4 * time.Minute},
		{name: "a microsecond before the deadline", want: two(),
			mem: memory(lifecycle.Launched, because(ReasonMasterNotReady)), objects: stand,
			after: start - time.Microsecond, cause: ReasonMasterNotReady, check: time.Millisecond},
		{name: "at the deadline", want: two(), mem: memory(lifecycle.Launched), objects: stand,
			seen:  membersOf(member("master", unready)),
			after: start, trail: "Ended", cause: ReasonStartTimedOut, check: repeatDelay},
		{name: "at the deadline, without objects", want: two(), mem: memory(lifecycle.Launched), after: start,
			trail: "Ended Done", cause: ReasonStartTimedOut},
		{name: "no deadline", want: two(nobound), mem: memory(lifecycle.Launched), objects: stand, after: 100 * start,
			cause: ReasonMasterNotReady, check: unbound},
		{name: "ready at the first pass after the deadline", want: two(), mem: memory(lifecycle.Launched),
			objects: stand, seen: whole, after: 2 * start, trail: "Running"},
		{name: "the master is ready", want: two(), mem: memory(lifecycle.Launched), objects: stand,
			seen:  membersOf(member("master"), member("w-0")),
			trail: "Started", cause: ReasonWorkersNotReady, check: start},
		{name: "a worker waits for its image", want: two(),
			mem: memory(lifecycle.Started, because(ReasonWorkersNotReady)), objects: stand,
			seen: membersOf(member("master"), member("w-0"), member("w-1", noImage)), reported: "ImagePullBackOff",
			cause: "ImagePullBackOff", check: start},
		{name: "a worker waits for hours", want: two(), mem: memory(lifecycle.Started, because(ReasonWorkersNotReady)),
			objects: stand,
			seen:    membersOf(member("master"), member("w-0")), after: 50 * start, cause: ReasonWorkersNotReady,
			check: start},
		{name: "the master is being deleted", want: two(), mem: memory(lifecycle.Started), objects: stand,
			seen: membersOf(member("master", going)), after: 50 * start,
			trail: "Launched", cause: ReasonMasterNotReady, check: start},
		{name: "all are ready", want: two(), mem: memory(lifecycle.Started), objects: stand, seen: whole,
			trail: "Running"},
		{name: "all are ready, and the state of the objects is unknown", want: two(), mem: memory(lifecycle.Started),
			seen: whole, check: start},
		{name: "a worker on a lost node", want: two(), mem: memory(lifecycle.Started), objects: stand,
			seen:     membersOf(member("master"), member("w-0"), member("w-1", lost)),
			reported: lifecycle.ReasonNodeLost, cause: lifecycle.ReasonNodeLost, check: start},
		{name: "enough workers for an autoscaler", want: two(scales), mem: memory(lifecycle.Started), objects: stand,
			seen: membersOf(member("master"), member("w-0")), trail: "Running"},
		{name: "without workers", want: two(func(c *Cluster) { c.Workers = 0 }), mem: memory(lifecycle.Launched),
			objects: stand, seen: membersOf(member("master")), trail: "Running"},
		{name: "an object is rejected during the start", want: two(), mem: memory(lifecycle.Launched), objects: refused,
			trail: "Waiting", cause: "QuotaExceeded", check: start},
		{name: "edited: the time limit starts again", want: two(edited), mem: memory(lifecycle.Launched),
			after: 4 * time.Minute, cause: ReasonMasterNotReady, check: start},
		{name: "edited to an invalid spec", want: two(edited, broken), mem: memory(lifecycle.Started), seen: whole,
			trail: "Ended", cause: lifecycle.ReasonInvalid, check: repeatDelay},
	} {
		t.Run(r.name, r.run)
	}
}

func TestRunning(t *testing.T) {
	whole2 := membersOf(member("master", second), member("w-0", second), member("w-1", second))
	for _, r := range []row{
		{name: "complete", want: two(), mem: memory(lifecycle.Running), objects: stand, seen: whole},
		{name: "the state of the objects is unknown", want: two(), mem: memory(lifecycle.Running), seen: whole},
		{name: "a worker is missing", want: two(), mem: memory(lifecycle.Running), objects: stand,
			seen: membersOf(member("master"), member("w-0")), after: time.Hour,
			reported: ReasonWorkersNotReady, cause: ReasonWorkersNotReady},
		{name: "a worker is still missing", want: two(), mem: memory(lifecycle.Running, because(ReasonWorkersNotReady)),
			objects: stand,
			seen:    membersOf(member("master"), member("w-0")), after: time.Hour, cause: ReasonWorkersNotReady},
		{name: "a replaced worker waits for its image", want: two(),
			mem: memory(lifecycle.Running, because(ReasonWorkersNotReady)), objects: stand,
			seen: membersOf(member("master"), member("w-0"), member("w-1", noImage)), reported: "ImagePullBackOff",
			cause: "ImagePullBackOff"},
		{name: "the worker is ready again", want: two(), mem: memory(lifecycle.Running, because(ReasonWorkersNotReady)),
			objects: stand, seen: whole, reported: ReasonRecovered},
		{name: "the master is missing for hours", want: two(), mem: memory(lifecycle.Running), objects: stand,
			seen: membersOf(member("w-0"), member("w-1")), after: 100 * start,
			reported: ReasonMasterNotReady, cause: ReasonMasterNotReady},
		{name: "a deleted object is rejected", want: two(), mem: memory(lifecycle.Running), objects: refused,
			seen: whole, reported: "QuotaExceeded", cause: "QuotaExceeded"},
		{name: "the object is accepted again", want: two(), mem: memory(lifecycle.Running, because("QuotaExceeded")),
			objects: stand, seen: whole, reported: ReasonRecovered},
		{name: "more workers than the autoscaler's minimum", want: two(scales), mem: memory(lifecycle.Running),
			objects: stand,
			seen:    membersOf(member("master"), member("w-0"), member("w-1", noImage))},

		{name: "edited", want: two(edited), mem: memory(lifecycle.Running), seen: whole, after: time.Hour,
			reported: ReasonEdited, check: start},
		{name: "edited: the objects are updated, and the pods are old", want: two(edited),
			mem: memory(lifecycle.Running, rolling), objects: stand, seen: whole, after: time.Minute,
			check: 4*time.Minute + time.Second},
		{name: "edited: a new pod is not ready", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects: stand, seen: membersOf(member("master", second, unready), member("w-0"), member("w-1")),
			after: time.Minute, check: 4*time.Minute + time.Second},
		{name: "edited: a new pod waits for its image", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects: stand,
			seen:    membersOf(member("master", second, noImage), member("w-0"), member("w-1")), after: time.Second,
			reported: "ImagePullBackOff", cause: "ImagePullBackOff", check: start},
		{name: "edited: all pods are new", want: two(edited), mem: memory(lifecycle.Running, rolling), objects: stand,
			seen: whole2, after: time.Second, reported: ReasonRolledOut},
		{name: "edited: all pods are new, and the state of the objects is unknown", want: two(edited),
			mem: memory(lifecycle.Running, rolling), seen: whole2, after: time.Second, check: start},
		{name: "edited: one worker too many", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects: stand,
			seen:    membersOf(slices.Concat(whole2.Members, []lifecycle.Member{member("w-2", second)})...),
			after:   time.Second, check: start},
		{name: "edited: one worker is being deleted", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects: stand,
			seen:    membersOf(slices.Concat(whole2.Members, []lifecycle.Member{member("w-2", second, going)})...),
			after:   time.Second, check: start},
		{name: "edited: one worker of an autoscaler is being deleted", want: two(scales, edited),
			mem: memory(lifecycle.Running, rolling), objects: stand,
			seen:  membersOf(slices.Concat(whole2.Members, []lifecycle.Member{member("w-2", second, going)})...),
			after: time.Second, check: start},
		{name: "edited: more workers than the autoscaler's minimum", want: two(scales, edited),
			mem: memory(lifecycle.Running, rolling), objects: stand, seen: whole2, after: time.Second, reported: ReasonRolledOut},
		{name: "edited: the pods stay the same", want: two(func(c *Cluster) { c.Generation++ }),
			mem: memory(lifecycle.Running), objects: stand, seen: whole, after: time.Second,
			reported: "SpecChanged RolledOut"},
		{name: "a rollout at its time limit", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects: stand, seen: membersOf(member("master", second), member("w-0", second, unready), member("w-1")),
			after: start + time.Second, reported: ReasonRolloutTimedOut, cause: ReasonRolloutTimedOut},
		{name: "a long rollout with a recent new pod", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects: stand,
			seen:    membersOf(member("master", second), member("w-0", second, unready, made(2*start)), member("w-1")),
			after:   2*start + time.Minute, check: start - time.Minute},
		{name: "a long rollout with a recent old pod", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects:  stand,
			seen:     membersOf(member("master", second), member("w-0", unready, made(2*start)), member("w-1")),
			after:    2*start + time.Minute,
			reported: ReasonRolloutTimedOut, cause: ReasonRolloutTimedOut},
		{name: "a rollout that ends after its time limit", want: two(edited),
			mem: memory(lifecycle.Running, rolling, because(ReasonRolloutTimedOut)), objects: stand, seen: whole2,
			after: start + time.Minute, reported: ReasonRolledOut},
		{name: "an edited object is rejected", want: two(edited), mem: memory(lifecycle.Running, rolling),
			objects: refused, seen: whole, after: time.Second,
			reported: "QuotaExceeded", cause: "QuotaExceeded", check: start},
		{name: "edited to an invalid spec", want: two(edited, broken), mem: memory(lifecycle.Running), seen: whole},
		{name: "edited to an invalid spec, and the master is missing", want: two(edited, broken),
			mem: memory(lifecycle.Running), seen: membersOf(member("w-0")),
			reported: ReasonMasterNotReady, cause: ReasonMasterNotReady},
		{name: "edited to an invalid spec during a rollout", want: two(edited, edited, broken),
			mem: memory(lifecycle.Running, rolling), objects: stand, seen: whole2, after: time.Second, check: start},
		{name: "another version of the operator renders other workers",
			want: two(func(c *Cluster) { c.Made[lifecycle.Worker] = "w9" }), mem: memory(lifecycle.Running),
			objects: stand, seen: whole,
			after: time.Hour, check: start},
	} {
		t.Run(r.name, r.run)
	}
}

func TestAdopted(t *testing.T) {
	theirs := membersOf(member("master", foreign), member("w-0", foreign), member("w-1", foreign))
	for _, r := range []row{
		{name: "unchanged", want: two(), mem: memory(lifecycle.Running, adopted), objects: stand, seen: theirs},
		{name: "a pod was created again from our StatefulSet", want: two(), mem: memory(lifecycle.Running, adopted),
			objects: stand,
			seen:    membersOf(member("master", foreign), member("w-0"), member("w-1", foreign))},
		{name: "a worker is missing", want: two(), mem: memory(lifecycle.Running, adopted), objects: stand,
			seen:     membersOf(theirs.Members[0], theirs.Members[1]),
			reported: ReasonWorkersNotReady, cause: ReasonWorkersNotReady},
		{name: "adopted before it ran", want: two(), mem: Memory{Attempt: 1, Adopted: true}, objects: stand,
			seen: theirs, trail: "Launched Running"},
		{name: "adopted while an object was rejected", want: two(), mem: memory(lifecycle.Waiting, adopted),
			objects: stand, seen: theirs, trail: "Launched Running"},
		{name: "edited", want: two(edited), mem: memory(lifecycle.Running, adopted), objects: stand, seen: theirs,
			after: time.Second, reported: ReasonEdited, check: start},
	} {
		t.Run(r.name, r.run)
	}

	plan := Step(two(edited), memory(lifecycle.Running, adopted), theirs, stand, began)
	if plan.Next.Adopted || !plan.Next.Rolling() {
		t.Errorf("after an edit: %+v", plan.Next)
	}
}

func TestOver(t *testing.T) {
	none := lifecycle.Observed{}

	failed := func(phase lifecycle.Phase) Memory { return memory(phase, because(ReasonStartTimedOut)) }
	for _, r := range []row{
		{name: "releasing: an object is left", want: two(), mem: failed(lifecycle.Ended),
			seen: lifecycle.Observed{AuxiliaryCount: 1}, cause: ReasonStartTimedOut, check: repeatDelay},
		{name: "releasing: a pod is left", want: two(), mem: failed(lifecycle.Ended),
			seen:  lifecycle.Observed{Members: []lifecycle.Member{member("w-0", going)}},
			cause: ReasonStartTimedOut, check: repeatDelay},
		{name: "releasing: nothing is left", want: two(), mem: failed(lifecycle.Ended), seen: none, trail: "Done",
			cause: ReasonStartTimedOut},
		{name: "released", want: two(), mem: failed(lifecycle.Done), cause: ReasonStartTimedOut},
		{name: "edited while objects are left", want: two(edited), mem: failed(lifecycle.Ended), seen: whole,
			cause: ReasonStartTimedOut, check: repeatDelay},
		{name: "edited before, and nothing is left now", want: two(edited), mem: failed(lifecycle.Ended), seen: none,
			trail: "Done Resuming", cause: ReasonEdited, check: start},
		{name: "edited afterwards", want: two(edited), mem: failed(lifecycle.Done), trail: "Resuming",
			cause: ReasonEdited, check: start},
		{name: "edited afterwards, and rejected at once", want: two(edited), mem: failed(lifecycle.Done),
			objects: refused, trail: "Resuming Waiting", cause: "QuotaExceeded", check: start},
		{name: "edited afterwards to an invalid spec", want: two(edited, broken), mem: failed(lifecycle.Done),
			cause: lifecycle.ReasonInvalid},
		{name: "still invalid", want: two(broken), mem: memory(lifecycle.Done, because(lifecycle.ReasonInvalid)),
			cause: lifecycle.ReasonInvalid},
		{name: "valid for this operator, and invalid for another", want: two(),
			mem: memory(lifecycle.Done, because(lifecycle.ReasonInvalid)), trail: "Resuming", cause: ReasonEdited,
			check: start},
		{name: "deleted", want: two(func(c *Cluster) { c.Deleting = true }), mem: memory(lifecycle.Running),
			seen: none},
		{name: "deleted, invalid", want: two(broken, func(c *Cluster) { c.Deleting = true }),
			mem: memory(lifecycle.Launched), seen: whole},
	} {
		t.Run(r.name, r.run)
	}

	plan := Step(two(edited), failed(lifecycle.Done), none, unknown, began)

	want := Memory{Phase: lifecycle.Resuming, Since: began, Attempt: 2, Generation: 2, Cause: plan.Next.Cause}
	if diff := cmp.Diff(want, plan.Next); diff != "" {
		t.Errorf("started again: %s", diff)
	}
}

// TestMessages checks the messages that users see.
func TestMessages(t *testing.T) {
	for _, tc := range []struct {
		name    string
		mem     Memory
		seen    lifecycle.Observed
		objects Objects
		after   time.Duration
		want    string
	}{
		{"no pod", memory(lifecycle.Launched), lifecycle.Observed{}, stand, 0,
			"the master is not ready; the StatefulSet of the master has no pod yet; if it stays without a pod, its events show why"},
		{"a pod without a reason", memory(lifecycle.Launched), membersOf(member("master", unready)), stand, 0,
			"the master is not ready"},
		{"a missing image", memory(lifecycle.Launched), membersOf(member("master", noImage)), stand, 0,
			"the master is not ready: pod master: no such image"},
		{"a lost worker", memory(lifecycle.Running), membersOf(member("master"), member("w-0"), member("w-1", lost)),
			stand, 0,
			"1 of 2 workers are ready: pod w-1: node n does not answer"},
		{"at the deadline", memory(lifecycle.Launched), membersOf(member("master", noImage)), stand, start,
			"no master was ready within 5m0s: the master is not ready: pod master: no such image"},
		{"a rollout at its time limit", memory(lifecycle.Running, rolling), membersOf(member("master", noImage)), stand,
			start + time.Second,
			"the rollout makes no progress: not all pods match the cluster's spec, and no pod was created from it for 5m0s: the master is not ready: pod master: no such image"},
		{"a rejection", memory(lifecycle.Launched), lifecycle.Observed{}, refused, 0, quota.Message},
	} {
		want := two()
		if tc.mem.Generation == 2 {
			want = two(edited)
		}

		got := Step(want, tc.mem, tc.seen, tc.objects, began.Add(tc.after)).Next.Cause.Message
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}

	long := lifecycle.Cause{Reason: "Invalid", Message: strings.Repeat("x", 100_000)}
	if got := Step(two(), Memory{}, lifecycle.Observed{}, Objects{Refused: &long},
		began).Next.Cause.Message; len(got) > 5000 {
		t.Errorf("a message of %d bytes is remembered", len(got))
	}
}
