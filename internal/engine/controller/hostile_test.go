package controller

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/test/kit/hostile"
)

// These are the bounds for the cost of one custom resource in one pass: CPU time, allocated memory, and the number of
// objects that the operator creates. docs/limits.md documents hostileObjects.
const (
	hostileCPU     = 250 * time.Millisecond
	hostileBytes   = 64 << 20
	hostileObjects = 150
)

const (
	// workerVariable selects the cases of a worker process. afterVariable names the case after which it continues.
	workerVariable, afterVariable = "HOSTILE_WORKER", "HOSTILE_AFTER"
	// onlyVariable is a regular expression that selects cases by name.
	onlyVariable = "HOSTILE_ONLY"
	// A worker abandons a case that has used abandonCPU, or while the heap exceeds abandonBytes.
	abandonCPU, abandonBytes = 4 * time.Second, 1 << 30
	hostileWorkers           = 2
)

// report is a line of JSON that a worker writes at the start and at the end of a case.
type report struct {
	Index int
	Name  string
	Field string
	Value string
	Done  bool
	Cost  cost
	Err   string
	Stack string // of an abandoned case
}

// TestHostileObjects measures the cost of the most expensive custom resources that the CustomResourceDefinitions allow.
// By default it measures a sample. With SOAK=1 it measures all of them, which takes long.
func TestHostileObjects(t *testing.T) {
	if os.Getenv(workerVariable) != "" {
		work(t)
		return
	}

	if testing.Short() {
		t.Skip("measures for about a minute")
	}
	var mu sync.Mutex
	var all []report

	var running sync.WaitGroup
	for i := range hostileWorkers {
		running.Go(func() {
			err := supervise(i, func(r report) {
				mu.Lock()
				defer mu.Unlock()

				if all = append(all, r); (os.Getenv(hostile.SoakVariable) != "" || os.Getenv("HOSTILE_TABLE") != "") &&
					(len(all)%500 == 0 || r.over() > 1) {
					fmt.Printf("%6d %s %8.1f ms %6.1f MB %6d objects %s %s %s\n", len(all),
						time.Now().Format(time.TimeOnly),
						float64(r.Cost.CPU)/1e6, float64(r.Cost.Bytes)/(1<<20), r.Cost.Objects, r.Name, r.Err,
						strings.ReplaceAll(r.Stack, "\n", " < "))
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}

	running.Wait()
	measureAgain(t, all)
	judgeHostile(t, all)
}

// measureAgain repeats the cases that exceeded the CPU bound, one at a time and by the pace of the machine, since
// parallel workers compete for the processor's caches.
func measureAgain(t *testing.T, all []report) {
	t.Helper()

	exceed := map[int]*report{}
	for i := range all {
		if r := &all[i]; r.Err == "" && r.Cost.CPU > hostileCPU {
			exceed[r.Index] = r
		}
	}

	if len(exceed) == 0 {
		return
	}

	known, index := meters(t), 0
	for c := range hostile.Cases(t).All() {
		index++

		r, found := exceed[index]
		if !found {
			continue
		}

		object, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}

		spent, err := measuredPaced(t, known[c.Definition.Stored+" "+c.Definition.Kind], object)
		if t.Logf("%s: %v beside another, %v alone, %v", r.Name, r.Cost.CPU, spent.CPU, err); err == nil &&
			spent.CPU < r.Cost.CPU {
			r.Cost = spent
		}
	}
}

// supervise runs one worker process. If that process ends before all cases of the worker are measured, supervise starts
// a new process for the remaining cases.
func supervise(worker int, tell func(report)) error {
	after := -1
	for range 10000 {
		last, err := superviseOnce(worker, after, tell)
		switch {
		case err == nil:
			return nil
		case last <= after:
			return fmt.Errorf("worker %d ended before its first case: %w", worker, err)
		}

		after = last
	}
	return errors.New("too many cases were given up")
}

func superviseOnce(worker, after int, tell func(report)) (last int, err error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return after, err
	}
	defer reader.Close()

	cmd := exec.Command(os.Args[0], "-test.run=^TestHostileObjects$", "-test.timeout=0")

	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", workerVariable, worker),
		fmt.Sprintf("%s=%d", afterVariable, after), "GOMAXPROCS=1", "GOGC=100")
	var output bytes.Buffer

	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &output, &output, []*os.File{writer}
	if err := cmd.Start(); err != nil {
		writer.Close()
		return after, err
	}

	writer.Close()

	last = after
	var current report

	lines := bufio.NewReaderSize(reader, 1<<20)
	for {
		line, readErr := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := json.Unmarshal(line, &current); err != nil {
				break
			}

			last = current.Index
			if current.Done {
				tell(current)
			}
		}

		if readErr != nil {
			break
		}
	}

	_, _ = io.Copy(io.Discard, reader)

	err = cmd.Wait()
	if err != nil && last > after && !current.Done { // the runtime ended it, for example since memory ran out
		text := output.String()
		current.Done, current.Err, current.Stack = true, "the process ended: "+err.Error(), text[:min(len(text), 4000)]
		tell(current)
	}
	return last, err
}

// work measures the cases that this worker process has to measure.
func work(t *testing.T) {
	worker, _ := strconv.Atoi(os.Getenv(workerVariable))
	after, _ := strconv.Atoi(os.Getenv(afterVariable))
	out := json.NewEncoder(os.NewFile(3, "reports"))
	only := regexp.MustCompile(os.Getenv(onlyVariable))
	known := meters(t)

	index := 0
	for c := range hostile.Cases(t).All() {
		if index++; index <= after || index%hostileWorkers != worker || !only.MatchString(c.Name()) {
			continue
		}

		r := report{Index: index, Name: c.Name(), Field: c.Definition.Name() + " " + c.Field, Value: c.Value}
		_ = out.Encode(r)

		object, err := c.JSON()
		if err == nil {
			r.Cost, err = measured(known[c.Definition.Stored+" "+c.Definition.Kind], object,
				func(stack string, spent cost) {
					r.Done, r.Err, r.Stack, r.Cost = true, "given up", stack, spent
					_ = out.Encode(r)

					os.Exit(3)
				})
		}

		if r.Done = true; err != nil {
			r.Err = err.Error()
			r.Err = r.Err[:min(len(r.Err), 300)]
		}

		_ = out.Encode(r)
	}
}

// measured returns the cost of an object. It abandons a case that exceeds its limits (see watchCase).
func measured(m meter, object []byte, giveUp func(string, cost)) (cost, error) {
	done := watchCase(giveUp)
	spent, err := m(object)

	done()

	if spent.Bytes > 16<<20 {
		runtime.GC() // so that the next case does not pay for it
	}
	return spent, err
}

// watchCase calls the function giveUp, with the current stack, if a case exceeds its limits. The returned function ends
// the watch.
func watchCase(giveUp func(stack string, spent cost)) (done func()) {
	stop := make(chan struct{})

	began := processCPU()
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()

		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)

			if spent := processCPU() - began; spent > abandonCPU || memory.HeapAlloc > abandonBytes {
				var stack bytes.Buffer
				_ = pprof.Lookup("goroutine").WriteTo(&stack, 2)
				giveUp(innermost(stack.String()), cost{Step: "given up", CPU: spent, Bytes: memory.HeapAlloc})
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop) })
}

