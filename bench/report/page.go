// Package report shows a run of the bench: as tables on a terminal, and as the page docs/performance.md with its plots, which is written from a run's file
// alone.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/ranges"
)

// Plots is the directory of the plots beside the page.
const Plots = "performance"

// about says what each scenario does, before its table. How many there were of what is in the run's notes.
var about = map[string]string{
	figure.Lives: "Whole lives of a driver and five executors, more than the operator carries. Beside it the raw limit: the same writes of all actors (users, operator, nodes,\n" +
		"drivers), the operator's events included, made by plain clients with the same watches open and no operator, on the same API server. More of them are sent at a\n" +
		"time until that is no faster. News of executors is put off on purpose, until they have been quiet for 2 s and for 10 s at most, 30 s after the first one runs where an application begins, or two minutes where none does (twice that of more than 200), so\n" +
		"that many of them are one write: their lag has a row of its own.",
	figure.Burst:    "Driver-only applications, all created at once: what a submission costs.",
	figure.HalfRate: "Whole lives at half of the rate that was sustained: what latency is where nothing waits in a queue for long.",
	figure.Standing: "So many applications run, each with a driver and five executors; then some come and go beside them. Beside 10,000 the API server may take longer to give a\n" +
		"web UI's Service its address than the 5 s that a pass waits for it (`create services, failed`, below): it is asked again, and what is over by then goes without.",
	figure.Finished:  "Whole lives while applications that are over lie about.",
	figure.ColdStart: "The operator is started where all is there already.",
	figure.Failover:  "The replica that acts ends, and another takes over: once the lease has run out where it is killed, at once where it is asked to end.",
	figure.Deletion: "Applications with their drivers are deleted at once; and as many bare pods that each own a ConfigMap and a Service, which leaves all to the garbage\n" +
		"collector of Kubernetes.",
	figure.Hostile:  "Another namespace is full of pods and of large ConfigMaps that are none of the operator's.",
	figure.Fairness: "A single application is created while many new ones of another namespace wait.",
	figure.Submit: "The real spark-submit of each Spark line against the same API server, one at a time and four at once: what a submission costs without this operator, and in\n" +
		"those that run it.",
	figure.Micro: "The operator's pure parts alone, without an API server: `Step` decides, `Decode` and `Encode` read and write a status, `Decide` is all three, `Build`\n" +
		"and `Render` make the objects of a launch, `Apply` lays what users ask for over a pod (`nothing` is the copy of the pod that each measurement makes).",
}

// removed are scenarios that the bench had, with what they measured. The figures of older runs stay in those runs.
var removed = map[string]string{
	"replicas": "sharding, which is removed ([0025](decisions/0025-sharding-removed.md))",
}

// Page is the whole page of a run, which lies at file in the repository, and its plots by file name. The same run is the same page.
func Page(run *figure.Run, file string, verdicts []ranges.Verdict) (page []byte, drawn map[string][]byte) {
	var text strings.Builder
	text.WriteString("# Performance\n\n")
	fmt.Fprintf(&text, "Written by `make bench` from [%s](../%s): edit neither. [The bench](../bench/README.md) says how it measures, [tuning](tuning.md) what to set,\n[below](#what-the-figures-are) is what each figure is.\n\n", file, file)
	flaws(&text, run)
	setting(&text, run)
	bars(&text, verdicts)
	drawn = map[string][]byte{}
	all := plots(run)
	for _, t := range inOrder(tables(run)) {
		if removed[t.scenario] != "" {
			continue
		}
		fmt.Fprintf(&text, "## %s\n\n", heading(t.scenario))
		if says := about[t.scenario]; says != "" {
			text.WriteString(says + "\n\n")
		}
		t.markdown(&text)
		pictures(&text, all, t.scenario, drawn)
		notes(&text, run, t.scenario)
	}
	glossary(&text, run)
	peers(&text, run)
	text.WriteString("## Measuring it yourself\n\n```sh\nmake bench                                    # the full form, which writes this page\n" +
		"go run -C bench . -plan quick -check          # the quick form, under 3 minutes\n```\n")
	return []byte(text.String()), drawn
}

// inOrder has what readers look for last at the end.
func inOrder(all []*table) []*table {
	slices.SortStableFunc(all, func(a, b *table) int {
		return cmp.Compare(slices.Index(last, a.scenario), slices.Index(last, b.scenario))
	})
	return all
}

// last are the scenarios that stand at the page's end.
var last = []string{figure.Micro}

// heading is a scenario's name as a headline.
func heading(scenario string) string {
	if scenario == figure.Submit { // a program's name
		return scenario
	}
	names := map[string]string{
		figure.HalfRate: "Half the rate", figure.ColdStart: "Cold start", figure.Micro: "Micro benchmarks", figure.Finished: "Finished applications",
		figure.Standing: "Standing applications",
	}
	if name, there := names[scenario]; there {
		return name
	}
	return strings.ToUpper(scenario[:min(1, len(scenario))]) + scenario[min(1, len(scenario)):]
}

