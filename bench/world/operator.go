package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The operator's configuration file, as internal/config reads it.
const (
	configAPIVersion = "config.sparkoperator.dev/v1alpha1"
	configKind       = "Configuration"
)

// OperatorOptions say how an operator is started.
type OperatorOptions struct {
	// Name tells several operators of one world apart. Default "operator".
	Name string
	// Settings is more YAML of the configuration file. What bench sets itself is where metrics, health and profiles are served and, unless Settings has it, in
	// which namespace the leader's lease is: all else is as the chart installs it, the election and the log's level among it.
	Settings string
	// Env is added to the process's environment, such as "GOMEMLIMIT=100MiB".
	Env []string
	// Wait is how long it may take until it is ready. Default 1 min.
	Wait time.Duration
}

// Operator is a running operator. Use World.StartOperator.
type Operator struct {
	Name string

	cmd                    *exec.Cmd
	log                    *os.File
	ended                  chan struct{}
	metrics, health, pprof string // addresses
}

// StartOperator runs the operator for all namespaces and waits until it is ready. Several may run at once, each on ports of its own.
func (w *World) StartOperator(ctx context.Context, o OperatorOptions) (*Operator, error) {
	if o.Name == "" {
		o.Name = "operator"
	}
	if o.Wait == 0 {
		o.Wait = time.Minute
	}
	op, settings, err := w.prepare(o)
	if err != nil {
		return nil, err
	}
	op.cmd = exec.Command(w.o.Operator, "controller", "start", "--config", settings) // not by the context: Stop asks, and a caller that fails stops it too
	op.cmd.Args[0] = "spark-operator"                                                // of which its user agent is made, by which the audit log tells it apart; the binary may be called anything
	op.cmd.Env = append(append(environment(os.Environ()), "KUBECONFIG="+w.Kubeconfig()), goRuntime...)
	op.cmd.Env = append(op.cmd.Env, o.Env...) // of a variable that is there twice the later one counts
	op.cmd.Stdout, op.cmd.Stderr = op.log, op.log
	op.cmd.SysProcAttr = dieWithParent()
	if err := op.run(); err != nil {
		return nil, errors.Join(err, op.log.Close())
	}
	short, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	if err := Until(short, "operator "+o.Name+" to be ready", func() (bool, error) { return op.ready(short) }); err != nil {
		return nil, errors.Join(err, op.Kill(), errors.New(op.Log()))
	}
	return op, nil
}

// goRuntime sets Go's runtime as the chart's values controller.go do, so that an installation behaves as measured here.
// The chart's memory limit is left out.
var goRuntime = []string{"GOMAXPROCS=1", "GOGC=40"}

// environment leaves out what would have Go's runtime in the operator do otherwise than in an installation.
func environment(of []string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"}, name)
	})
}

// run starts the process; ended says when it is over. The kernel ends it with the thread that started it: that thread does nothing but wait for it.
func (o *Operator) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := o.cmd.Start()
		started <- err
		if err == nil {
			_ = o.cmd.Wait()
			close(o.ended)
		}
	}()
	return <-started
}

// prepare writes the configuration file and opens the log.
func (w *World) prepare(o OperatorOptions) (*Operator, string, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, "", err
	}
	op := &Operator{Name: o.Name, ended: make(chan struct{}), metrics: ports[0], health: ports[1], pprof: ports[2]}
	file := filepath.Join(w.Dir, o.Name+".yaml")
	if err := os.WriteFile(file, []byte(settings(op, o.Settings)), 0o600); err != nil {
		return nil, "", err
	}
	op.log, err = os.OpenFile(filepath.Join(w.Dir, o.Name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return op, file, err
}

func settings(op *Operator, more string) string {
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetrics: {bindAddress: %q}\nhealth: {bindAddress: %q}\npprof: {bindAddress: %q}\n",
		configAPIVersion, configKind, op.metrics, op.health, op.pprof)
	if !strings.Contains("\n"+more, "\nleaderElection:") {
		text += "leaderElection: {namespace: default}\n" // in a cluster it is the pod's own
	}
	return text + more
}

// freePorts finds ports that nobody listens on. All are held until the last is found, so that they differ.
func freePorts(n int) ([]string, error) {
	var found []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		found = append(found, l.Addr().String())
	}
	return found, nil
}

func (o *Operator) ready(ctx context.Context) (bool, error) {
	select {
	case <-o.ended:
		return false, errors.New("it ended")
	default:
	}
	_, err := get(ctx, "http://"+o.health+"/readyz")
	return err == nil, nil
}

// PID is the number of its process.
func (o *Operator) PID() int { return o.cmd.Process.Pid }

// Usage reads what it took so far.
func (o *Operator) Usage() (Usage, error) { return UsageOf(o.PID()) }

// Metric reads a metric from its endpoint: the sum over all labels. Reading costs the operator some 3 ms of CPU.
func (o *Operator) Metric(ctx context.Context, name string) (float64, error) {
	text, err := get(ctx, "http://"+o.metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	return sum(bytes.NewReader(text), name)
}

// Profile takes a profile, such as "heap", "allocs" or "profile" (CPU), which lasts d.
func (o *Operator) Profile(ctx context.Context, kind string, d time.Duration) ([]byte, error) {
	url := "http://" + o.pprof + "/debug/pprof/" + kind
	if d > 0 {
		url += fmt.Sprintf("?seconds=%d", max(1, int(d.Seconds())))
	}
	return get(ctx, url)
}

// Stop asks it to end, which finishes what it is at, and returns when it did. An operator that ended by itself before is an error.
func (o *Operator) Stop() error {
	select {
	case <-o.ended:
		return fmt.Errorf("operator %s had ended: %s\n%s", o.Name, o.cmd.ProcessState, o.Log())
	default:
	}
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-o.ended:
		return o.log.Close()
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("operator %s did not end within a minute of being asked to", o.Name), o.Kill())
	}
}

// Kill ends it at once, as a crash would. To kill one that has ended is no error.
func (o *Operator) Kill() error {
	_ = o.cmd.Process.Kill()
	<-o.ended
	_ = o.log.Close()
	return nil
}

// Log is the end of what it logged.
func (o *Operator) Log() string {
	text, err := os.ReadFile(o.log.Name())
	if err != nil {
		return err.Error()
	}
	return tail(string(text), 20)
}

// tail keeps the last n lines.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// get reads a page; one that is not 200 is an error.
func get(ctx context.Context, url string) (body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if body, err = io.ReadAll(resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, resp.Status, body)
	}
	return body, err
}
