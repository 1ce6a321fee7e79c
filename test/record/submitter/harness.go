//go:build linux

package submitter

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/test/record"
)

// source is the program that runs spark-submit many times in one JVM. Java compiles this source file when it starts the
// program, which is possible because the Java runtime of Spark's images includes the compiler.
//
//go:embed Harness.java
var source []byte

const (
	harnessFile = "/opt/Harness.java"
	// ownClasses makes the harness load Spark's classes again for a case, because these classes keep state in static
	// fields.
	ownClasses = "own-classes"
	// limit is the timeout of one case. A submission takes a second, but much longer on a busy machine.
	limit = 3 * time.Minute
)

// javaOptions are options of the JVM. They include those options of Spark's launcher
// (org.apache.spark.launcher.JavaModuleOptions) that a submission needs. The options also open the package java.lang,
// because the harness changes the environment there. They enable only the first compiler tier, which is enough for a
// short-lived process.
var javaOptions = []string{
	"-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+IgnoreUnrecognizedVMOptions",
	"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.lang.invoke=ALL-UNNAMED",
	"--add-opens=java.base/java.lang.reflect=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED",
	"--add-opens=java.base/java.net=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
	"--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
}

// Harness runs cases one after the other in one JVM.
type Harness struct {
	// OwnClasses makes every case load Spark's classes again, which takes a few seconds. A case that changes the state
	// of the classes always loads them again.
	OwnClasses bool

	machine *Machine
	loaded  int // number of cases that loaded their own classes
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// Harness starts a JVM that logs to log. Close or the end of ctx stops it.
func (m *Machine) Harness(ctx context.Context, log io.Writer) (*Harness, error) {
	err := m.runInside(func() error { return os.WriteFile(m.image(harnessFile), source, 0o644) })
	if err != nil {
		return nil, err
	}

	args := append(append([]string{}, javaOptions...), harnessFile, record.SparkHome)
	cmd := m.command(ctx, record.Environment(record.Case{}), record.JavaHome+"/bin/java", args...)
	cmd.Stderr = log

	h := &Harness{machine: m, cmd: cmd}
	if h.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	h.out = bufio.NewReader(out)

	if err := m.start(cmd); err != nil {
		return nil, fmt.Errorf("java: %w", err)
	}
	return h, nil
}

// NeedsRestart reports whether the caller should replace the JVM to free memory. Some cases load their own copies of
// Spark's classes. The JVM cannot free these copies, because threads of Spark's clients still use them after the case.
func (h *Harness) NeedsRestart() bool { return h.loaded >= 25 }

// Close stops the JVM and returns its CPU time.
func (h *Harness) Close() (time.Duration, error) {
	err := errors.Join(h.in.Close(), h.cmd.Wait())
	return h.cmd.ProcessState.UserTime() + h.cmd.ProcessState.SystemTime(), err
}

// Record runs a case and returns its normalised recording. If spark-submit rejects the case, the recording has an
// Error. If spark-submit could not run, Record returns an error and the harness is unusable.
func (h *Harness) Record(c record.Case) (record.Recording, error) {
	if err := h.machine.prepare(c); err != nil {
		return record.Recording{}, err
	}

	late := time.AfterFunc(limit, func() { _ = h.cmd.Cancel() })
	defer late.Stop()

	refusal, err := h.send(c)
	if err != nil {
		return record.Recording{}, fmt.Errorf("case %s with Spark %s: the JVM ended: %w", c.Name, h.machine.Version, err)
	}
	return h.machine.finish(refusal)
}

// send sends one request to Harness.java and returns its response. Harness.java documents the format.
func (h *Harness) send(c record.Case) (string, error) {
	env := record.Environment(c)
	classPath := h.classPath(c, env)
	maps.Copy(env, scripts(h.machine.Version, env))

	request := bufio.NewWriter(h.in)
	for _, list := range [][]string{record.Arguments(c), flat(env), flat(c.SystemProperties), classPath} {
		writeList(request, list)
	}

	if err := request.Flush(); err != nil {
		return "", err
	}

	response, err := readList(h.out)
	return strings.Join(response, "\n"), err
}

// scripts returns the variables that bin/spark-submit and bin/load-spark-env.sh export before they start Java.
func scripts(version string, env map[string]string) map[string]string {
	out := map[string]string{"SPARK_ENV_LOADED": "1", "PYTHONHASHSEED": "0", "SPARK_SCALA_VERSION": "2.13"}
	if strings.HasPrefix(version, "3.") {
		out["SPARK_SCALA_VERSION"] = "2.12"
	}

	if env["SPARK_CONF_DIR"] == "" {
		out["SPARK_CONF_DIR"] = record.SparkHome + "/conf"
	}
	return out
}

// classPath returns the configuration directories that bin/spark-submit adds to the class path. The jars are not part
// of the result. If the case needs a new copy of the classes of Hadoop and Spark, the result ends with ownClasses. This
// is necessary because Hadoop reads its configuration and its user only once after its classes are loaded. A case
// therefore needs its own copy if it has a configuration directory, system properties, or settings of Hadoop or
// Kerberos, or if the field OwnClasses is true.
func (h *Harness) classPath(c record.Case, env map[string]string) []string {
	var path []string
	for _, name := range []string{"SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		if env[name] != "" {
			path = append(path, env[name])
		}
	}

	own := h.OwnClasses || len(path) > 0 || len(c.SystemProperties) > 0
	for name := range c.Env {
		own = own || strings.HasPrefix(name, "HADOOP_") || strings.HasPrefix(name, "KRB5")
	}

	for _, arg := range c.CommandLine() {
		for _, word := range []string{"--proxy-user", "--principal", "--keytab", "kerberos", "spark.hadoop."} {
			own = own || strings.Contains(arg, word)
		}
	}

	if own {
		h.loaded++

		path = append(path, ownClasses)
	}
	return path
}

func flat(m map[string]string) []string {
	out := make([]string, 0, 2*len(m))
	for key, value := range m {
		out = append(out, key, value)
	}
	return out
}

// writeList writes strings, each after its length. It ignores errors, because the caller's Flush returns them.
func writeList(w *bufio.Writer, texts []string) {
	number := func(n int) { _, _ = w.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	number(len(texts))

	for _, text := range texts {
		number(len(text))
		_, _ = w.WriteString(text)
	}
}

func readList(r io.Reader) ([]string, error) {
	number := func() (n uint32, err error) {
		err = binary.Read(r, binary.BigEndian, &n)
		return n, err
	}

	count, err := number()
	if err != nil {
		return nil, err
	}

	var texts []string
	for range count {
		length, err := number()
		if err != nil {
			return nil, err
		}

		if length > 1<<20 {
			return nil, fmt.Errorf("the response contains a text of %d bytes, which is more than the limit of 1 MiB", length)
		}

		text := make([]byte, length)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}

		texts = append(texts, string(text))
	}
	return texts, nil
}
