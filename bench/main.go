// Command bench measures the operator against the API server itself, on one machine, all that is compared in one run: how many applications a second it
// carries, from creation to the end, what it writes, what memory and CPU it takes; beside the same writes sent by plain clients, which is the most that this
// API server would do, and beside the real spark-submit.
//
// It starts control planes of its own, plays the nodes and Spark on them, and ends everything that it started. All load stays on loopback, has an end, and a
// limit of time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/ranges"
	"github.com/sparkoperator/spark-operator/bench/report"
	"github.com/sparkoperator/spark-operator/bench/scenario"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// options are the command line.
type options struct {
	plan  string
	only  string // names of scenarios, with commas between; empty for all of the plan
	out   string // directory that the run is written to
	check bool   // hold the figures to the ranges of the plan
	keeps string // a run's file, whose figures are added to the ranges of its plan instead of a measurement
	page  bool   // write docs/performance.md
	into  string // a run's file that takes up what is measured, in the place of what it has of the same scenarios
	world world.Options

	load      string // a description of load (package load) that is carried instead of a plan
	schedules int    // measure so many schedules instead of a plan
	kill      int    // runs after which the operator of the schedules is killed; 0 for never
}

func main() {
	var o options
	flag.StringVar(&o.plan, "plan", "full", "what is measured: full, quick, or tiny, which shows that what quick leaves out can be measured")
	flag.StringVar(&o.only, "only", "", "scenarios of the plan, with commas between (default: all)")
	flag.StringVar(&o.out, "out", "", "directory to write the run to, as JSON (default: it is printed only)")
	flag.BoolVar(&o.check, "check", false, "fail where a figure is not in its range")
	flag.StringVar(&o.keeps, "record", "", "a run's file: add what it measured to the ranges of its plan, and measure nothing")
	flag.BoolVar(&o.page, "page", false, "write docs/performance.md from the newest run of bench/runs")
	flag.StringVar(&o.into, "into", "", "a run's file: put what is measured of the scenarios of -only in the place of what that run has of them")
	flag.StringVar(&o.load, "load", "", "a description of load, such as loads/day.yaml, to carry instead of a plan")
	flag.IntVar(&o.schedules, "schedules", 0, "measure so many schedules that are due at one minute, instead of a plan")
	flag.IntVar(&o.kill, "kill", 0, "with -schedules: kill the operator once so many runs are there; another goes on")
	flag.StringVar(&o.world.Root, "root", "..", "the repository's root")
	flag.StringVar(&o.world.Operator, "operator", "", "spark-operator binary (default: built)")
	flag.StringVar(&o.world.Local, "sparklocal", os.Getenv("SPARKLOCAL"), "sparklocal binary (default: built)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// start does what the command line asks for.
func start(ctx context.Context, o options, out io.Writer) error {
	if o.keeps != "" {
		file, err := ranges.RecordIn(o.world.Root, o.keeps)
		if err == nil {
			fmt.Fprintf(out, "the run is in %s\n", file)
		}
		return err
	}
	if o.held() { // not after an hour
		if _, err := ranges.Of(o.plan); err != nil {
			return err
		}
	}
	steps, err := o.steps()
	if err != nil {
		return err
	}
	if o.into != "" && o.only == "" {
		return errors.New("-into takes up scenarios that -only names")
	}
	run, err := measure(ctx, o, steps, out)
	if o.into != "" {
		if err != nil {
			return err
		}
		return o.again(run, out)
	}
	return errors.Join(err, o.keep(run, out)) // what was measured before something failed is worth keeping
}

// held reports whether the figures are held to ranges.
func (o options) held() bool { return o.check && o.schedules == 0 && o.load == "" }

// names are those of the scenarios that are asked for; none for all.
func (o options) names() []string {
	return strings.FieldsFunc(o.only, func(c rune) bool { return c == ',' })
}

// steps are what is measured.
func (o options) steps() ([]scenario.Step, error) {
	if o.schedules > 0 {
		return []scenario.Step{scenario.SchedulesStep(o.schedules, o.kill)}, nil
	}
	if o.load != "" {
		text, err := os.ReadFile(o.load)
		if err != nil {
			return nil, err
		}
		spec, err := load.Parse(text)
		return []scenario.Step{scenario.LoadStep(spec)}, err
	}
	all, err := scenario.Plan(o.plan, o.world.Root)
	if err != nil {
		return nil, err
	}
	return scenario.Pick(all, o.names())
}

// measure does the steps and returns what they measured, also where some failed.
func measure(ctx context.Context, o options, steps []scenario.Step, out io.Writer) (run *figure.Run, err error) {
	run = &figure.Run{
		Began: time.Now().UTC(), Plan: o.label(), Commit: commit(o.world.Root), Machine: machine(), Versions: versions(o.world.Root),
		Setting: world.Setting(node.Nodes), Worlds: together(steps),
	}
	binaries, err := os.MkdirTemp("", "spark-bench-bin-")
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(binaries)) }()
	built, err := o.world.Build(ctx, binaries)
	if err != nil {
		return run, err
	}
	worlds := func(ctx context.Context, s scenario.Step) (*world.World, error) {
		of := built
		of.Scheduler, of.Bodies = s.Scheduler, s.Bodies
		return world.New(ctx, of, out)
	}
	if o.world.Operator != "" {
		run.Versions["operator"] = "a binary that was given, of " + revision(o.world.Operator)
	}
	err = errors.Join(scenario.Run(ctx, steps, worlds, run, out), run.Err())
	if sparks := submitted(run); len(sparks) > 0 {
		run.Versions["Spark, of spark-submit"] = strings.Join(sparks, ", ")
	}
	run.Took = time.Since(run.Began).Round(time.Second).String()
	return run, err
}

