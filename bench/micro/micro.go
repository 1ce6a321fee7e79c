// Package micro runs the benchmarks of the operator's pure parts and reads what they print: how long one decision takes and what it allocates, apart from
// any API server.
package micro

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Packages of the main module whose benchmarks are run, and Pattern, which says which of them.
var Packages = []string{"./lifecycle/application", "./spark/submit", "./spark/overlay", "./dialect/sparkoperator/application", "./dialect/apache/application"}

// module begins the main module's packages.
const module = "github.com/sparkoperator/spark-operator/"

// Pattern is what `go test -bench` is given: each by its whole name.
const Pattern = "^(BenchmarkStep|BenchmarkBuild|BenchmarkApply|BenchmarkDecode|BenchmarkEncode|BenchmarkDecide|BenchmarkRender)$"

// The cases of the figures: one for each column that a benchmark prints.
const (
	Time        = "time"
	Memory      = "memory"
	Allocations = "allocations"
)

// units are the columns of a benchmark's line, by what follows the number.
var units = map[string]struct{ column, unit string }{
	"ns/op": {Time, "ns"}, "B/op": {Memory, "B"}, "allocs/op": {Allocations, ""},
}

// Run runs the benchmarks of the main module at root, each for benchtime (as `go test -benchtime`: "1s", "100x"), and returns their figures. What go
// prints is in the error of a run that fails.
func Run(ctx context.Context, root, benchtime string) ([]figure.Figure, error) {
	args := append([]string{"test", "-run", "^$", "-bench", Pattern, "-benchtime", benchtime}, Packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	printed, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, printed)
	}
	figures, err := Parse(bytes.NewReader(printed))
	if err == nil && len(figures) == 0 {
		err = fmt.Errorf("go %s printed no benchmark", strings.Join(args, " "))
	}
	return figures, err
}

// Parse reads what `go test -bench` prints. A figure's Name is the first two folders of the package, the benchmark and its case, as in "lifecycle/application Step
// 5-executors"; lines that are no benchmark's are passed over.
func Parse(in io.Reader) ([]figure.Figure, error) {
	var found []figure.Figure
	var pkg string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if name, is := strings.CutPrefix(line, "pkg: "); is {
			pkg = name
			continue
		}
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		figures, err := parseLine(pkg, line)
		if err != nil {
			return nil, err
		}
		found = append(found, figures...)
	}
	return found, lines.Err()
}

// parseLine reads a line such as "BenchmarkStep/5-executors-2   100   301.2 ns/op   0 B/op   0 allocs/op".
func parseLine(pkg, line string) ([]figure.Figure, error) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 {
		return nil, nil // the benchmark's name alone, which stands before what it printed itself
	}
	var figures []figure.Figure
	for i := 2; i < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if u, known := units[fields[i+1]]; known {
			figures = append(figures, figure.Figure{Scenario: figure.Micro, Case: u.column, Name: name(pkg, fields[0]), Value: value, Unit: u.unit})
		}
	}
	return figures, nil
}

// name is the row of a benchmark, without the number of processors that go adds to it where there are several.
func name(pkg, benchmark string) string {
	benchmark = strings.TrimPrefix(benchmark, "Benchmark")
	if i := strings.LastIndexByte(benchmark, '-'); i >= 0 {
		if _, err := strconv.Atoi(benchmark[i+1:]); err == nil {
			benchmark = benchmark[:i]
		}
	}
	folders := strings.Split(strings.TrimPrefix(pkg, module), "/")
	return path.Join(folders[:min(2, len(folders))]...) + " " + strings.Replace(benchmark, "/", " ", 1)
}
