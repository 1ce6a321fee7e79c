//go:build linux

package submitter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/test/record"
)

// Cost is what one run of spark-submit took: the processor's time of all its processes, the time on the wall, and the most memory, in bytes, that was
// resident of the process that it becomes at last, which is the one that submits.
type Cost struct {
	CPU, Wall time.Duration
	Peak      int64
}

// Record runs a case by bin/spark-submit, as a user would, and returns its recording, normalised. What spark-submit says goes to log.
func (m *Machine) Record(ctx context.Context, c record.Case, log io.Writer) (record.Recording, Cost, error) {
	if err := m.prepare(c); err != nil {
		return record.Recording{}, Cost{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	env := record.Environment(c)
	if len(c.SystemProperties) > 0 {
		var options []string
		for key, value := range c.SystemProperties {
			options = append(options, fmt.Sprintf(`"-D%s=%s"`, key, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)))
		}
		slices.Sort(options)
		env["SPARK_SUBMIT_OPTS"] = strings.Join(options, " ")
	}
	refusal, cost, err := m.submit(ctx, env, record.Arguments(c), log)
	if err != nil {
		return record.Recording{}, cost, fmt.Errorf("case %s: %w", c.Name, err)
	}
	r, err := m.finish(refusal)
	return r, cost, err
}

// Submit runs bin/spark-submit with arguments, as a user would, on a machine that OnHost made. What it says goes to log. Several may run at once. That it
// failed is an error, in its words.
func (m *Machine) Submit(ctx context.Context, args []string, log io.Writer) (Cost, error) {
	refusal, cost, err := m.submit(ctx, record.Environment(record.Case{}), args, log)
	if err == nil && refusal != "" {
		err = fmt.Errorf("spark-submit %s: %s", m.Version, refusal)
	}
	return cost, err
}

// submit runs bin/spark-submit to its end, and tells why it failed if it did.
func (m *Machine) submit(ctx context.Context, env map[string]string, args []string, log io.Writer) (refusal string, cost Cost, err error) {
	cmd := m.command(ctx, env, record.SparkHome+"/bin/spark-submit", args...)
	var said bytes.Buffer
	cmd.Stdout = io.MultiWriter(log, &said)
	cmd.Stderr = cmd.Stdout // one writer for both is written to by one at a time
	began := time.Now()
	if err := m.start(cmd); err != nil {
		return "", Cost{}, fmt.Errorf("spark-submit: %w", err)
	}
	peak := watchPeak(cmd.Process.Pid)
	err = cmd.Wait()
	cost = Cost{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Wall: time.Since(began), Peak: peak()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", cost, fmt.Errorf("spark-submit did not end: %w", ctx.Err())
	case errors.As(err, &exit):
		return explain(said.String()), cost, nil
	case err != nil:
		return "", cost, fmt.Errorf("spark-submit: %w", err)
	}
	return "", cost, nil
}

// watchPeak looks now and then at the most memory that was resident of a process, until it is asked for the last that was seen. What the kernel tells of a process
// that has ended (getrusage(2)) counts in what its parent had resident when it started it.
func watchPeak(pid int) (last func() int64) {
	done, seen := make(chan struct{}), make(chan int64)
	go func() {
		var peak int64
		for {
			if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
				peak = max(peak, highWater(string(text)))
			}
			select {
			case <-done:
				seen <- peak
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(done)
		return <-seen
	}
}

// highWater reads the most memory that was resident, in bytes, from /proc/PID/status (proc(5)); 0 when it is not there, as of a process that has ended.
func highWater(status string) (bytes int64) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, _ = fmt.Sscanf(rest, "%d kB", &bytes) // 0 of what is not as the page says
		}
	}
	return bytes << 10
}

// uncaught is how Java tells of the exception that ends a program.
const uncaught = `Exception in thread "main" `

// explain finds in what spark-submit printed why it failed: the messages from the outermost exception to the cause, as Harness.java tells them;
// without an exception, the line that begins with "Error: ".
func explain(said string) string {
	var messages []string
	// Exceptions that Spark only logs come before the one that ends it.
	end := said[max(0, strings.LastIndex(said, uncaught)):]
	for line := range strings.Lines(end) {
		line = strings.TrimSpace(line)
		text, outer := strings.CutPrefix(line, uncaught)
		text, cause := strings.CutPrefix(text, "Caused by: ")
		if !outer && !cause {
			continue
		}
		// The class comes before the message, if there is one.
		if _, message, ok := strings.Cut(text, ": "); ok {
			text = message
		}
		if text = strings.TrimSpace(text); !strings.Contains(strings.Join(messages, ": "), text) {
			messages = append(messages, text)
		}
	}
	if len(messages) > 0 {
		return strings.Join(messages, ": ")
	}
	for line := range strings.Lines(said) {
		if text, ok := strings.CutPrefix(line, "Error: "); ok {
			return strings.TrimSpace(text)
		}
	}
	return "spark-submit failed and said nothing"
}