// together are the steps that share a control plane, of each control plane that several share.
func together(steps []scenario.Step) (worlds [][]string) {
	for i := 0; i < len(steps); {
		end, names := i, []string(nil)
		for ; end < len(steps) && (end == i || steps[i].World != "" && steps[end].World == steps[i].World); end++ {
			names = append(names, steps[end].Name)
		}
		if i = end; len(names) > 1 {
			worlds = append(worlds, names)
		}
	}
	return worlds
}

// keep prints a run, writes it, and holds it to its ranges.
func (o options) keep(run *figure.Run, out io.Writer) error {
	if err := report.Print(out, run); err != nil {
		return err
	}
	for _, n := range run.Notes {
		fmt.Fprintf(out, "%s: %s\n", n.Scenario, n.Text)
	}
	for _, one := range run.Outliers {
		fmt.Fprint(out, one)
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return err
		}
		file := filepath.Join(o.out, ranges.RunName(run)+".json")
		if err := run.Save(file); err != nil {
			return err
		}
		fmt.Fprintf(out, "the run is in %s\n", file)
	}
	var err error
	if o.page {
		err = report.Write(o.world.Root)
	}
	if o.held() {
		err = errors.Join(err, o.hold(run, out))
	}
	return err
}

// again has a run take up what was measured of some of its steps anew.
func (o options) again(later *figure.Run, out io.Writer) error {
	run, err := figure.Load(o.into)
	if err != nil {
		return err
	}
	if run.Plan != o.plan {
		return fmt.Errorf("%s is a run of the plan %s, not %s", o.into, run.Plan, o.plan)
	}
	run.Again(o.names(), later)
	if err := run.Save(o.into); err != nil {
		return err
	}
	o.only, o.out = "", ""
	return o.keep(run, out)
}

// hold prints how a run is in the ranges of its plan. One that is outside of a range is an error.
func (o options) hold(run *figure.Run, out io.Writer) error {
	spec, err := ranges.Of(o.plan)
	if err != nil {
		return err
	}
	if len(o.names()) > 0 {
		all, err := scenario.Plan(o.plan, o.world.Root)
		if err != nil {
			return err
		}
		spec = spec.Only(func(id string) bool { return o.measures(all, id) })
	}
	verdicts := ranges.Check(run, spec)
	if err := ranges.Print(out, verdicts); err != nil {
		return err
	}
	if n := ranges.Failed(verdicts); n > 0 {
		return fmt.Errorf("%d of %d ranges do not hold", n, len(verdicts))
	}
	return nil
}

// measures reports whether a figure is measured by those steps of a plan that are asked for: not where one of its scenario is left out. A step is named as its
// scenario, or so with more after a dash.
func (o options) measures(all []scenario.Step, id string) bool {
	of, _, _ := strings.Cut(id, "/")
	names := o.names()
	return !slices.ContainsFunc(all, func(s scenario.Step) bool {
		return (s.Name == of || strings.HasPrefix(s.Name, of+"-")) && !slices.Contains(names, s.Name)
	})
}

// label names what is measured. A part of a plan is no run of the plan: the page is not written from it.
func (o options) label() string {
	switch {
	case o.schedules > 0:
		return "schedules"
	case o.load != "":
		return "load"
	case o.only == "":
		return o.plan
	}
	return o.plan + "-" + strings.ReplaceAll(o.only, ",", "-")
}
