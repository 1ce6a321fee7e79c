package lifecycle_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/lifecycle/application"
	"github.com/sparkoperator/spark-operator/lifecycle/connect"
)

var update = flag.Bool("update", false, "write docs/states.md")

const page = "../docs/states.md"

// TestStatesPage checks that docs/states.md contains the tables of the state machines. After a change of a table, run
// it with -update.
func TestStatesPage(t *testing.T) {
	want := statesPage(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/states.md is stale; run go test ./lifecycle -run TestStatesPage -update\n%s", diff)
	}
}

// parts returns the names of the given parts of an application as one text.
func parts(all []lifecycle.Part) string {
	var names []string
	for _, part := range all {
		names = append(names, string(part))
	}
	return strings.Join(names, ", ")
}

// statesPage returns the text of docs/states.md: the tables, and the text between them.
func statesPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprint(&b, `# The states of applications, servers, clusters and runs

This page is written by `+"`go test ./lifecycle -run TestStatesPage -update`"+` from the tables by which every decision of the state
machines is tested. The phases are those of package lifecycle; `+"`status.operator.phase`"+` holds them, and each API shows them in its own words
(docs/applications.md, docs/connect.md, docs/clusters.md).

## Applications

`)
	draw(&b, application.Transitions, "    Retained --> [*]: time to live\n    Done --> [*]: time to live\n")
	fmt.Fprint(&b, "\nLive is no phase of its own: it holds those in which an attempt has a driver. ")
	list(&b, application.Transitions)
	fmt.Fprint(&b, "\n### What a phase waits for\n\nNo phase waits in silence. One that is not listed is passed through within one decision.\n\n")
	await(&b, application.Waits)
	fmt.Fprint(&b, `
### What holds at any time

- At most one driver of an application runs. The next is created only when every object of the attempts before it is gone, by a live read
  of the driver pods, and of the pods that submit one by spark-submit.
- An attempt's number is never used again, not by a retry, an edit or a resumed suspension. A launch that was not written down, because the
  operator died right after it, is found again by its number. A pod whose label is further ahead than a lost launch can be moves nothing.
- A driver that is not seen is believed to be gone only after a live read. A driver on a lost node is not gone,
  however long it is lost; the time of the run alone goes on there, and the attempt that it ends keeps the next one waiting until the pod is gone.
- A node is lost when Kubernetes says so: it takes the readiness of the node's pods away once it has not heard from the node for 50 s
  (node-monitor-grace-period), and the node has 15 s more to give it back. Or when the driver is being deleted, by whomever, and is still there
  30 s after it should be gone. A taint alone tells nothing: a node that answers obeys it. The node is back when it reports the pod again.
- A refusal by the API server is believed only after a live read: the second try of a launch that was not written down may be refused by the
  very quota that the first one took.
- What the API server cannot take at the moment (a webhook that is down, an overload, a time-out, a right that the operator lacks) is no refusal. It
  is tried again, ever later, and told by the condition Ready and an Event once it has lasted for 3 s. Deadlines go on meanwhile; a launch that
  is held back for longer than driverStart has failed as a submission.
- A pod that runs spark-submit makes at most one driver pod, whose name is fixed before it starts: where the name is taken it fails, and
  where the driver of its attempt is there that failure means nothing. A driver that it left without its ConfigMap is deleted, and submitted
  once more whatever the restart policy says.
- Where the application asks for it, a budget keeps the driver from evictions, from the first sight of its pod until its end. It goes before the
  next attempt, and with the end also where the pod goes on in a sidecar. One that cannot be made holds nothing up.
- Executors that are wanted and do not come are asked for: where there are too few for 5 s and none came in that time, or none at all for the
  driver's first 10 s, the API server is asked whether another could be made, as the driver would, and the answer is told. Again within 4 s
  for the first minute, then after a fifteenth of the time, a minute at most, and later where the API server is busy: what was known holds until
  then. How many are wanted is known of those that the application begins with, and of those that it never goes below: what dynamic allocation
  wants beyond is known to the driver alone.
- Ended and Waiting are stored where something waits in them; an end that nothing follows is stored as Retained or Done, and told as Ended
  all the same. A retry's interval counts from the container's end, which Kubernetes tells to the second: one of less than 2 s may be over when the end is
  seen, and the next attempt is then launched in the same decision, if nothing is left of the last one.
- What goes on is stopped before what it needs is taken away: of a run that is suspended, replaced or out of time the driver pod is deleted first, and
  its budget; executors, Services and ConfigMaps when it has ended or is gone, or 30 s after it should be, since its node may be dead. Deleting the
  application deletes everything at once.
- A driver's end is that of its Spark container. A sidecar that outlives it holds nothing up but the next attempt, which deletes the pod.
- The reason of a deletion is stored before the deletion is asked for: a suspension, an edit, a deadline, an end. See below.
- Where an application has thresholds, its start is over once so many executors run as that takes, and never begins again. Then it is Below while fewer
  run than must, Partial while fewer run than may and Spark does not choose their number itself, and Running else. None of it ends an application.
  A driver that had enough executors keeps its phase until the lack of them has lasted for 5 s, which begin again if the
  operator restarts: executors end shortly before their driver, and Spark replaces lost executors within seconds.
- Where the history is to be the same however late anybody looks, a driver that ended unseen is led through the phases that it came through before it
  is Ended: those of a driver whose container started. Executors that were awaited and not seen are not made up, and
  neither is a lack of executors.
- What is not retained is gone before an application is Done: until then it is Ended, or Retained until its time is over. Nothing is retained from
  one attempt to the next. A driver that goes on although its attempt is over is stopped, whatever is retained: a pod cannot be stopped and kept.
- Where an end has a time after which nothing more is waited for, deletions are without a grace period from then on. A pod on a dead node is gone by that
  for the API server while nobody knows whether its driver is; the next attempt is launched then. No attempt that goes on is ended for its node.
- Restarts that are counted are counted when they are decided on, before the wait for them. The attempt that ends them tells which limit was reached, and
  what it was the end of.

### What is deleted before the reason is stored

A status write can fail after the deletions of its pass took effect: the spec was changed in between, or the operator died. The next pass would then take the
operator's own deletion for somebody else's. So a pass that enters a phase deletes nothing that lives; the pass after its status write does. A suspension or an
edit that is taken back before it was stored leaves the run alone. One that is taken back later replaces the run, and uses up no retry. The exceptions:

`)
	b.WriteString("| what | when | if the deletion took effect and the status write did not |\n|---|---|---|\n")
	for _, e := range application.Unstored {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", parts(e.Parts), e.When, e.Why)
	}
	fmt.Fprint(&b, `
Decision [0024](decisions/0024-reasons-before-deletions.md) lists every deletion of the operator.

One window is left: a driver that is created, and removed by somebody else, while the operator is down before its status write, can be
launched once more. Where the spec was edited before the first launch is written down, drivers of any name are looked for live first.
`)
	fmt.Fprint(&b, `
## Spark Connect servers

A server is a driver that is never done, so its machine is that of applications with another rule for what comes after its end: the next server, after
a back-off that doubles while servers fail (`+"`lifecycle/connect`"+`). What holds of drivers at any time holds of servers.

`)
	draw(&b, connect.Transitions, "")
	fmt.Fprint(&b, "\nLive holds the phases in which there is a server's pod. ")
	list(&b, connect.Transitions)
	fmt.Fprint(&b, "\n### What a server waits for\n\n")
	await(&b, connect.Waits)
	clusterStates(&b)
	fmt.Fprint(&b, `
## Schedules

A schedule has no phases: `+"`status.scheduleState` is `Scheduled`, or `FailedValidation`"+` as long as its spec cannot be used. What goes through states is each run, from
the time that it is due (docs/schedules.md). Each row is decided by the machine (`+"`lifecycle/schedule`"+`) when this page is written.

`)
	drawRuns(t, &b)
	fmt.Fprint(&b, `
### What holds at any time

- A run's name is computed from its tick, or from the request for it. A run that was created and not written down, because the operator died in between, is
  found by its name and remembered, and not started again. One window is left: one that ended and was deleted by somebody else in between is started again.
- Nothing that was due at or before the last tick that is written down is ever started, wherever the clock goes.
- Of several runs that are due the latest is started, the others are given up.
- Where another run's going on matters (Forbid, Replace) it is believed only after a live read that the last one is over or gone.
- A run is deleted for the history only after its end was written down.
- An edit of the schedule or its zone counts from then on; nothing that was due before is made up for. An edit of the template is for the runs that follow.
`)
	return b.String()
}