// setting says when, on what and with which versions.
func setting(text *strings.Builder, run *figure.Run) {
	text.WriteString("## What was measured, and on what\n\n")
	markdownRow(text, []string{"", ""})
	markdownRow(text, []string{"---", "---"})
	markdownRow(text, []string{"when", run.Began.UTC().Format("2006-01-02 15:04 UTC")})
	if run.Took != "" {
		markdownRow(text, []string{"took", run.Took})
	}
	if run.Commit != "" {
		markdownRow(text, []string{"commit", "`" + run.Commit + "`"})
	}
	for _, facts := range []map[string]string{run.Machine, run.Versions} {
		for _, name := range slices.Sorted(maps.Keys(facts)) {
			markdownRow(text, []string{name, facts[name]})
		}
	}
	text.WriteString("\nThe operator shares these cores with etcd, the API server, the controller manager, the nodes and drivers that are simulated, and the load. MB are 10⁶ bytes; p99\n" +
		"is what 99 of 100 do not pass; memory `at rest` is after a forced collection of garbage, `peak` is not; `queue depth, most` is the most keys that waited in all of\n" +
		"the operator's queues whenever its metrics were read: deeper ones in between are not seen. Ratios within one run mean more than any figure alone.\n\n")
	if run.Setting != "" {
		text.WriteString(run.Setting + "\n\n")
	}
	if len(run.Worlds) > 0 {
		var shared []string
		for _, names := range run.Worlds {
			shared = append(shared, strings.Join(names, ", "))
		}
		fmt.Fprintf(text, "These have shared an API server, one after the other: %s. Every other scenario had one of its own, on the same machine in the same run.\n\n", strings.Join(shared, "; "))
	}
	for _, t := range tables(run) {
		if what := removed[t.scenario]; what != "" {
			fmt.Fprintf(text, "The scenario %s of this run measured %s. Its figures are in the run alone.\n\n", t.scenario, what)
		}
	}
}

// flaws says what keeps a run from being what a page should be of.
func flaws(text *strings.Builder, run *figure.Run) {
	if run.Plan != "full" {
		fmt.Fprintf(text, "**This is a %s run, not the full one: sizes are small, and what it does not measure is missing below.**\n\n", run.Plan)
	}
	if dirty(run) {
		text.WriteString("**What was measured differs from the commit that is named: there were changes that are in none.**\n\n")
	}
	if len(run.Failed) > 0 {
		fmt.Fprintf(text, "**Failed in this run: %s. What there is of them below was measured before they failed.**\n\n", strings.Join(run.Failed, ", "))
	}
}

// bars writes what was demanded and what became of it.
func bars(text *strings.Builder, verdicts []ranges.Verdict) {
	if len(verdicts) == 0 {
		return
	}
	text.WriteString("## The bars\n\n")
	markdownRow(text, []string{"demanded", "figure", "measured", "range", ""})
	markdownRow(text, []string{"---", "---", "---:", "---", "---"})
	missing := 0
	for len(verdicts) > 0 {
		of := verdicts[0].Range
		n := max(1, len(of.Each)) // its verdicts stand one after the other (ranges.Check)
		each := verdicts[:n]
		verdicts = verdicts[n:]
		var rows [][]string
		for _, v := range each {
			measured, mark := judged(v)
			if mark == notMeasured {
				missing++
			}
			rows = append(rows, []string{of.Why, v.What(), measured, of.Wanted(), mark})
		}
		if of.Min == nil && of.Max == nil {
			continue // it is in its table
		}
		if alike := !slices.ContainsFunc(rows, func(row []string) bool { return row[2] != rows[0][2] || row[4] != rows[0][4] }); alike && n > 1 {
			rows = rows[:1]
			rows[0][1] = ranges.Verdict{Range: of, ID: of.Figure}.What() + ", of each of " + figure.Count(n)
		}
		for _, row := range rows {
			markdownRow(text, row)
		}
	}
	text.WriteString("\n")
	if missing > 0 {
		fmt.Fprintf(text, "%d figures that a full run has are not in this one.\n\n", missing)
	}
}

// notMeasured is what became of a range whose figure a run does not have.
const notMeasured = "not measured"

// judged is what was measured, and what became of the range.
func judged(v ranges.Verdict) (measured, mark string) {
	measured = "-"
	if v.Known {
		measured = figure.Format(v.Value, v.Unit)
	}
	switch {
	case strings.HasPrefix(v.Problem, ranges.Missing):
		return measured, notMeasured
	case !v.OK():
		return measured, "**missed**"
	}
	return measured, "holds"
}

// pictures shows the plots of a scenario, and draws them.
func pictures(text *strings.Builder, all []*plot, scenario string, drawn map[string][]byte) {
	for _, p := range all {
		if p.scenario == scenario {
			drawn[p.file()] = p.svg()
			fmt.Fprintf(text, "![%s](%s/%s)\n\n", p.title, Plots, p.file())
		}
	}
}

// notes are what is to be known of a scenario.
func notes(text *strings.Builder, run *figure.Run, scenario string) {
	said := false
	for _, n := range run.Notes {
		if n.Scenario == scenario {
			text.WriteString("- " + n.Text + "\n")
			said = true
		}
	}
	if said {
		text.WriteString("\n")
	}
}
