package scenario

import (
	"errors"
	"fmt"
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

	"github.com/prometheus/procfs"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/plain"
	"github.com/sparkoperator/spark-operator/internal/ground/goruntime"
)

// environment returns the variables without those that change Go's runtime: both programs set it as the chart does.
func environment(variables []string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", goruntime.ReserveVariable}, name)
	})
}

// program is a process that manages applications: the operator or the plain program.
type program struct {
	agent         string // the prefix of its user agent
	cmd           *exec.Cmd
	log           string
	ended         chan struct{}
	health, pprof string // addresses
}

// start runs a program that watches all namespaces, and waits until it is ready. The operator runs as its chart
// installs it: with leader election, its log, and default settings, except for the settings of the rig. start may be
// called again while another program runs.
func (r *rig) start(agent string) *program {
	ports := freePorts(3)
	file := filepath.Join(r.dir, strings.ReplaceAll(ports[0], ":", "-"))

	p := &program{agent: agent, ended: make(chan struct{}), health: ports[0], pprof: ports[1], log: file + ".log"}
	if agent == audit.PlainAgent {
		p.cmd = exec.Command(must(os.Executable()), plain.Command, p.health)
	} else {
		text := fmt.Sprintf("apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\nleaderElection: {namespace: default}\n"+
			"metrics: {bindAddress: %q}\nhealth: {bindAddress: %q}\npprof: {bindAddress: %q}\n", ports[2], p.health, p.pprof) + r.settings
		check(os.WriteFile(file, []byte(text), 0o600))
		p.cmd = exec.Command(r.Operator, "controller", "start", "--config", file)
		p.cmd.Args[0] = "spark-operator" // the operator's user agent begins with it
	}

	log := must(os.Create(p.log))
	defer func() { _ = log.Close() }()

	p.cmd.Env = append(append(environment(os.Environ()), r.env...), "KUBECONFIG="+r.kubeconfig())
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // ends the program if the bench is killed
	check(p.run())

	ready := false
	defer func() {
		if !ready {
			p.kill()
		}
	}()

	r.waitFor("the program to be ready", func() bool {
		p.alive()
		return r.get("http://"+p.health+"/readyz") == nil
	})

	ready = true
	return p
}

// run starts the process. Its attribute Pdeathsig makes the kernel kill the process when the OS thread that started it
// ends. Therefore a goroutine with an OS thread of its own starts the process and keeps the thread until the process
// has ended.
func (p *program) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()

		err := p.cmd.Start()
		started <- err

		if err == nil {
			_ = p.cmd.Wait()
			close(p.ended)
		}
	}()
	return <-started
}

// alive ends the scenario if the process has ended.
func (p *program) alive() {
	select {
	case <-p.ended:
		text, _ := os.ReadFile(p.log)
		check(fmt.Errorf("the measured program ended during the scenario: %s; the end of its log:\n%s", p.cmd.ProcessState, text[max(0, len(text)-4000):]))
	default:
	}
}

// stop sends SIGTERM to the process and waits until it ends.
func (p *program) stop() {
	p.alive()

	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		check(errors.New("the measured program did not end within a minute after SIGTERM"))
	}
}

// kill ends the process at once, as a crash would. The process may have ended before.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// freePorts returns addresses on which no process listens.
func freePorts(n int) (found []string) {
	for range n {
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		defer func() { _ = l.Close() }() // closed after all are found, so that they differ

		found = append(found, l.Addr().String())
	}
	return found
}

func (r *rig) get(url string) error {
	resp, err := http.DefaultClient.Do(must(http.NewRequestWithContext(r.ctx, http.MethodGet, url, nil)))
	if err != nil {
		return err
	}

	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}

// usage is the CPU time and memory that a process used.
type usage struct {
	cpu      time.Duration // user and system time, in steps of 10 ms
	resident int64         // bytes, now
	peak     int64         // bytes, the maximum so far
}

func (p *program) usage() usage { return usageOf(p.cmd.Process.Pid) }

// usageOf reads the usage of a process from /proc, which costs that process nothing.
func usageOf(pid int) usage {
	process := must(procfs.NewProc(pid))
	status := must(process.NewStatus())
	cpu := time.Duration(must(process.Stat()).CPUTime() * float64(time.Second))
	return usage{cpu: cpu, resident: int64(status.VmRSS), peak: int64(status.VmHWM)}
}