// innermost returns the functions on the stack of a case, from the innermost one up to the function of the meter.
func innermost(stacks string) string {
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		inside, _, found := strings.Cut(stack, "hostileLife")
		if !found {
			continue
		}

		var names []string
		for line := range strings.Lines(inside) {
			if name := line[:max(strings.LastIndex(line, "("), 0)]; name != "" && !strings.HasPrefix(line, "\t") &&
				!strings.HasPrefix(line, "goroutine") {
				names = append(names, filepath.Base(name))
			}
		}
		return strings.Join(names[:min(len(names), 30)], "\n")
	}
	return ""
}

// over returns the highest ratio of a case's cost to its bounds. A case that just meets its bound has the ratio 1.
func (r *report) over() float64 {
	return max(float64(r.Cost.CPU)/float64(hostileCPU), float64(r.Cost.Bytes)/hostileBytes,
		float64(r.Cost.Objects)/hostileObjects)
}

// judgeHostile prints the fields of custom resources that cause the highest costs, and fails the test for each field
// that exceeds a bound.
func judgeHostile(t *testing.T, all []report) {
	t.Helper()

	worst := map[string]report{}

	rendered, failed := 0, 0
	for _, r := range all {
		if r.Cost.Renders {
			rendered++
		}

		if r.Err != "" {
			failed++
		}

		if known, found := worst[r.Field]; !found || r.over() > known.over() {
			worst[r.Field] = r
		}
	}

	var fields []report
	for _, r := range worst {
		fields = append(fields, r)
	}

	slices.SortFunc(fields, func(a,
		b report) int {
		return cmp.Or(cmp.Compare(b.over(), a.over()), cmp.Compare(a.Field, b.Field))
	})
	t.Logf("%d objects, of which %d were rendered; %d ended with an error", len(all), rendered, failed)
	t.Logf("the ten most expensive of %d fields:\n%s", len(fields), hostileTable(fields[:min(len(fields), 10)]))

	if file := os.Getenv("HOSTILE_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(hostileTable(fields)), 0o600); err != nil {
			t.Error(err)
		}
	}

	exceed := 0
	for _, r := range fields {
		if r.over() <= 1 && (r.Err == "" || strings.HasPrefix(r.Err, "decode")) {
			continue
		}

		if exceed++; exceed <= 40 {
			t.Errorf("%s: CPU %v, allocations %d MB, %d objects, in the %s; %s %s\n%s", r.Name, r.Cost.CPU,
				r.Cost.Bytes>>20, r.Cost.Objects, r.Cost.Step, r.Err, r.Cost.Refusal, r.Stack)
		}
	}

	if exceed > 40 {
		t.Errorf("and %d more fields", exceed-40)
	}
}

func hostileTable(fields []report) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%9s %8s %7s  %s\n", "CPU ms", "MB", "objects", "field = value (pass)")

	for _, r := range fields {
		fmt.Fprintf(&out, "%9.1f %8.1f %7d  %s = %s (%s) %s\n", float64(r.Cost.CPU)/1e6, float64(r.Cost.Bytes)/(1<<20),
			r.Cost.Objects, r.Field, r.Value, r.Cost.Step, r.Err)
	}
	return out.String()
}
