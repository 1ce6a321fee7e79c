package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkoperator/spark-operator/local/internal/build"
	"github.com/sparkoperator/spark-operator/local/internal/cluster"
)

func upCommand() *cobra.Command {
	var o cluster.Options
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster and wait until it is ready",
		Long: `up starts a cluster and returns when it is ready. If the cluster already runs, up changes nothing. After a crash the cluster keeps its data;
after a reboot it starts empty. With --control-plane-only it consists of an API server and its controllers without a node, and needs no root.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Dir, err = stateDir(o.Dir); err != nil {
				return err
			}

			began := time.Now()
			out := newProgress(cmd.ErrOrStderr())
			err = cluster.Up(cmd.Context(), o, cluster.Reporter{Line: out.line, Step: out.step, Building: out.building})
			out.end()

			if err != nil {
				return err
			}

			out.line(fmt.Sprintf("ready after %.1f s: export KUBECONFIG=%s", time.Since(began).Seconds(), cluster.Kubeconfig(o.Dir)))
			return nil
		},
	}
	dirFlag(cmd, &o.Dir)
	flags := cmd.Flags()
	flags.BoolVar(&o.ControlPlaneOnly, "control-plane-only", false, "run only etcd, kube-apiserver and kube-controller-manager, on free ports of 127.0.0.1; needs no root, has no node")
	flags.BoolVar(&o.Oldest, "oldest", false, "with --control-plane-only, run the oldest supported Kubernetes ("+build.OldestVersion+") instead of "+build.KubeVersion)
	flags.BoolVar(&o.Scheduler, "scheduler", false, "with --control-plane-only, also run kube-scheduler")
	flags.BoolVar(&o.Audit, "audit", false, "write every request to audit.log in the state directory, at level Metadata")
	flags.BoolVar(&o.AuditBodies, "audit-bodies", false, "like --audit, with the bodies of writes (level Request), except those of Secrets, tokens and Kubernetes' own components")
	flags.IntVar(&o.CPUs, "cpus", 0, "allocatable CPUs of the node, at most 999, which may be more than the machine has, so that pods with large requests run (default: those of the machine)")
	flags.IntVar(&o.OwnerPID, "owner-pid", 0, "stop and remove the cluster when the process with this ID ends")
	return cmd
}

// progress prints one line for each step of a start. If the output is a terminal, progress also updates a line with the
// elapsed time during a build.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	counting bool
	// printedAt is the elapsed time of a build when its last line was printed. It is used only if the output is not a
	// terminal.
	printedAt time.Duration
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.clear()
	_, _ = fmt.Fprintln(p.out, text)
}

func (p *progress) step(name string, took time.Duration) {
	p.line(fmt.Sprintf("%6.1f s  %s", took.Seconds(), name))
}

func (p *progress) building(program build.Program, elapsed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()

	text := fmt.Sprintf("building %s for the first time (%s): %v", program.Name, program.Hint, elapsed)
	if p.terminal {
		p.clear()
		_, _ = fmt.Fprint(p.out, text)
		p.counting = true
		return
	}
	// A log file needs only an occasional line during a build, not one for each call.
	if elapsed == 0 || elapsed-p.printedAt >= 30*time.Second {
		_, _ = fmt.Fprintln(p.out, text)
		p.printedAt = elapsed
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.clear()
}

// clear erases the line with the elapsed time. The caller holds the lock.
func (p *progress) clear() {
	if p.counting {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.counting = false
	}
}
