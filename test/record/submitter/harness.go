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

// source is the program that runs spark-submit many times in one Java machine. An image's Java runtime has the compiler and runs it as it is.
//
//go:embed Harness.java
var source []byte

const (
	harnessFile = "/opt/Harness.java"
	// ownClasses asks for Spark's classes to be loaded anew, for what they keep in static fields.
	ownClasses = "own-classes"
	// limit of one case. A submission takes a second, and much longer on a machine that is busy.
	limit = 3 * time.Minute
)

// javaOptions are what Spark's launcher gives to a Java of its own (org.apache.spark.launcher.JavaModuleOptions) as far as a submission needs it,
// and java.lang, where the environment is. The compiler that saves CPU in a short life is enough.
var javaOptions = []string{
	"-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+IgnoreUnrecognizedVMOptions",
	"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.lang.invoke=ALL-UNNAMED",
	"--add-opens=java.base/java.lang.reflect=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED",
	"--add-opens=java.base/java.net=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
	"--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
}

// Harness runs cases one after the other in one Java machine.
type Harness struct {
	// OwnClasses has every case load Spark's classes anew, which costs a few seconds. Cases that leave something behind in them always do.
	OwnClasses bool

	machine *Machine
	loaded  int // cases that had classes of their own
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// Harness starts a Java machine, which logs to log. Close ends it; it ends with ctx, too.
func (m *Machine) Harness(ctx context.Context, log io.Writer) (*Harness, error) {
	err := m.inside(func() error { return os.WriteFile(m.image(harnessFile), source, 0o644) })
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

// Tired says that the Java machine should be replaced by a new one: classes that were loaded anew stay, as Spark's clients leave threads behind.
func (h *Harness) Tired() bool { return h.loaded >= 25 }

// Close ends the Java machine, and returns the processor's time that it took.
func (h *Harness) Close() (time.Duration, error) {
	err := errors.Join(h.in.Close(), h.cmd.Wait())
	return h.cmd.ProcessState.UserTime() + h.cmd.ProcessState.SystemTime(), err
}

// Record runs a case and returns its recording, normalised. It fails when spark-submit could not be run; a case that spark-submit refuses is a
// recording with an Error. After a failure the harness is of no use.
func (h *Harness) Record(c record.Case) (record.Recording, error) {
	if err := h.machine.prepare(c); err != nil {
		return record.Recording{}, err
	}
	late := time.AfterFunc(limit, func() { _ = h.cmd.Cancel() })
	defer late.Stop()
	refusal, err := h.ask(c)
	if err != nil {
		return record.Recording{}, fmt.Errorf("case %s with Spark %s: the Java machine is gone: %w", c.Name, h.machine.Version, err)
	}
	return h.machine.finish(refusal)
}

// ask is one question and its answer; Harness.java says in which form.
func (h *Harness) ask(c record.Case) (string, error) {
	env := record.Environment(c)
	classPath := h.classPath(c, env)
	maps.Copy(env, scripts(h.machine.Version, env))
	question := bufio.NewWriter(h.in)
	for _, list := range [][]string{record.Arguments(c), flat(env), flat(c.SystemProperties), classPath} {
		writeList(question, list)
	}
	if err := question.Flush(); err != nil {
		return "", err
	}
	answer, err := readList(h.out)
	return strings.Join(answer, "\n"), err
}

// scripts is what bin/spark-submit and bin/load-spark-env.sh export before Java starts.
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

// classPath is what bin/spark-submit puts beside the jars, and whether the case has to have classes of its own: Hadoop reads its configuration and
// the user once and for all.
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

// writeList writes texts with their lengths. What fails shows at Flush.
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
			return nil, fmt.Errorf("an answer of %d bytes", length)
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}
