package lifecycle_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/application"
	"github.com/sparkoperator/spark-operator/internal/lifecycle/connect"
)

var update = flag.Bool("update", false, "write docs/states.md")

const page = "../../docs/states.md"

// TestStatesPage checks that docs/states.md contains the tables of the state machines. After a change of a table, run
// this test with -update, which writes the page.
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
		t.Errorf("docs/states.md is stale; run go test ./internal/lifecycle -run TestStatesPage -update\n%s", diff)
	}
}

// parts returns the names of parts, separated by commas.
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

A test writes this page (`+"`go test ./internal/lifecycle -run TestStatesPage -update`"+
		`). It uses the tables against which
other tests check every decision of the state machines. The phases are those of the package lifecycle, and
`+"`status.operator.phase`"+` has the current one. Each API expresses it in its own states
([applications](applications.md), [servers](connect.md), [clusters](clusters.md)).

A live read in this page is a read from the API server instead of the operator's cache.

## Applications

`)
	draw(&b, application.Transitions, "    Retained --> [*]: time to live\n    Done --> [*]: time to live\n")
	fmt.Fprint(&b, "\nLive is not a phase. It stands for the phases in which an attempt has a driver.\n")
	list(&b, application.Transitions)
	fmt.Fprint(&b, `
### What a phase waits for

