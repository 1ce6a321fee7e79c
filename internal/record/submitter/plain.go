//go:build linux

package submitter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/internal/record"
)

// Cost is what one run of spark-submit took: the processor's time of all its processes, and the time on the wall.
type Cost struct{ CPU, Wall time.Duration }

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
	cmd := m.command(ctx, env, record.SparkHome+"/bin/spark-submit", record.Arguments(c)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(log, &said), io.MultiWriter(log, &said)
	began := time.Now()
	if err := m.start(cmd); err != nil {
		return record.Recording{}, Cost{}, fmt.Errorf("spark-submit: %w", err)
	}
	err := cmd.Wait()
	cost := Cost{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), Wall: time.Since(began)}
	var exit *exec.ExitError
	refusal := ""
	switch {
	case ctx.Err() != nil:
		return record.Recording{}, cost, fmt.Errorf("case %s: spark-submit did not end: %w", c.Name, ctx.Err())
	case errors.As(err, &exit):
		refusal = explain(said.String())
	case err != nil:
		return record.Recording{}, cost, fmt.Errorf("spark-submit: %w", err)
	}
	r, err := m.finish(refusal)
	return r, cost, err
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
