// Command bench measures the operator against an API server: the number of applications that it manages each second
// from creation to end, its writes, and its memory and CPU. The command compares the operator with a plain client-go
// program and with the real spark-submit. See README.md.
//
// The command starts its own control planes, simulates the nodes and Spark on them, and ends everything that it
// started. All load stays on loopback and has a time limit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sparkoperator/spark-operator/bench/plain"
	"github.com/sparkoperator/spark-operator/bench/report"
	"github.com/sparkoperator/spark-operator/bench/scenario"
)

// options holds the options of the command line.
type options struct {
	plan, out, root string
	only            []string
	check           bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// command runs the command line. The hidden command plain runs the program that the operator is compared with.
func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == plain.Command {
		return plain.Main(ctx, args[1])
	}

	o := options{root: ".."}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.plan, "plan", "full", "plan to run: full, quick, or tiny (each scenario at its smallest size); an empty name runs none")
	only := flags.String("only", "", "run only these scenarios of the plan, separated by commas (default: all)")
	flags.StringVar(&o.out, "out", "", "write the run as JSON to this directory")
	flags.BoolVar(&o.check, "check", false, "fail if a measurement is out of its bound")

	page := flags.Bool("page", false, "write docs/performance.md from the runs in bench/runs")
	if err := flags.Parse(args); err != nil {
		return err
	}

	o.only = strings.FieldsFunc(*only, func(c rune) bool { return c == ',' })

	var err error
	if o.plan != "" {
		_, err = o.measure(ctx, out)
	}

	if *page {
		err = errors.Join(err, report.Write(o.root))
	}
	return err
}

// measure runs the scenarios of a plan. If one fails, measure returns the measurements of the others with the error.
func (o options) measure(ctx context.Context, out io.Writer) (run *report.Run, err error) {
	size, ok := scenario.Plans[o.plan]
	if !ok {
		return nil, fmt.Errorf("unknown plan %q: use full, quick or tiny", o.plan)
	}

	spec, err := report.Bounds(o.plan)
	if err != nil {
		return nil, err // before the scenarios, which take an hour
	}

	if len(o.only) > 0 {
		spec = spec.Select(o.only)
	}

	dir, err := os.MkdirTemp("", "spark-bench-bin-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	binaries := scenario.Binaries{Root: o.root, Operator: os.Getenv("SPARK_OPERATOR"), Local: os.Getenv("SPARKLOCAL")}
	if err := binaries.Build(ctx, dir); err != nil {
		return nil, err
	}

	run = &report.Run{Began: time.Now().UTC().Round(time.Second), Plan: o.plan, Machine: machine()}

	err = scenario.Run(ctx, size, o.only, binaries, run, commit(o.root), out)
	for _, f := range run.Measurements {
		fmt.Fprintf(out, "%-80s %s\n", f.ID, report.Format(f.Value, f.Unit))
	}

	for _, note := range run.Notes {
		fmt.Fprintln(out, note)
	}

	if o.out != "" {
		name := strings.Join(append([]string{run.Began.Format("2006-01-02T150405Z"), o.plan}, o.only...), "-") + ".json"
		err = errors.Join(err, os.MkdirAll(o.out, 0o755), run.Save(filepath.Join(o.out, name)))
	}

	if failed := report.Print(out, report.Check(run, spec)); o.check && failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d measurements are missing or out of their bounds: see the lines above", failed))
	}
	return run, err
}

// machine describes the machine of a run. Facts that cannot be read are left out.
func machine() map[string]string {
	facts := map[string]string{"cores": strconv.Itoa(runtime.NumCPU()), "Go": runtime.Version()}

	text, _ := os.ReadFile("/proc/cpuinfo")
	if found := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(text); found != nil {
		facts["cpuinfo"] = string(found[1])
	}
	return facts
}

// commit returns the Git commit that is measured, with a mark if the working tree has uncommitted changes. Outside a
// Git repository it returns an empty string.
func commit(root string) string {
	text, err := exec.Command("git", "-C", root, "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "" // an unpacked archive is no Git repository
	}
	return strings.TrimSpace(string(text))
}