The table lists every phase in which an application can stay. Each of them waits for a deadline, a timer or a named
event. The words driverStart, driverReady, executorsStart and run name [deadlines](retries.md#deadlines). The
operator repeats a deletion every 15 s until the objects are gone. In applications of spark.apache.org,
terminationRequeuePeriodMillis sets this interval (2 s by default).

`)
	await(&b, application.Waits)
	fmt.Fprint(&b, `
### What holds at any time

- At most one driver of an application runs. The operator creates the next one only when every object of the earlier
  attempts is gone. A live read confirms that for driver pods and for pods that run spark-submit.
- A retry, an edit or a resumed suspension never reuses an attempt number. If the operator dies right after a launch,
  that launch is not stored, and the next pass finds it by its number. A pod has no effect if its label is further ahead
  than a launch that is not stored can be.
- A missing driver counts as gone only after a live read. A driver on a lost node does not count as gone, however long
  the node is lost. Only the deadline run still applies there. If it ends the attempt, the next attempt waits until the
  pod is gone.
- A node counts as lost in two cases. First, Kubernetes removes the readiness of the node's pods after the node has not
  responded for 50 s (node-monitor-grace-period). The node then has 15 s to restore it. Second, the driver pod is being
  deleted, by the operator or by others, and still exists 30 s after the end of its grace period. A taint alone is no
  evidence, because a node that responds obeys it. The node counts as back when it reports the pod again.
- The operator accepts a rejection by the API server only after a live read. The second try of a launch that is not
  stored may be rejected by the quota that the first try used.
- A transient error is no rejection. Examples are a webhook that is down, an overload, a time-out and a right that the
  operator lacks. The operator retries with growing intervals. If the error lasts for 3 s, an event and the condition
  Ready (Degraded while the application runs) report it. Deadlines still pass. If the error delays a launch for longer
  than driverStart, the submission has failed.
- A pod that runs spark-submit creates at most one driver pod, whose name is fixed before spark-submit starts. If the
  name is taken, spark-submit fails. If the driver of its attempt exists, that failure does not matter. If spark-submit
  leaves a driver without its ConfigMap, the operator deletes the driver and submits once more, whatever the restart
  policy is.
- A PodDisruptionBudget protects the driver from evictions if the application requests it. The budget exists from the
  first pass that finds the driver pod until the driver's end, even if a sidecar keeps the pod running after that. It is
  gone before the next attempt. If the budget cannot be created, the application runs without it.
- If wanted executors do not appear, the operator queries the API server whether another could be created as the driver
  would create it, and reports the answer. The first query follows when there have been too few executors for 5 s and no
  new one appeared in that time. If the driver has had no executor at all, it follows 10 s after the driver is Ready.
  The query is repeated every 4 s in the first minute, then after a fifteenth of the elapsed time, a minute at most. It
  is repeated later if the API server is busy. Until then the last answer stays valid. The spec determines only how many
  executors the application begins with and how many it always keeps. Only the driver has the target of dynamic
  allocation beyond that.
- Ended and Waiting are stored only if the application stays in them. An end that no attempt follows is stored as
  Retained or Done, and the history, events and metrics report Ended all the same. The interval of a retry counts from
  the end of the container, which Kubernetes reports in whole seconds. An interval of less than 2 s may therefore be
  over when a pass finds the end. If nothing is left of the last attempt, the same decision launches the next one.
- A driver stops before the objects that it needs are deleted. If an attempt is suspended, replaced or out of time, the
  operator deletes the driver pod and its budget first. It deletes executors, Services and ConfigMaps when the driver
  has ended or is gone. It also deletes them 30 s after the end of the driver's grace period, since the node may be
  dead. Deleting the application deletes everything at once.
- A driver that exits with code 0 while a suspension stops it has succeeded, and does not run again. An edit or a
  restart request asks for another run, whatever the end of the old run is
  ([0046](decisions/0046-ends-while-stopping.md)).
- If a quota rejects the next attempt of an application that has run, or that was resumed or edited, the application
  waits in its phase and no retry is used up. The operator retries after 15 s and, if the wait lasts, every minute. The
  wait is bounded by driverStart. A first attempt ends instead, as does the retry of a rejected submission.
- The objects that the operator created for a driver besides pods are created again if somebody deletes them while the
  driver runs. If that is rejected, the status has the reason.
- A driver ends with its Spark container. A sidecar that continues after that delays only the next attempt, for which
  the pod is deleted. After the last attempt, the status names the sidecar.
- The operator stores the reason of a deletion (a suspension, an edit, a deadline, an end) before it requests the
  deletion. The [next section](#what-is-deleted-before-the-reason-is-stored) has the exceptions.
- If an application has thresholds, it is Scaling only when an executor runs. Its start is over once the initial number
  of executors runs, and never begins again. Afterwards it is Below while fewer executors run than the minimum. It is
  Partial while fewer run than the maximum and Spark does not choose their number itself. Otherwise it is Running. None
  of this ends an application. A driver that had enough executors keeps its phase until the shortage has lasted for 5 s,
  because executors end shortly before their driver, and Spark replaces lost executors within seconds. A restart of the
  operator restarts the 5 s.
- In applications of spark.apache.org, the history does not depend on how late a pass runs. If a driver ended before a
  pass observed it running, the application enters the phases that the driver must have passed, and then Ended. Its
  container must have started. The operator invents no executors that were expected and not observed, and no shortage
  of executors.
- Objects that are not retained are gone before an application is Done. Until then the application stays Ended, Waiting
  or Retained. No object is retained from one attempt to the next. The operator stops a driver that still runs although
  its attempt is over, whatever is retained, because a pod cannot be stopped and kept.
- If an application limits the time that its pods may take to stop, deletions after that time have no grace period. The
  API server then removes even a pod on a dead node, although its driver may still run there, and the next attempt is
  launched. The operator never ends a live attempt because of its node.
- If restarts are limited, each restart counts from the decision to make it, before its interval. If a limit prevents
  another attempt, the cause names the limit and how the last attempt ended.
- If the operator's clock goes back, or a replica with an earlier clock takes over, no wait takes longer than its own
  duration from then on. Stored times that are in the future count as the present.

### What is deleted before the reason is stored

A status write can fail after the deletions of its pass took effect, because the spec was changed in between or the
operator died. The next pass would then mistake the operator's own deletion for somebody else's. Therefore a pass that
enters a phase deletes nothing that still runs. The pass after its status write does. If a suspension or an edit is
reverted before it is stored, the attempt continues. If it is reverted later, the attempt is replaced, and that uses up
no retry. The exceptions:

`)
	b.WriteString("| what | when | if the deletion took effect and the status write failed |\n|---|---|---|\n")

	for _, e := range application.Unstored {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", parts(e.Parts), e.When, e.Why)
	}

	fmt.Fprint(&b, `
Decision [0024](decisions/0024-reasons-before-deletions.md) lists every deletion of the operator.

One gap remains. If the operator goes down after it created a driver and before its status write, and somebody else
removes the driver in that time, the operator may launch it once more. If the spec was edited before the first launch is
stored, a live read first looks for drivers of any name.
`)
	fmt.Fprint(&b, `
## Spark Connect servers

A server is a driver that never finishes. Its machine (`+"`internal/lifecycle/connect`"+
		`) is therefore that of applications,
with another rule for the end: the next server follows after a back-off, which doubles while servers fail. The rules
that hold at any time for drivers also hold for servers.

`)
	draw(&b, connect.Transitions, "")
	fmt.Fprint(&b, "\nLive stands for the phases in which a server has a pod.\n")
	list(&b, connect.Transitions)
	fmt.Fprint(&b, "\n### What a server waits for\n\nThe operator repeats a deletion every 15 s until the objects are gone.\n\n")
	await(&b, connect.Waits)
	clusterStates(&b)
	fmt.Fprint(&b, `
## Schedules

A schedule has no phases: `+"`status.scheduleState` is `Scheduled`, or `FailedValidation`"+` while its spec is invalid.
Each of its runs passes through states from the time that the run is due ([schedules](schedules.md)). The machine of
schedules (`+"`internal/lifecycle/schedule`"+`) decides each row when the test writes this page.

`)
	drawRuns(t, &b)
	fmt.Fprint(&b, `
### What holds at any time

- The name of a run is computed from its tick, which is its time by the schedule, or from the request for it. If the
  operator dies after it created a run and before its status write, the next pass finds the run by its name and does not
  start it again. One gap remains: if the run ends and somebody else deletes it in that time, it starts again.
- No run starts for a tick at or before the last stored tick, however the clock is set.
- If several runs are due, the latest starts, and the others are missed.
- Under Forbid and Replace, a last run that is missing from the cache counts as gone only after a live read. After an
  edit, a live read of all runs comes first.
- The operator deletes a run for the history only after it has stored the end of the run.
- An edit of the schedule or its zone applies from the edit on. Runs that were due before are not made up for. An edit
  of the template applies to the runs that start after it.
`)
	return b.String()
}

// draw writes the diagram of a state machine. The parameter `out` is the text of the transitions to the end of the
// diagram, which are its last lines.
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

// list writes a table with the transitions that the diagram combines or omits. Each of them starts from several phases.
func list(b *strings.Builder, edges []application.Edge) {
	fmt.Fprint(b, "The edges from several phases, and those that the diagram omits:\n\n| to | when | from |\n|---|---|---|\n")

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

// inside reports whether an edge connects only phases of a live attempt.
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
