// Command testrun runs the project's tests part by part. It prints the result and the duration of each part, and ends
// with one line that counts all tests: "N passed, N failed, N skipped". If a test failed or no test passed, its exit
// code is 1.
//
// A part is either a run of `go test -json` in one of the modules, or a check (a script). Testrun counts the tests of a
// module individually, and a check as one test. A part that cannot be built counts as a failure. The parts run one
// after the other, because a machine may have only two cores.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// part is one step of the run.
type part struct {
	name  string
	about string
	dir   string   // relative to the repository's root
	check []string // a command counted as one test; nil for go test
	args  []string // further arguments of go test
	env   []string // further environment of go test
}

// parts lists the parts in the order in which they run. Parts that find mistakes quickly come first. The last parts
// need the embedded Kubernetes.
var parts = []part{
	{name: "setup", about: "build the embedded Kubernetes and the images, unless they are cached", check: []string{"tools/setup.sh"}},
	{name: "generated", about: "check that generated files match their sources", check: []string{"tools/verify-generated.sh"}},
	{name: "lint", about: "run golangci-lint on every module and Vale on the prose", check: []string{"tools/lint.sh"}},
	{name: "docs", about: "build the documentation site, which checks links", check: []string{"tools/docs.sh"}},
	{name: "tools", about: "test this program, the generators and the prose rules", dir: "tools", args: []string{"./..."}},
	{name: "main", about: "test the library and the operator with a real API server", dir: ".",
		// Tests on an API server mostly wait, so more packages and tests than the number of cores run at the same time.
		// With as many packages as cores, the part took a third longer. The packages that take longest come first, so
		// that the other packages run while they run.
		// `make e2e` runs the skipped test, which starts real Spark.
		args: []string{"-timeout=25m", "-p=4", "-parallel=16", "-skip=^TestOnSpark$", "./internal/engine/controller", "./internal/kinds/configured", "./internal/process/operator", "./..."},
		// The operator reads cached dependents without copying them; the detector panics if one of them is changed.
		// LIVES multiplies the number of simulated lives of an application, which is small by default.
		env: []string{"KUBE_CACHE_MUTATION_DETECTOR=true", "LIVES=4"}},
	{name: "client", about: "test the published Go clients with a real API server", dir: "client", args: []string{"./..."},
		env: []string{"KUBE_CACHE_MUTATION_DETECTOR=true"}},
	{name: "local", about: "test the embedded Kubernetes itself", dir: "local", args: []string{"-timeout=20m", "./..."}},
	{name: "kube", about: "test the volume provisioner inside the Kubernetes programs", dir: "local/kube", args: []string{"-trimpath", "./localpath"}},
	// `make e2e` runs the skipped test, because it takes two minutes. It checks that every scenario can be measured.
	{name: "bench", about: "test the load harness, and lives with wide bounds", dir: "bench", args: []string{"-timeout=20m", "-p=1", "-skip=^TestTinyPlanMeasuresEveryBound$", "./..."}},
	{name: "e2e", about: "test Helm, the operator and real Spark on a cluster with a node", dir: "test/e2e", args: []string{"-timeout=35m", "-parallel=3", "./..."}},
}

// maxSlow is the maximum number of slow tests that testrun lists for a part. slowSeconds is the minimum duration of a
// slow test in seconds.
const maxSlow, slowSeconds = 10, 5.0

// maxFailures is the maximum number of failed tests that testrun lists at its end, maxReports the maximum number of
// reports of each, and maxReason the maximum number of lines of a report. Of a longer report, which often is the output
// of a program, testrun lists the firstLines and the end, where a program writes why it failed.
const maxFailures, maxReports, maxReason, firstLines = 20, 3, 12, 3

// count is the result of one part.
type count struct{ passed, failed, skipped int }

func (c *count) add(o count) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
}