// draw writes the diagram of a state machine. Edges that lead out of the diagram come last.
func draw(b *strings.Builder, edges []application.Edge, out string) {
	fmt.Fprint(b, "```mermaid\nstateDiagram-v2\n    [*] --> New\n    state Live {\n")
	for _, e := range edges {
		if inside(e) {
			for _, from := range e.From {
				fmt.Fprintf(b, "        %s --> %s: %s\n", from, e.To, e.When)
			}
		}
	}
	fmt.Fprint(b, "    }\n")
	for _, e := range edges {
		if inside(e) || slices.Contains(e.From, lifecycle.Retained) && len(e.From) > 2 { // in the table
			continue
		}
		if slices.ContainsFunc(e.From, lifecycle.Phase.Live) && len(e.From) > 1 {
			fmt.Fprintf(b, "    Live --> %s: %s\n", e.To, e.When)
		}
		for _, from := range e.From {
			if !from.Live() || len(e.From) == 1 {
				fmt.Fprintf(b, "    %s --> %s: %s\n", name(from), e.To, e.When)
			}
		}
	}
	fmt.Fprint(b, out, "```\n")
}

// list writes a table of the transitions that the diagram combines or omits.
func list(b *strings.Builder, edges []application.Edge) {
	fmt.Fprint(b, "The edges from several phases, and those too many to draw:\n\n| to | when | from |\n|---|---|---|\n")
	for _, e := range edges {
		if len(e.From) > 1 {
			fmt.Fprintf(b, "| %s | %s | %s |\n", e.To, e.When, names(e.From))
		}
	}
}

// await writes a table of what each phase waits for.
func await(b *strings.Builder, waits []application.Wait) {
	fmt.Fprint(b, "| phase | waits for |\n|---|---|\n")
	for _, w := range waits {
		fmt.Fprintf(b, "| %s | %s |\n", name(w.Phase), w.For)
	}
}

// inside reports whether an edge starts and ends among the phases of a live attempt.
func inside(e application.Edge) bool {
	return e.To.Live() && !slices.ContainsFunc(e.From, func(p lifecycle.Phase) bool { return !p.Live() })
}

func name(p lifecycle.Phase) string {
	if p == lifecycle.New {
		return "New"
	}
	return string(p)
}

func names(phases []lifecycle.Phase) string {
	out := make([]string, len(phases))
	for i, p := range phases {
		out[i] = name(p)
	}
	return strings.Join(out, ", ")
}
