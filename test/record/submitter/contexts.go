//go:build linux

package submitter

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/test/record"
)

// contextsSource is the program that starts SparkContexts.
//
//go:embed Contexts.java
var contextsSource []byte

// Contexts starts a SparkContext of a driver on Kubernetes with each of the settings, of the form KEY=VALUE, and
// returns for each why it does not start, or "". The JVM logs to log.
func (m *Machine) Contexts(ctx context.Context, settings []string, log io.Writer) ([]string, error) {
	var out bytes.Buffer
	if err := m.java(ctx, "Contexts.java", contextsSource, strings.NewReader(strings.Join(settings, "\n")+"\n"), &out, log); err != nil {
		return nil, err
	}

	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(settings) {
		return nil, fmt.Errorf("%d results of %d settings", len(lines), len(settings))
	}
	return lines, nil
}

// java runs a Java program in one source file, with the classes of Spark.
func (m *Machine) java(ctx context.Context, name string, source []byte, in io.Reader, out, log io.Writer) error {
	file := "/opt/" + name
	if err := m.runInside(func() error { return os.WriteFile(m.image(file), source, 0o644) }); err != nil {
		return err
	}

	env := record.Environment(record.Case{})
	env["SPARK_LOCAL_IP"] = "127.0.0.1" // the machine has no other address

	cmd := m.command(ctx, env, record.JavaHome+"/bin/java", append(slices.Clip(javaOptions), "-cp", record.SparkHome+"/jars/*", file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, log

	err := m.start(cmd)
	if err == nil {
		err = cmd.Wait()
	}

	if err != nil {
		return fmt.Errorf("java %s: %w", name, err)
	}
	return nil
}
