// Command testrun runs the project's tests part by part, tells how each went and how long it took, and ends with one line that counts
// them all: "N passed, N failed, N skipped". It exits with 1 when anything failed.
//
// A part is either `go test -json` in one of the modules, whose tests are counted one by one, or a check (a script), counted as one test.
// A part that cannot be built counts as a failure. The parts run one after the other: two cores are all there is to expect.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
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

// parts are in the order in which a mistake is cheapest to find. The last ones need the embedded Kubernetes.
var parts = []part{
	{name: "setup", about: "build the embedded Kubernetes and the images, or find them in the cache", check: []string{"tools/setup.sh"}},
	{name: "generated", about: "generated files are as the sources say", check: []string{"tools/verify-generated.sh"}},
	{name: "lint", about: "golangci-lint over every module, Vale over the prose", check: []string{"tools/lint.sh"}},
	{name: "tools", about: "this program and the generators' own", dir: "tools", args: []string{"./..."}},
	{name: "main", about: "library and operator, with a real API server", dir: ".",
		// Tests on an API server mostly wait: more of them at once than there are cores leave none idle.
		args: []string{"-timeout=25m", "-parallel=6", "./..."},
		// client-go panics where a cached object is changed: the operator reads its children without copying them.
		// And more simulated lives than a developer's loop has.
		env: []string{"KUBE_CACHE_MUTATION_DETECTOR=true", "LIVES=3"}},
	{name: "local", about: "the embedded Kubernetes itself", dir: "local", args: []string{"-timeout=20m", "./..."}},
	{name: "kube", about: "the volume provisioner inside the Kubernetes programs", dir: "local/kube", args: []string{"-trimpath", "./localpath"}},
	{name: "bench", about: "the load harness: every scenario at a tiny size, and lives held to wide bounds", dir: "bench", args: []string{"-timeout=20m", "-p=1", "./..."}},
	{name: "e2e", about: "Helm, the operator and real Spark on a cluster with a node", dir: "test/e2e", args: []string{"-timeout=35m", "./..."}},
}

// count is what one part came to.
type count struct{ passed, failed, skipped int }

func (c *count) add(o count) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
}

func main() {
	only := flag.String("only", "", "run these parts, separated by commas")
	skip := flag.String("skip", "", "leave these parts out, separated by commas")
	root := flag.String("root", "..", "the repository's root")
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
	var total count
	began := time.Now()
	var rows []string
	for i, p := range chosen {
		fmt.Printf("\n=== %d/%d %s: %s\n", i+1, len(chosen), p.name, p.about)
		start := time.Now()
		c := p.run(os.Stdout)
		total.add(c)
		took := time.Since(start).Round(100 * time.Millisecond)
		rows = append(rows, fmt.Sprintf("%-10s %8s %5d passed %3d failed %3d skipped", p.name, took, c.passed, c.failed, c.skipped))
		fmt.Println("--- " + rows[len(rows)-1])
	}
	rows = append(rows, fmt.Sprintf("%-10s %8s", "all", time.Since(began).Round(100*time.Millisecond)))
	fmt.Printf("\n%s\n\n%d passed, %d failed, %d skipped\n", strings.Join(rows, "\n"), total.passed, total.failed, total.skipped)
	if total.failed > 0 || total.passed == 0 {
		os.Exit(1)
	}
}

// choose keeps the parts that are asked for, and refuses a name that is none.
func choose(all []part, only, skip string) ([]part, error) {
	names := func(list string) ([]string, error) {
		wanted := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
		for _, name := range wanted {
			if !slices.ContainsFunc(all, func(p part) bool { return p.name == name }) {
				return nil, fmt.Errorf("no part is named %q", name)
			}
		}
		return wanted, nil
	}
	in, err := names(only)
	if err != nil {
		return nil, err
	}
	out, err := names(skip)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(p part) bool {
		return len(in) > 0 && !slices.Contains(in, p.name) || slices.Contains(out, p.name)
	}), nil
}

func (p part) run(out io.Writer) count {
	if p.check != nil {
		cmd := exec.Command(p.check[0], p.check[1:]...)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(out, "FAIL %s: %v\n", p.name, err)
			return count{failed: 1}
		}
		return count{passed: 1}
	}
	// Never a cached pass: what the tests run as programs (the operator, the chart, the cluster) is not among what go test looks at.
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1"}, p.args...)...)
	cmd.Dir, cmd.Stderr, cmd.Env = p.dir, out, append(os.Environ(), p.env...)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(out, "FAIL %s: %v\n", p.name, err)
		return count{failed: 1}
	}
	c := follow(pipe, out)
	if err := cmd.Wait(); err != nil && c.failed == 0 {
		fmt.Fprintf(out, "FAIL %s: %v\n", p.name, err)
		c.failed++
	}
	return c
}

// event is one line of `go test -json` (cmd/test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// follow counts the tests in a stream of events. It prints a line for each package, and the output of whatever failed.
func follow(in io.Reader, out io.Writer) count {
	var c count
	said := map[string][]string{} // output so far, by package and test
	failures := map[string]int{}  // failed tests, by package
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil: // a build error, in plain text
			_, _ = out.Write(line)
		default:
			c.see(e, said, failures, out)
		}
		if err != nil {
			return c
		}
	}
}

// see counts one event. A parent test counts like its subtests; a package counts only when it fails without a failed test (it did not
// build, or it panicked).
func (c *count) see(e event, said map[string][]string, failures map[string]int, out io.Writer) {
	key := e.Package + " " + e.Test
	tell := func() {
		for _, text := range said[key] {
			fmt.Fprint(out, text)
		}
	}
	switch e.Action {
	case "output", "build-output":
		said[key] = append(said[key], e.Output)
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
			tell()
		}
	case "fail":
		if e.Test != "" {
			failures[e.Package]++
			c.failed++
			tell()
		} else {
			if failures[e.Package] == 0 {
				c.failed++
				tell()
			}
			fmt.Fprintf(out, "FAIL %s %.1fs\n", e.Package, e.Elapsed)
		}
	default:
		return
	}
	delete(said, key)
}