func main() {
	only := flag.String("only", "", "run only these parts, separated by commas")
	skip := flag.String("skip", "", "leave out these parts, separated by commas")
	root := flag.String("root", "..", "root directory of the repository")

	flag.Parse()

	if err := os.Chdir(*root); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(2)
	}

	chosen, err := choose(parts, *only, *skip)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(2)
	}
	// With Go's default, garbage collection takes a fifth of the CPU time of the API servers that the tests start.
	if os.Getenv("GOGC") == "" {
		_ = os.Setenv("GOGC", "400")
	}
	var total count
	began := time.Now()

	var rows, failures []string
	for i, p := range chosen {
		fmt.Printf("\n=== %d/%d %s: %s\n", i+1, len(chosen), p.name, p.about)

		start, before := time.Now(), readProcessors()
		c, reasons := p.run(os.Stdout)
		total.add(c)

		failures = append(failures, reasons...)

		took, after := time.Since(start).Round(100*time.Millisecond), readProcessors()
		rows = append(rows, fmt.Sprintf("%-10s %8s %5d passed %3d failed %3d skipped%s", p.name, took, c.passed, c.failed, c.skipped, after.busySince(before)))
		fmt.Println("--- " + rows[len(rows)-1])
	}

	rows = append(rows, fmt.Sprintf("%-10s %8s", "all", time.Since(began).Round(100*time.Millisecond)))

	if len(failures) > 0 { // they are far above among the output of everything else
		fmt.Printf("\n%s", strings.Join(failures[:min(len(failures), maxFailures)], ""))
	}

	fmt.Printf("\n%s\n\n%d passed, %d failed, %d skipped\n", strings.Join(rows, "\n"), total.passed, total.failed, total.skipped)

	if total.failed > 0 || total.passed == 0 {
		os.Exit(1)
	}
}

// processors is the time in ticks of the kernel that all processors of the machine have spent since its start, and the
// part of it in which they were idle.
type processors struct{ all, idle uint64 }

// readProcessors returns zero where there is no /proc/stat.
func readProcessors() processors {
	data, _ := os.ReadFile("/proc/stat")
	return parseProcessors(string(data))
}

// parseProcessors reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, and two
// times of guests, which user and nice include (proc_stat(5)).
func parseProcessors(stat string) processors {
	var p processors

	line, _, _ := strings.Cut(stat, "\n")
	for i, field := range strings.Fields(line) {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil || i > 8 {
			continue
		}

		p.all += ticks
		if i == 4 || i == 5 {
			p.idle += ticks
		}
	}
	return p
}

// busySince is the end of a part's row: a part that leaves processors idle could run beside another one.
func (p processors) busySince(before processors) string {
	if p.all <= before.all {
		return ""
	}
	return fmt.Sprintf(" %3d %% busy", 100-100*(p.idle-before.idle)/(p.all-before.all))
}

// choose returns the parts to run. These are the parts whose names are in the list selected, or all parts if that list
// is empty. Parts whose names are in the list skipped are left out. In both lists, commas or spaces separate the names.
// An unknown name is an error.
func choose(all []part, selected, skipped string) ([]part, error) {
	names := func(list string) ([]string, error) {
		wanted := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
		for _, name := range wanted {
			if !slices.ContainsFunc(all, func(p part) bool { return p.name == name }) {
				return nil, fmt.Errorf("unknown part %q: the parts are %s", name, strings.Join(partNames(all), ", "))
			}
		}
		return wanted, nil
	}

	in, err := names(selected)
	if err != nil {
		return nil, err
	}

	out, err := names(skipped)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(p part) bool {
		return len(in) > 0 && !slices.Contains(in, p.name) || slices.Contains(out, p.name)
	}), nil
}

func partNames(all []part) []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	return names
}

// run runs the part. It returns its result, and what its failed tests reported.
func (p part) run(out io.Writer) (count, []string) {
	if p.check != nil {
		cmd := exec.Command(p.check[0], p.check[1:]...)

		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(out, "FAIL %s: %v\n", p.name, err)
			return count{failed: 1}, nil
		}
		return count{passed: 1}, nil
	}
	// The option -count=1 disables cached results, because go test does not detect changes of the programs that tests
	// run (the operator, the chart, the cluster). Vet is off, because the part lint runs all of its analyses; for changed
	// packages and all that import them, it would type-check everything once more.
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-vet=off"}, p.args...)...)
	cmd.Dir, cmd.Stderr, cmd.Env = p.dir, out, append(os.Environ(), p.env...)

	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	if err != nil {
		fmt.Fprintf(out, "FAIL %s: %v\n", p.name, err)
		return count{failed: 1}, nil
	}

	c, reasons := follow(pipe, out)
	if err := cmd.Wait(); err != nil && c.failed == 0 {
		fmt.Fprintf(out, "FAIL %s: %v\n", p.name, err)
		c.failed++
	}
	return c, reasons
}

