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

// Cost is the cost of one run of spark-submit. CPU is the total CPU time of its processes, and Wall is the elapsed
// time. Peak is the maximum resident memory of the first process in bytes. This process becomes the submitting JVM,
// because the scripts start the next program with exec.
type Cost struct {
	CPU, Wall time.Duration
	Peak      int64
}

// Record runs a case with bin/spark-submit, as a user does, and returns the normalised recording and the cost. It
// writes spark-submit's output to log.
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

// Submit runs bin/spark-submit with the given arguments on a machine from OnHost. It writes the output to log. Several
// calls may run at the same time. If spark-submit fails, the error contains its message.
func (m *Machine) Submit(ctx context.Context, args []string, log io.Writer) (Cost, error) {
	refusal, cost, err := m.submit(ctx, record.Environment(record.Case{}), args, log)
	if err == nil && refusal != "" {
		err = fmt.Errorf("spark-submit %s: %s", m.Version, refusal)
	}
	return cost, err
}

// submit runs bin/spark-submit until it exits. If spark-submit fails, submit returns the reason in refusal.
func (m *Machine) submit(ctx context.Context, env map[string]string, args []string, log io.Writer) (refusal string, cost Cost, err error) {
	cmd := m.command(ctx, env, record.SparkHome+"/bin/spark-submit", args...)
	var output bytes.Buffer
	cmd.Stdout = io.MultiWriter(log, &output)
	cmd.Stderr = cmd.Stdout // os/exec serializes writes if both streams share a writer.
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
		return explain(output.String()), cost, nil
	case err != nil:
		return "", cost, fmt.Errorf("spark-submit: %w", err)
	}
	return "", cost, nil
}

// watchPeak starts to sample the maximum resident memory of a process. The returned function stop ends the sampling and
// returns the maximum in bytes. getrusage(2) is unsuitable, because its result for an exited child includes the memory
// of the parent at the time of the fork.
func watchPeak(pid int) (stop func() int64) {
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

// highWater returns the maximum resident memory, in bytes, from the text of /proc/PID/status (proc(5)). It returns 0 if
// the text has no such value, which is the case for exited processes.
func highWater(status string) (bytes int64) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, _ = fmt.Sscanf(rest, "%d kB", &bytes) // stays 0 for an unexpected format
		}
	}
	return bytes << 10
}

// uncaught is the prefix of Java's message for the exception that ends a program.
const uncaught = `Exception in thread "main" `

// explain extracts the reason of a failure from spark-submit's output. It joins the messages from the outermost
// exception to the root cause, as Harness.java does. Without an exception, it returns the line that begins with
// "Error:".
func explain(output string) string {
	var messages []string
	// Spark may log other exceptions before the exception that ends it.
	end := output[max(0, strings.LastIndex(output, uncaught)):]
	for line := range strings.Lines(end) {
		line = strings.TrimSpace(line)
		text, outer := strings.CutPrefix(line, uncaught)

		text, cause := strings.CutPrefix(text, "Caused by: ")
		if !outer && !cause {
			continue
		}
		// The class precedes the message, if a message exists.
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

	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(line, "Error: "); ok {
			return strings.TrimSpace(text)
		}
	}
	return "spark-submit failed without an error message"
}