// event is one line of `go test -json` (cmd/test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// follow counts the tests in a stream of events. It prints a line for each package, and the output of every failure. It
// returns what each failed test reported.
func follow(in io.Reader, out io.Writer) (c count, reasons []string) {
	output := map[string][]string{} // output so far, by package and test
	failures := map[string]int{}    // failed tests, by package
	seconds := map[string]float64{} // duration of each test, by package and test
	defer func() { printSlowest(out, seconds) }()

	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')

		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil: // a build error, in plain text
			_, _ = out.Write(line)
		default:
			if e.Action == "fail" {
				reasons = append(reasons, reason(e, output[e.Package+" "+e.Test])...)
			}

			c.countEvent(e, output, failures, out)

			if e.Test != "" && e.Elapsed >= slowSeconds {
				seconds[e.Package+" "+e.Test] = e.Elapsed
			}
		}

		if err != nil {
			return c, reasons
		}
	}
}

// reported matches the first line of what a test reports.
var reported = regexp.MustCompile(`^\s+\S+_test\.go:[0-9]+: `)

// reason returns what a failed test reported, without what it printed before; nothing for a test that failed because of
// a subtest.
func reason(e event, output []string) []string {
	if e.Test == "" || !slices.ContainsFunc(output, reported.MatchString) {
		return nil
	}

	var reports [][]string
	for _, line := range output {
		switch {
		case reported.MatchString(line):
			reports = append(reports, []string{line})
		case len(reports) > 0:
			last := &reports[len(reports)-1]

			*last = append(*last, line)
		}
	}

	var text strings.Builder
	fmt.Fprintf(&text, "FAIL %s %s\n", path.Base(e.Package), e.Test)

	for _, report := range reports[:min(len(reports), maxReports)] {
		if cut := len(report) - maxReason; cut > 0 {
			report = slices.Concat(report[:firstLines], []string{"        ..."}, report[firstLines+cut:])
		}

		for _, line := range report {
			text.WriteString(strings.TrimRight(line[:min(len(line), 300)], "\n") + "\n")
		}
	}
	return []string{text.String()}
}

// printSlowest prints the tests that took longest. It omits a test with slow subtests, because that test only waited
// for them.
func printSlowest(out io.Writer, seconds map[string]float64) {
	for _, name := range slices.Collect(maps.Keys(seconds)) {
		for parent := path.Dir(name); strings.Contains(parent, " "); parent = path.Dir(parent) {
			delete(seconds, parent)
		}
	}

	names := slices.SortedFunc(maps.Keys(seconds), func(a, b string) int {
		return cmp.Or(cmp.Compare(seconds[b], seconds[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), maxSlow)] {
		folder, test, _ := strings.Cut(name, " ")
		fmt.Fprintf(out, "slow %6.1fs %s %s\n", seconds[name], path.Base(folder), test)
	}
}

// countEvent counts one event. A test with subtests counts as one test, in addition to its subtests. A package counts
// only if it fails without a failed test, which means that it did not build or that it panicked.
func (c *count) countEvent(e event, output map[string][]string, failures map[string]int, out io.Writer) {
	key := e.Package + " " + e.Test

	printOutput := func() {
		for _, text := range output[key] {
			fmt.Fprint(out, text)
		}
	}
	switch e.Action {
	case "output", "build-output":
		output[key] = append(output[key], e.Output)
		if e.Action == "build-output" {
			fmt.Fprint(out, e.Output)
		}
		return
	case "pass":
		if e.Test != "" {
			c.passed++
		} else {
			fmt.Fprintf(out, "ok   %s %.1fs\n", e.Package, e.Elapsed)
		}
	case "skip":
		if e.Test != "" {
			c.skipped++

			printOutput()
		}
	case "fail":
		if e.Test != "" {
			failures[e.Package]++
			c.failed++

			printOutput()
		} else {
			if failures[e.Package] == 0 {
				c.failed++

				printOutput()
			}

			fmt.Fprintf(out, "FAIL %s %.1fs\n", e.Package, e.Elapsed)
		}
	default:
		return
	}

	delete(output, key)
}
